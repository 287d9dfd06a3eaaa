"""The baselines: the order of their passages, answers that compete, and how they are trained."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from encoders import WordEncoder
from tiny import ANSWERS, PASSAGES, QUESTIONS, candidate_of, hits_of, tiny_network, tiny_reader

from benchmarks.baselines import ALL, MAIN, SEVERAL, baseline_row, collect_baselines, compare, main, render
from benchmarks.rows import Row, RowCandidate, RowFile
from rtv_core.baselines.concatenated import ConcatenatedReader, concatenate
from rtv_core.baselines.joint import JointReader, log_shares, possible_spans, unite_shares
from rtv_core.baselines.load import CONCATENATED, JOINT, RERANKER, load_baselines
from rtv_core.baselines.rerank import OracleReranker, RetrievalOrder, TrainedReranker
from rtv_core.baselines.systems import ConcatenatedReading, RecallerAlone, RerankThenRead, predict
from rtv_core.cli import cli
from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.factory import Models
from rtv_core.reading.reader import Reader
from rtv_core.reading.weights import load_network, read_card, save_network
from rtv_core.recall.extractive import ExtractiveRecaller
from rtv_core.records import EVIDENCE_SIZES, Hit, Passage, Question, Reading, Span, Trace
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.text import same_answer
from rtv_core.thresholds import answers, judge
from rtv_core.training.examples import Example
from rtv_core.training.joint_reader import joint_loss, joint_losses, to_concatenate, train_joint_reader
from rtv_core.training.loop import LoopSettings
from rtv_core.training.reranker import listwise_loss, rerank_losses, train_reranker
from rtv_core.training.run import train_stage
from rtv_core.training.tau import ChosenTau, choose_tau
from rtv_core.training.verifier import Group, VerifierPlan

# Rerankers


def hit(name: str, text: str, rank: int) -> Hit:
    return Hit(Passage(name, "Title", text), 0.5, 0.0, rank, None, rank)


HITS = (
    hit("a", "Nothing of note happened here.", 1),
    hit("b", "Ilo goes round Tamis.", 2),
    hit("c", "The island of Ilona lies south.", 3),
    hit("d", "Brae is a moon of some size.", 4),
)
MOONS = Question("q", "which moons go round tamis", ((("Ilo",), ("Bray", "Brae")), (("Sef",),)))


def names(hits) -> str:
    return "".join(hit.passage.id for hit in hits)


def test_the_oracle_puts_passages_that_cover_some_gold_answer_first_each_part_in_retrieval_order():
    # b has Ilo, d has another spelling of Bray; Ilona is not Ilo, and a has nothing.
    assert names(OracleReranker().rank(MOONS, HITS)) == "bdac"
    assert names(OracleReranker().rank(MOONS, HITS[::-1])) == "bdac"


def test_the_oracle_looks_at_every_annotation_and_at_the_text_alone():
    last = hit("e", "Sef came by.", 5)
    titled = Hit(Passage("f", "Ilo", "It is small."), 0.5, 0.0, 6, None, 6)
    assert names(OracleReranker().rank(MOONS, (*HITS, last, titled))) == "bdeacf"


def test_the_oracle_leaves_the_order_where_the_gold_is_no_answer_and_refuses_to_guess_gold():
    assert names(OracleReranker().rank(Question("q", "who", ((),)), HITS[::-1])) == "abcd"
    with pytest.raises(InputError, match="none are known for 'who'"):
        OracleReranker().rank(Question("q", "who"), HITS)


def test_a_trained_reranker_orders_by_relevance_and_then_by_rank():
    reader = tiny_reader()
    hits = hits_of(PASSAGES[:6])
    ranked = TrainedReranker(reader).rank(Question("q", QUESTIONS[0]), hits)
    relevance = {
        hit.passage.id: reading.relevance
        for hit, reading in zip(hits, ExtractiveRecaller(reader).recall(QUESTIONS[0], hits), strict=True)
    }
    assert [h.passage.id for h in ranked] == sorted(relevance, key=lambda name: -relevance[name])
    # All alike: nothing but the rank is left to go by.
    torch.nn.init.zeros_(reader.network.relevance.weight)
    assert TrainedReranker(reader).rank(Question("q", QUESTIONS[0]), hits[::-1]) == list(hits)
    assert TrainedReranker(reader).rank(Question("q", QUESTIONS[0]), ()) == []


# One softmax


def test_the_shares_of_all_possible_spans_and_of_no_answer_are_one_softmax():
    scores = torch.tensor([[[1.0, 2.0], [3.0, 9.0]], [[-1.0, 0.5], [7.0, 7.0]]])
    possible = torch.tensor([[[True, True], [True, False]], [[True, True], [False, False]]])
    shares, none = log_shares(scores, possible)
    total = sum(math.exp(score) for score in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5))
    assert shares[possible].exp().tolist() == pytest.approx(
        [math.exp(score) / total for score in (1.0, 2.0, 3.0, -1.0, 0.5)]
    )
    assert none.exp().item() == pytest.approx(1 / total)
    assert shares[~possible].exp().sum() == 0


def test_only_spans_of_the_text_are_possible_and_none_reaches_beyond_it():
    _, _, form = tiny_network()
    (pair,) = form.pairs("who sang", [Passage("p", "Dorn", "Beyla sang")])
    possible = possible_spans([pair], len(pair.ids), 3)
    assert [(i, d) for _, i, d in possible.nonzero().tolist()] == [
        (pair.text_at, 0),
        (pair.text_at, 1),
        (pair.text_at + 1, 0),
    ]


def scores_of(readings: list[Reading], name: str) -> dict[tuple[int, int], float]:
    return {(s.start, s.end): s.score for r in readings if r.passage_id == name for s in r.spans}


def test_a_passage_more_changes_what_the_others_spans_get_and_recall_leaves_them_alone():
    reader, question = tiny_reader(), QUESTIONS[0]
    few, more = hits_of(PASSAGES[:2]), hits_of(PASSAGES[:6])
    alone, beside = (scores_of(JointReader(reader).read(question, hits), "p00") for hits in (few, more))
    shared = alone.keys() & beside.keys()
    assert len(shared) > 3
    # All lose by one factor: the share that the new passages took.
    factors = [beside[span] / alone[span] for span in shared]
    assert max(factors) < 0.95
    assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-3)
    recaller = ExtractiveRecaller(reader)
    kept, same = (scores_of(recaller.recall(question, hits), "p00") for hits in (few, more))
    assert kept == pytest.approx(same, abs=1e-5)


def test_the_shares_of_the_passages_and_of_no_answer_come_to_one():
    readings = JointReader(tiny_reader()).read(QUESTIONS[0], hits_of(PASSAGES[:5]))
    assert [reading.passage_id for reading in readings] == [f"p0{i}" for i in range(5)]
    assert 0.9 < sum(reading.relevance for reading in readings) <= 1 + 1e-5
    for reading in readings:
        assert 0 < max(span.score for span in reading.spans) <= reading.relevance + 1e-5


def test_a_candidate_has_the_share_of_all_its_places():
    hits = (hit("a", "Ilo and Brae", 1), hit("b", "ilo", 2))
    readings = [
        Reading("a", 0.5, (Span(0, 3, 0.25), Span(8, 12, 0.125))),
        Reading("b", 0.5, (Span(0, 3, 0.3),)),
    ]
    found = unite_shares(hits, readings)
    assert [(c.answer, round(c.score, 3)) for c in found] == [("ilo", 0.55), ("Brae", 0.125)]
    assert found[0].spellings == ("ilo", "Ilo")


# Concatenated


def test_concatenated_passages_share_one_input_and_keep_their_own_places():
    _, _, form = tiny_network()
    alone = form.pairs(QUESTIONS[0], PASSAGES[:3])
    together = concatenate(form, QUESTIONS[0], PASSAGES[:3], 512)
    assert len({pair.ids for pair in together}) == 1
    ids = together[0].ids
    assert len(ids) == sum(len(pair.ids) - pair.passage_at for pair in alone) + alone[0].passage_at
    for one, other in zip(alone, together, strict=True):
        length = len(one.offsets)
        assert other.offsets == one.offsets
        assert ids[other.text_at :][:length] == one.ids[one.text_at :][:length]
        assert ids[other.text_at + length] == one.ids[-1]


def test_passages_beyond_the_positions_are_left_out_and_the_last_is_cut():
    _, _, form = tiny_network()
    whole = concatenate(form, QUESTIONS[0], PASSAGES[:3], 512)
    longest = whole[1].text_at + 3
    cut = concatenate(form, QUESTIONS[0], PASSAGES[:3], longest)
    assert [len(pair.offsets) for pair in cut] == [len(whole[0].offsets), 2]
    assert len(cut[0].ids) == longest
    assert cut[0].ids[:-1] == whole[0].ids[: longest - 1]
    # Not even one word of the second would fit behind its title.
    assert len(concatenate(form, QUESTIONS[0], PASSAGES[:3], whole[1].text_at + 1)) == 1


def test_concatenated_reading_gives_spans_within_each_passage_that_fits():
    network, _, form = tiny_network()
    hits = hits_of((*PASSAGES, *PASSAGES))
    readings = ConcatenatedReader(network, form).read(QUESTIONS[0], hits)
    assert 2 < len(readings) < len(hits)
    for reading, own in zip(readings, hits, strict=False):
        assert reading.passage_id == own.passage.id
        assert all(0 <= span.start < span.end <= len(own.passage.text) for span in reading.spans)
    assert ConcatenatedReader(network, form).read(QUESTIONS[0], ()) == []


# Systems


class FixedReader:
    """Takes the first word of every passage, each with half the share of the one before."""

    def read(self, question: str, hits) -> list[Reading]:
        return [
            Reading(h.passage.id, 0.5**i, (Span(0, h.passage.text.index(" "), 0.5**i),))
            for i, h in enumerate(hits, 1)
        ]


def test_rerank_then_read_shows_the_reader_ten_passages_in_the_reranker_s_order():
    hits = tuple(hit(f"n{i:02}", f"Word{i} is here.", i) for i in range(1, 13))
    last = Question("q", "which", ((("Word12",),),))
    trace = RerankThenRead(OracleReranker(), FixedReader()).read(Trace(last, hits=hits, stage="retrieved"))
    assert [c.answer for c in trace.candidates] == ["Word12", *(f"Word{i}" for i in range(1, 10))]
    assert trace.hits[0].passage.id == "n12"
    assert len(trace.hits) == 12
    assert len(trace.readings) == 10
    assert trace.provenance["system"] == "oracle rerank, then read"
    assert trace.complete


def test_a_baseline_answers_by_the_rules_of_judge():
    hits = (
        hit("a", "Ilo rises.", 1),
        hit("b", "Oru sets.", 2),
        hit("c", "Ilo sets.", 3),
        hit("d", "Sef ", 4),
    )
    trace = Trace(MOONS, hits=hits, stage="retrieved")
    baseline = RerankThenRead(RetrievalOrder(), FixedReader(), tau=0.2)
    found = predict(baseline, trace)
    # Ilo stands in two passages: 1/2 + 1/8.
    assert [(p.answer, p.p_right, p.accepted) for p in found] == [
        ("Ilo", 0.625, True),
        ("Oru", 0.25, True),
        ("Sef", 0.0625, False),
    ]
    assert answers(predict(baseline, trace, tau=0.05)) == ["Ilo", "Oru", "Sef"]
    # Strictly above, or the best alone.
    best, *_ = predict(baseline, trace, tau=0.625)
    assert best.accepted
    assert best.fallback
    assert found == judge(baseline.read(trace), VerifierSettings(tau=0.2))


def test_the_recaller_alone_scores_the_trace_s_candidates_by_their_spans():
    hits = hits_of(PASSAGES[:4])
    candidates = tuple(candidate_of(a, hits) for a in ("Merin", "Ilo"))
    trace = Trace(Question("q", QUESTIONS[0]), hits=hits, candidates=candidates, stage="recalled")
    own = RecallerAlone(tau=0.5).read(trace)
    assert own.candidates == candidates
    assert [verdict.p_right for verdict in own.verdicts] == [(0.8,) * len(EVIDENCE_SIZES)] * 2
    assert answers(predict(RecallerAlone(tau=0.5), trace)) == ["Merin", "Ilo"]
    assert answers(predict(RecallerAlone(tau=0.8), trace)) == ["Merin"]


def test_a_question_without_hits_gets_no_answers():
    trace = Trace(MOONS, stage="retrieved")
    network, _, form = tiny_network()
    reader = Reader(network, form)
    for baseline in (
        RerankThenRead(TrainedReranker(reader), JointReader(reader)),
        ConcatenatedReading(ConcatenatedReader(network, form)),
        RecallerAlone(),
    ):
        assert predict(baseline, trace) == ()


# Losses


def group_of(index: int, *rows: int, unknown: tuple[int, ...] = ()) -> Group:
    """A question with these passages; the one of its own index answers."""
    return Group(
        QUESTIONS[index],
        tuple((answer,) for answer in ANSWERS[index]),
        hits_of([PASSAGES[row] for row in rows]),
        tuple("unknown" if r in unknown else "positive" if r == index else "negative" for r in rows),
        tuple(() for _ in rows),
        10,
    )


def test_the_listwise_loss_sets_each_answering_passage_against_those_that_do_not_answer():
    scores = torch.tensor([1.0, 2.0, 0.0, 5.0])
    loss = listwise_loss(scores, ("positive", "positive", "negative", "unknown"))
    assert loss.item() == pytest.approx((math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-2))) / 2)
    assert listwise_loss(scores, ("negative",) * 4).item() == 0
    assert listwise_loss(scores, ("positive", "unknown", "positive", "unknown")).item() == 0


def test_losses_of_questions_together_are_the_mean_of_each():
    network, _, form = tiny_network()
    groups = [group_of(0, 0, 8, 9), group_of(3, 3, 10, 11)]
    for losses, name in ((joint_losses, "joint"), (rerank_losses, "listwise")):
        together = losses(network, form, groups)[name].item()
        apart = [losses(network, form, [group])[name].item() for group in groups]
        assert together == pytest.approx(np.mean(apart), rel=1e-4)


def joint_of(network, form, group: Group) -> float:
    return joint_losses(network, form, [group])["joint"].item()


def test_a_further_passage_that_does_not_answer_makes_the_joint_loss_harder():
    network, _, form = tiny_network()
    assert joint_of(network, form, group_of(0, 0, 8)) > joint_of(network, form, group_of(0, 0))


def test_a_passage_that_may_answer_takes_no_part_in_the_softmax():
    network, _, form = tiny_network()
    without = joint_of(network, form, group_of(0, 0, 8))
    assert joint_of(network, form, group_of(0, 0, 8, 9, unknown=(9,))) == pytest.approx(without, rel=1e-4)


def test_the_joint_loss_is_the_mean_of_the_answers_shares_and_of_no_answer_s_where_there_is_none():
    _, _, form = tiny_network()
    # "Ostic" and "Malu" of passage 7 at logit 2 and 1, all other spans far below.
    group = group_of(7, 7)
    pairs = form.pairs(group.question, [PASSAGES[7]])
    scores = torch.full((1, len(pairs[0].ids), 4), -1e4)
    for answer, logit in (("Ostic", 2.0), ("Malu", 1.0)):
        start = PASSAGES[7].text.index(answer)
        scores[0, pairs[0].tokens_of(start, start + len(answer))[0], 0] = logit
    total = math.log(1 + math.exp(2) + math.exp(1))
    assert joint_loss(scores, pairs, group).item() == pytest.approx(((total - 2) + (total - 1)) / 2)
    assert joint_loss(scores, pairs, group_of(0, 7)).item() == pytest.approx(total)


def test_answers_that_were_all_cut_off_teach_nothing():
    _, _, form = tiny_network()
    group = group_of(7, 7)
    (pair,) = form.pairs(group.question, [PASSAGES[7]])
    short = concatenate(form, group.question, [PASSAGES[7]], pair.text_at + 2)
    scores = torch.zeros(1, len(short[0].ids), 4, requires_grad=True)
    loss = joint_loss(scores, short, group)
    loss.backward()
    assert loss.item() == 0
    assert not scores.grad.any()


def test_an_answering_passage_is_among_the_first_that_are_concatenated_in_order_of_rank():
    group = group_of(0, 8, 9, 10, 11, 0, 12)
    ordered = to_concatenate(group)
    assert [h.passage.id for h in ordered.hits] == ["p08", "p09", "p00", "p10", "p11", "p12"]
    assert [h.rank for h in ordered.hits[:3]] == [1, 2, 5]
    assert ordered.statuses.index("positive") == 2
    unanswered = group_of(0, 8, 9, 10, 11)
    assert to_concatenate(unanswered) == unanswered


# Runs


class Killed(Exception):
    """Stands for a run that is stopped from outside."""


LOOP = LoopSettings(encoder_rate=1e-3, head_rate=3e-3, checkpoint_every=2, log_every=1)
PLAN = VerifierPlan(passages=4, questions=2, shares=(("nq", 8),), repeats=(("nq", 2),), seed=3)


def world_examples() -> list[Example]:
    """Each question with the passage that answers it and five others, as a retriever might rank them."""
    return [
        Example(
            "nq",
            question,
            tuple((answer,) for answer in ANSWERS[i]),
            True,
            (i,),
            rows := (i, *(row for row in (8, 9, 10, 11, 12, 13) if row != i)),
            tuple(0.9 - 0.1 * place for place in range(len(rows))),
        )
        for i, question in enumerate(QUESTIONS)
    ]


def train(stage: str, folder: Path, seed: int = 0, stop_after: int | None = None, plan=PLAN, loop=LOOP):
    """Train a tiny network; returns it and the steps that were reported."""
    network, _, form = tiny_network(seed)
    steps = []

    def progress(done: int, of: int) -> None:
        steps.append(done)
        if done == stop_after:
            raise Killed

    given = (network, form, world_examples(), PASSAGES, folder, plan, loop, progress)
    try:
        if stage == RERANKER:
            train_reranker(*given)
        else:
            train_joint_reader(*given, concatenated=stage == CONCATENATED)
    except Killed:
        return None, steps
    return network, steps


@pytest.mark.parametrize("stage", [RERANKER, JOINT, CONCATENATED])
def test_a_baseline_s_run_that_was_stopped_goes_on_and_ends_as_an_unbroken_one(stage, tmp_path):
    whole, steps = train(stage, tmp_path / "whole")
    _, before = train(stage, tmp_path / "broken", stop_after=5)
    resumed, after = train(stage, tmp_path / "broken", seed=0)
    assert before == [1, 2, 3, 4, 5]
    assert after == list(range(5, len(steps) + 1))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_one_baseline_s_checkpoint_is_not_another_s(tmp_path):
    train(JOINT, tmp_path)
    with pytest.raises(InputError, match="checkpoint of another training"):
        train(RERANKER, tmp_path)


ENOUGH = LoopSettings(encoder_rate=2e-3, head_rate=1e-2, checkpoint_every=1000)


def test_eight_questions_are_learned_by_the_reranker(tmp_path):
    # The plan leaves every question unanswered; the reranker, which had nothing to learn then, leaves none.
    plan = VerifierPlan(
        passages=5, questions=4, unanswered=1.0, shares=(("nq", 8),), repeats=(("nq", 20),), seed=1
    )
    network, _ = train(RERANKER, tmp_path, plan=plan, loop=ENOUGH)
    reranker = TrainedReranker(Reader(network, tiny_network()[2]))
    # The answering passage is ranked last; the others answer other questions or none.
    first = [
        reranker.rank(Question("q", question), hits_of([*PASSAGES[8:], PASSAGES[i]]))[0].passage.id
        for i, question in enumerate(QUESTIONS)
    ]
    assert sum(name == PASSAGES[i].id for i, name in enumerate(first)) >= 7


@pytest.mark.parametrize(
    ("stage", "trainer", "share"), [(RERANKER, train_reranker, 0.0), (JOINT, train_joint_reader, 0.2)]
)
def test_a_baseline_s_card_tells_the_plan_that_was_followed(stage, trainer, share, tmp_path):
    begun = tiny_network()[:2]
    train_stage(stage, trainer, begun, world_examples(), PASSAGES, tmp_path, PLAN, LOOP)
    assert read_card(tmp_path).training[stage]["plan"]["unanswered"] == share


@pytest.mark.parametrize("stage", [JOINT, CONCATENATED])
def test_eight_questions_are_learned_by_the_reader(stage, tmp_path):
    plan = VerifierPlan(
        passages=5, questions=4, unanswered=0.0, shares=(("nq", 8),), repeats=(("nq", 32),), seed=1
    )
    network, _ = train(stage, tmp_path, plan=plan, loop=ENOUGH)
    form = tiny_network()[2]
    if stage == JOINT:
        baseline = RerankThenRead(RetrievalOrder(), JointReader(Reader(network, form)))
    else:
        baseline = ConcatenatedReading(ConcatenatedReader(network, form))
    learned = 0
    for i, question in enumerate(QUESTIONS):
        hits = hits_of([PASSAGES[row] for row in world_examples()[i].rows[:3]])
        found = baseline.read(Trace(Question("q", question), hits=hits, stage="retrieved")).candidates
        best = sorted(found, key=lambda c: -c.score)[: len(ANSWERS[i])]
        learned += all(any(same_answer(c.answer, answer) for c in best) for answer in ANSWERS[i])
    assert learned >= 6


# Folders


def save_stage(stage: str, folder: Path, tau: float = 0.1) -> Path:
    network, card, _ = tiny_network()
    save_network(network, replace(card, stage=stage, tau=tau), folder)
    return folder


def test_trained_folders_give_their_baselines_with_the_tau_of_the_reader(tmp_path):
    reranker = save_stage(RERANKER, tmp_path / "reranker")
    joint = save_stage(JOINT, tmp_path / "joint", tau=0.07)
    concatenated = save_stage(CONCATENATED, tmp_path / "concatenated", tau=0.2)
    found = load_baselines(reranker, joint, concatenated)
    assert [(baseline.name, baseline.tau) for baseline in found] == [
        ("rerank with one network, then read", 0.07),
        ("rerank, then read", 0.07),
        ("oracle rerank, then read", 0.07),
        ("retrieval order, then read", 0.07),
        ("concatenated reading", 0.2),
    ]
    trace = Trace(Question("q", QUESTIONS[3], ((("Ilo",),),)), hits=hits_of(PASSAGES), stage="retrieved")
    for baseline in found:
        assert sum(prediction.accepted for prediction in predict(baseline, trace)) >= 1
    assert load_baselines() == []


def test_a_folder_of_another_stage_or_of_none_is_refused(tmp_path):
    joint = save_stage(JOINT, tmp_path / "joint")
    with pytest.raises(MismatchError, match="holds a joint reader, not a reranker"):
        load_baselines(joint, joint)
    with pytest.raises(MissingError, match="train joint-reader --concatenated"):
        load_baselines(concatenated=tmp_path / "absent")
    assert load_network(joint)[1].stage == JOINT


# Commands


def write_multispanqa(path: Path, rows) -> None:
    """The world's questions as MultiSpanQA has them, each with the passage it was asked of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for i in rows:
            pairs = [{"question": QUESTIONS[i], "answer": [answer]} for answer in ANSWERS[i]]
            row = {
                "id": f"m{i}",
                "question": QUESTIONS[i],
                "context": PASSAGES[i].text,
                "annotations": [{"type": "multipleQAs", "qaPairs": pairs}],
            }
            file.write(json.dumps(row) + "\n")


@pytest.mark.slow
def test_the_commands_train_from_a_recaller_and_choose_a_tau(tmp_path, capsys):
    data, index, start = tmp_path / "data", tmp_path / "index", save_stage("recaller", tmp_path / "start")
    write_multispanqa(data / "questions/multispanqa-train.jsonl.gz", range(6))
    dev = tmp_path / "dev.jsonl.gz"
    write_multispanqa(dev, (6, 7))
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": p.id, "title": p.title, "text": p.text}) for p in PASSAGES]
    corpus.write_text("\n".join(lines), encoding="utf-8")
    build_index(corpus, index, SentenceEncoder())
    given = ["--data", data, "--index", index, "--from", start]
    folders = {name: tmp_path / name for name in ("reranker", "joint-reader", "concatenated")}
    commands = (
        ["train", "reranker", *given, "--out", folders["reranker"]],
        ["train", "joint-reader", *given, "--out", folders["joint-reader"]],
        ["train", "joint-reader", "--concatenated", *given, "--out", folders["concatenated"]],
    )
    for command in commands:
        cli.main([str(word) for word in command], standalone_mode=False)
    for reader in ("joint-reader", "concatenated"):
        command = ["train", "tau", "--reader", folders[reader], "--index", index, "--questions", dev]
        cli.main([str(word) for word in command], standalone_mode=False)
        assert "on the 2 questions it was chosen on" in capsys.readouterr().out
    found = load_baselines(folders["reranker"], folders["joint-reader"], folders["concatenated"])
    assert len(found) == 5
    card = read_card(folders["joint-reader"])
    assert card.stage == JOINT
    assert card.tau == card.training["tau"]["tau"] == found[0].tau
    assert card.training["tau"]["system"] == "rerank with one network, then read"
    assert card.training[JOINT]["steps"] == 8


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["reranker", "--data", "d", "--from", "absent", "--out", "o"], "train recaller"),
        (["tau", "--reader", "absent", "--questions", "dev.jsonl"], "train joint-reader"),
    ],
)
def test_a_command_without_what_it_starts_from_says_how_to_get_it(command, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "1", "question": "who", "answers": ["Ilo"]}]
    Path("dev.jsonl").write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    with pytest.raises(MissingError, match=said):
        cli.main(["train", *command, "--index", "nowhere"], standalone_mode=False)
    assert not Path("o").exists()


# The threshold and the benchmark


def scored(question: str, gold: tuple[str, ...], **scores: float) -> Trace:
    """A baseline's trace: answers by their scores, each from a place of its own."""
    hits = tuple(hit(name, f"{name} is here.", i) for i, name in enumerate(scores, 1))
    asked = Question(question, question, (tuple((answer,) for answer in gold),))
    trace = Trace(asked, hits=hits, stage="retrieved")
    reader = FixedShares(tuple(scores.values()))
    return RerankThenRead(RetrievalOrder(), reader).read(trace)


class FixedShares:
    """Takes the first word of each passage at a given share."""

    def __init__(self, shares: tuple[float, ...]) -> None:
        self._shares = shares

    def read(self, question: str, hits) -> list[Reading]:
        return [
            Reading(h.passage.id, share, (Span(0, h.passage.text.index(" "), share),))
            for h, share in zip(hits, self._shares, strict=True)
        ]


def test_the_tau_of_the_best_f1_is_chosen_and_the_lowest_of_equals():
    traces = [scored("q", ("Ilo", "Brae"), Ilo=0.5, Brae=0.3, Sef=0.2), scored("r", ("Dorn",), Dorn=0.6)]
    assert choose_tau(traces, (0.1, 0.2, 0.25, 0.3, 0.9)) == ChosenTau(0.2, 1.0, 2)


def ours(trace: Trace, **scores: float) -> Row:
    """Our row of the same question."""
    candidates = tuple(
        RowCandidate(answer, score, (score,) * 3, (), ((f"x{answer}", 0, 3),))
        for answer, score in scores.items()
    )
    row = baseline_row(trace)
    return replace(row, candidates=candidates)


def test_the_benchmark_compares_question_by_question_at_dev_s_taus():
    dev = [scored("q", ("Ilo", "Brae"), Ilo=0.5, Brae=0.3, Sef=0.2)]
    test = [
        scored("r", ("Ilo", "Brae"), Ilo=0.28, Brae=0.26, Sef=0.02),
        scored("s", ("Dorn",), Sef=0.6, Dorn=0.1),
    ]
    rows = {
        "dev": {MAIN: [ours(dev[0], Ilo=0.9, Brae=0.9, Sef=0.05)], "joint": list(map(baseline_row, dev))},
        "test": {
            MAIN: [ours(test[0], Ilo=0.9, Sef=0.01), ours(test[1], Dorn=0.9, Sef=0.01)],
            "joint": list(map(baseline_row, test)),
        },
    }
    found = {(each.split, each.system.partition(",")[0]): each for each in compare(rows, {"test": {"r"}})}
    joint = found["test", "joint"]
    assert joint.tau >= 0.2
    # r: both answers or (by share, at .2 or above) both; s: a wrong one. Ours: one of two, and the right one.
    assert joint.measures["f1"] == {"r": 1.0, "s": 0.0}
    main = next(each for (split, _), each in found.items() if split == "test" and each.system == MAIN)
    assert main.measures["f1"] == {"r": pytest.approx(2 / 3), "s": 1.0}
    assert joint.gain(ALL).mean == pytest.approx((2 / 3 - 1 + 1) / 2)
    assert joint.gain(SEVERAL).mean == pytest.approx(2 / 3 - 1)
    assert joint.passages["mrecall@10"] == {"r": 1.0, "s": 1.0}
    text = render(list(found.values()))
    assert "## test: 2 questions; of 1 no single passage has all the gold" in text
    assert "| joint, by share" in text


@pytest.mark.parametrize("given", [[], ["--reranker", "r"], ["--reranker", "r", "--concatenated", "c"]])
def test_the_benchmark_wants_a_reader_to_compare_with(given, tmp_path):
    folders = ["--data", str(tmp_path), "--index", str(tmp_path), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*folders, *given])
    assert result.exit_code == 1
    assert "Name a joint reader by --reader" in result.output
    assert not (tmp_path / "out").exists()


def test_baseline_rows_are_kept_and_only_missing_questions_are_asked(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": p.id, "title": p.title, "text": p.text}) for p in PASSAGES]
    corpus.write_text("\n".join(lines), encoding="utf-8")
    build_index(corpus, tmp_path / "index", WordEncoder())
    reader = tiny_reader()
    retriever = HybridRetriever(open_index(tmp_path / "index", WordEncoder().fingerprint), WordEncoder())
    models = Models(retriever, reader, tiny_network()[1], "0")
    questions = [Question(f"q{i}", q, (((ANSWERS[i][0],),),)) for i, q in enumerate(QUESTIONS[:3])]

    def collect(some, weights="1"):
        rerankers = (OracleReranker(), TrainedReranker(reader))
        baselines = [
            RerankThenRead(each, JointReader(reader), weights={"reader_sha256": weights})
            for each in rerankers
        ]
        return collect_baselines(models, Settings(), baselines, some, tmp_path, "test")

    first = collect(questions[:2])
    both = collect(questions)
    assert {name: rows[:2] for name, rows in both.items()} == first
    (path,) = tmp_path.glob("test.oracle*.jsonl")
    assert [row.question.id for row in RowFile(path).rows()] == ["q0", "q1", "q2"]
    assert all(row.retrieval["mrecall@5"] == 1 for row in both["oracle rerank, then read"])
    with pytest.raises(MismatchError, match="made with other models"):
        collect(questions, weights="2")

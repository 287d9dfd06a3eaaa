"""Training the paper's models: what is drawn, the loop, recipes, that they learn, the chain to a profile."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
import torch
from encoders import save_tiny_encoder
from tiny import ANSWERS, PASSAGES, QUESTIONS, hits_of
from tiny_t5 import TEXTS, body_of, tiny_t5
from torch import nn
from transformers.models.t5.modeling_t5 import T5LayerFF

from rtv_core.errors import InputError, MismatchError, MissingError, SettingError
from rtv_core.evidence import rank_evidence
from rtv_core.recall.merge import unite
from rtv_core.recall.seq2seq import SequenceRecaller
from rtv_core.records import Passage, Question, Reading, Span, Trace, Verdict
from rtv_core.retrieval.manifest import read_manifest
from rtv_core.settings import RecallerSettings, load_settings
from rtv_core.training.fid import train_t5_verifier, verify_losses
from rtv_core.training.flat_loop import FlatLoop, TrainingFacts, read_log, run_flat
from rtv_core.training.paper_examples import (
    RecallExample,
    RetrieveExample,
    VerifyExample,
    gold_answers,
    load_drawn,
    recall_examples,
    retrieve_examples,
    save_drawn,
    verify_examples,
)
from rtv_core.training.recipes import load_recipe, recipe_names
from rtv_core.training.retriever import load_sentence_model, retrieval_losses, train_retriever
from rtv_core.training.run_t5 import choose_paper_tau
from rtv_core.training.seq2seq import recall_losses, recall_target, train_t5_recaller
from rtv_core.verify.fid import FusionVerifier

QUICK = FlatLoop(rate=0.01, warmup=5, steps=60, batch=8, device_batch=8, evaluate_every=1000, log_every=20)


def question(i: int) -> Question:
    return Question(f"q{i}", QUESTIONS[i], (tuple((answer,) for answer in ANSWERS[i]),))


def retrieved(i: int) -> Trace:
    return Trace(question(i), hits=hits_of(PASSAGES), stage="retrieved")


def gathered(i: int, *wrong: str) -> Trace:
    """Question i with its answers and some wrong ones as candidates."""
    hits, readings = hits_of(PASSAGES), []
    for hit in hits:
        text, spans = hit.passage.text, []
        for answer in (*ANSWERS[i], *wrong):
            if (at := text.find(answer)) >= 0:
                spans.append(Span(at, at + len(answer), 0.5))
        readings.append(Reading(hit.passage.id, 0.9, tuple(spans)))
    candidates = unite(hits, readings, RecallerSettings())
    evidence = tuple(rank_evidence(c, "", hits, [h.dense for h in hits], "strict") for c in candidates)
    return retrieved(i).grown(candidates=candidates, evidence=evidence, stage="gathered")


def test_the_gold_of_all_annotations_is_united() -> None:
    several = Question(
        "q", "?", ((("1995",), ("April 24, 2010", "2010")), (("24 April 2010",), ("2012",)), ())
    )
    assert gold_answers(several) == (("1995",), ("April 24, 2010", "2010"), ("2012",))


def test_a_covering_passage_is_to_be_read_for_its_answers_in_order_of_appearance() -> None:
    asked = Question("q", "which lakes", ((("sund",), ("Tovo", "Lake Tovo"), ("Merin",)),))
    (example,) = recall_examples(replace(retrieved(0), question=asked), 0.0, random.Random(0))
    assert example == RecallExample("which lakes", PASSAGES[0], ("Merin", "Tovo", "Sund"))


@pytest.mark.parametrize(
    ("alpha_neg", "low", "high"), [(0.0, 0, 0), (3.0, 3, 3), (0.5, 0, 1), (99.0, 13, 13)]
)
def test_alpha_neg_is_how_many_irrelevant_passages_come_with_an_answering_one(
    alpha_neg: float, low: int, high: int
) -> None:
    counts = set()
    for seed in range(20):
        examples = recall_examples(retrieved(0), alpha_neg, random.Random(seed))
        assert [e.answers for e in examples[:1]] == [("Merin", "Tovo", "Sund")]
        assert all(e.answers == () and e.passage != PASSAGES[0] for e in examples[1:])
        counts.add(len(examples) - 1)
    assert counts == set(range(low, high + 1))


def test_wrong_candidates_are_at_most_so_many_per_right_one() -> None:
    trace = gathered(0, "hills", "Ana Lind", "1887", "harbour", "oats")
    for invalid, wrong in ((1, 3), (2, 5), (10, 5)):
        examples = verify_examples(trace, invalid, random.Random(0))
        assert sorted(e.answer for e in examples if e.right) == ["Merin", "Sund", "Tovo"]
        assert sum(not e.right for e in examples) == wrong
    merin = next(e for e in examples if e.answer == "Merin")
    assert merin.passages[0] == PASSAGES[0], "its evidence, best first"
    assert len(merin.passages) == 10
    nothing = replace(trace, question=Question("q", "?", ((("Zembla",),),)))
    assert len(verify_examples(nothing, 2, random.Random(0))) == 2


def test_hard_negatives_are_the_first_that_cover_no_answer() -> None:
    examples = retrieve_examples(retrieved(2), 6, 3, 2, 20, random.Random(0))
    assert len(examples) == 20
    assert {e.positive.id for e in examples} == {"p02"}
    assert {p.id for e in examples for p in e.negatives} == {"p00", "p01", "p03"}
    assert all(len(set(e.negatives)) == 2 for e in examples)
    nowhere = replace(retrieved(2), question=Question("q", "?", ((("Zembla",),),)))
    assert retrieve_examples(nowhere, 6, 3, 2, 20, random.Random(0)) == []


def test_positives_are_the_first_of_each_answer() -> None:
    passages = [Passage(f"p{i}", "", text) for i, text in enumerate(["a b", "a", "c", "a", "b", "d"])]
    asked = Question("q", "?", ((("a",), ("b",)),))
    trace = Trace(asked, hits=hits_of(passages))
    found = {e.positive.id for e in retrieve_examples(trace, 2, 30, 1, 60, random.Random(0))}
    assert found == {"p0", "p1", "p4"}  # not p3, the third of "a"


def test_drawn_examples_are_kept_and_belong_to_what_they_were_drawn_from(tmp_path: Path) -> None:
    examples = recall_examples(retrieved(0), 3.0, random.Random(0))
    save_drawn(examples, tmp_path / "train.jsonl.gz", "these")
    assert load_drawn(RecallExample, tmp_path / "train.jsonl.gz", "these") == examples
    with pytest.raises(MismatchError, match="drawn from other questions"):
        load_drawn(RecallExample, tmp_path / "train.jsonl.gz", "those")
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl.gz"]


def test_what_is_to_be_written_can_be_read_again() -> None:
    t5 = tiny_t5()
    assert recall_target(t5, ()) == [*t5.words("irrelevant"), t5.end]
    target = recall_target(t5, ("Merin", "Tovo"))
    assert target == [*t5.words("Merin"), t5.separator, *t5.words("Tovo"), t5.end]
    long = recall_target(t5, ("Merin",) * 30)
    assert len(long) == t5.card.answer_tokens
    assert t5.end not in long, "what was cut off has no end"


def test_the_recallers_loss_is_that_of_the_library_summed_over_tokens() -> None:
    t5 = tiny_t5()
    examples = [
        RecallExample(QUESTIONS[0], PASSAGES[0], ("Merin", "Tovo")),
        RecallExample(QUESTIONS[0], PASSAGES[5], ()),
    ]
    found = recall_losses(t5, examples)
    for own, example in zip(found, examples, strict=True):
        target = recall_target(t5, example.answers)
        text = t5.row(question=example.question, title=example.passage.title, context=example.passage.text)
        loss = t5.model(input_ids=torch.tensor([text]), labels=torch.tensor([target])).loss
        assert own.item() == pytest.approx(loss.item() * len(target), rel=1e-4)


def test_the_verifiers_loss_is_the_cross_entropy_of_equation_one() -> None:
    t5 = tiny_t5("verifier")
    examples = [
        VerifyExample(QUESTIONS[0], a, PASSAGES[:5], right) for a, right in (("Merin", True), ("oats", False))
    ]
    losses = verify_losses(t5, examples, k=5)
    one, other = FusionVerifier(t5).verify(
        QUESTIONS[0], [body_of("Merin", PASSAGES[:5]), body_of("oats", PASSAGES[:5])]
    )
    assert losses.exp().tolist() == pytest.approx([1 / one.at(5), 1 / (1 - other.at(5))], rel=1e-4)


def test_eight_passages_can_be_learned_by_heart(tmp_path: Path) -> None:
    t5 = tiny_t5()
    examples = [RecallExample(QUESTIONS[i], PASSAGES[i], ANSWERS[i]) for i in range(6)]
    examples += [RecallExample(QUESTIONS[i], PASSAGES[i + 1], ()) for i in range(2)]
    facts = train_t5_recaller(t5, examples, tmp_path, replace(QUICK, steps=110))
    recaller = SequenceRecaller(t5)
    for example in examples:
        (reading,) = recaller.recall(example.question, hits_of([example.passage]))
        spans = tuple(example.passage.text[s.start : s.end] for s in reading.spans)
        assert spans == example.answers
    assert (facts.examples, facts.steps, facts.dev_loss, facts.stopped_early) == (8, 110, None, False)
    rows = read_log(tmp_path)
    assert rows[-1]["loss"] < 0.1 < rows[0]["loss"]


def test_eight_candidates_can_be_learned_by_heart(tmp_path: Path) -> None:
    t5 = tiny_t5("verifier")
    examples = [VerifyExample(QUESTIONS[i], ANSWERS[i][0], PASSAGES[i : i + 3], True) for i in range(4)]
    examples += [VerifyExample(QUESTIONS[i], ANSWERS[i + 1][0], PASSAGES[i : i + 3], False) for i in range(4)]
    train_t5_verifier(t5, examples, tmp_path, replace(QUICK, rate=0.003, steps=90), k=5)
    verifier = FusionVerifier(t5)
    for example in examples:
        (verdict,) = verifier.verify(example.question, [body_of(example.answer, example.passages)])
        assert (verdict.at(5) > 0.8) == example.right
        assert (verdict.at(5) < 0.2) != example.right


def recall_training(folder: Path, loop: FlatLoop) -> nn.Module:
    t5 = tiny_t5()
    examples = [RecallExample(QUESTIONS[i], PASSAGES[i], ANSWERS[i]) for i in range(6)]
    train_t5_recaller(t5, examples, folder, loop)
    return t5.model


def verify_training(folder: Path, loop: FlatLoop) -> nn.Module:
    t5 = tiny_t5("verifier")
    examples = [VerifyExample(QUESTIONS[i], ANSWERS[i][0], PASSAGES[i : i + 3], i < 3) for i in range(6)]
    train_t5_verifier(t5, examples, folder, loop, k=5)
    return t5.model


def losses_of(folder: Path) -> list[float]:
    return [row["loss"] for row in read_log(folder)]


EACH_STEP = FlatLoop(rate=0.001, warmup=1, steps=5, batch=6, device_batch=6, log_every=1)


@pytest.mark.filterwarnings("error:.*gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("training", [recall_training, verify_training])
def test_recomputing_runs_every_layer_twice_and_changes_no_loss(
    training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [0]
    forward = T5LayerFF.forward

    def counted(self, *given, **named):
        runs[-1] += 1
        return forward(self, *given, **named)

    monkeypatch.setattr(T5LayerFF, "forward", counted)
    plain = training(tmp_path / "plain", EACH_STEP)
    runs.append(0)
    model = training(tmp_path / "recomputed", replace(EACH_STEP, recompute=True))
    assert runs[1] == 2 * runs[0] > 0
    # The same sums in the same order, but for the weights' last bits after a step.
    assert losses_of(tmp_path / "recomputed") == pytest.approx(losses_of(tmp_path / "plain"), rel=1e-6)
    start = tiny_t5().model.state_dict()
    for (name, one), other in zip(model.state_dict().items(), plain.state_dict().values(), strict=True):
        # Gradients are summed in another order, and Adam makes whole steps of those that are nearly 0.
        assert (one - other).abs().mean() < EACH_STEP.rate / 1000, name
        assert not torch.equal(one, start[name]), name
    assert not model.is_activation_checkpointing, "only while it is trained"


@pytest.mark.parametrize("training", [recall_training, verify_training])
def test_bfloat16_changes_the_losses_of_training_by_its_rounding(training, tmp_path: Path) -> None:
    training(tmp_path / "plain", EACH_STEP)
    model = training(tmp_path / "rounded", replace(EACH_STEP, dtype="bfloat16"))
    plain, rounded = losses_of(tmp_path / "plain"), losses_of(tmp_path / "rounded")
    # Eight significant bits round by 1/512 at most, a few dozen times before a loss; where it is near 0, what
    # counts is the rounding of the two labels' logits, .004 each below 2.
    assert rounded == pytest.approx(plain, rel=0.02, abs=0.01)
    assert rounded != plain, "it was computed in bfloat16"
    start = tiny_t5().model.state_dict()
    for name, weights in model.state_dict().items():
        assert weights.dtype == torch.float32
        assert not torch.equal(weights, start[name]), name


def test_the_retriever_can_recompute_too(world: Path, tmp_path: Path) -> None:
    examples = [RetrieveExample(QUESTIONS[i], PASSAGES[i], (PASSAGES[i + 1],)) for i in range(6)]
    for name, recompute in (("plain", False), ("recomputed", True)):
        model = load_sentence_model(str(world / "encoder" / "model"))
        train_retriever(model, examples, tmp_path / name, replace(EACH_STEP, recompute=recompute))
    assert losses_of(tmp_path / "recomputed") == pytest.approx(losses_of(tmp_path / "plain"), rel=1e-5)


def test_what_is_read_together_matters_to_the_retrievers_loss_and_to_no_other(world: Path) -> None:
    model = load_sentence_model(str(world / "encoder" / "model")).eval()
    recaller, verifier = tiny_t5(), tiny_t5("verifier")
    recalled = [RecallExample(QUESTIONS[i], PASSAGES[i], ANSWERS[i]) for i in range(4)]
    judged = [VerifyExample(QUESTIONS[i], ANSWERS[i][0], PASSAGES[i : i + 3], i < 2) for i in range(4)]
    asked = [RetrieveExample(QUESTIONS[i], PASSAGES[i], (PASSAGES[i + 1],)) for i in range(4)]
    with torch.no_grad():
        for losses, examples in (
            (lambda some: recall_losses(recaller, some), recalled),
            (lambda some: verify_losses(verifier, some, 5), judged),
        ):
            parts = torch.cat([losses(examples[:2]), losses(examples[2:])])
            torch.testing.assert_close(losses(examples), parts, atol=1e-5, rtol=1e-5)
        parts = torch.cat([retrieval_losses(model, asked[:2]), retrieval_losses(model, asked[2:])])
        assert (retrieval_losses(model, asked) > parts + 0.01).all(), "more passages to be told from"


class Line(nn.Module):
    """y = w x, in which the loop can be watched."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([start]))


def line_losses(network: Line):
    return lambda some: torch.stack([((network.w * x - y) ** 2).sum() for x, y in some])


POINTS = [(float(x), 3.0 * x) for x in (1, 2, -1, 0.5, -2, 1.5, 3)]
SLOW = FlatLoop(rate=0.05, warmup=4, steps=30, batch=5, device_batch=5, evaluate_every=10, log_every=5)


def trained(folder: Path, loop: FlatLoop = SLOW, **more) -> tuple[float, object]:
    network = Line()
    facts = run_flat(network, more.pop("points", POINTS), line_losses(network), folder, loop, **more)
    return float(network.w.detach()), facts


def test_reading_a_step_in_parts_changes_nothing(tmp_path: Path) -> None:
    def weight(point):
        return 1 + abs(point[0])

    whole, _ = trained(tmp_path / "whole", weight=weight)
    parts, _ = trained(tmp_path / "parts", replace(SLOW, device_batch=2), weight=weight)
    assert whole == pytest.approx(parts, abs=1e-6)
    assert whole == pytest.approx(1.5, abs=0.3)  # AdamW moves by at most its rate a step


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    alone, _ = trained(tmp_path / "alone", replace(SLOW, device_batch=2), dev=POINTS[:3])
    script = tmp_path / "two.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "from pathlib import Path\n"
        "from test_t5_training import POINTS, SLOW, replace, trained\n"
        f"home = Path({str(tmp_path)!r})\n"
        "found, facts = trained(home / 'two', replace(SLOW, device_batch=2), dev=POINTS[:3])\n"
        "(home / os.environ['RANK']).write_text(f'{found} {facts.steps}')\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", str(script)]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    for rank in "01":
        found, steps = (tmp_path / rank).read_text().split()
        assert float(found) == pytest.approx(alone, abs=1e-5)
        assert int(steps) == SLOW.steps
    assert [row["step"] for row in read_log(tmp_path / "two")] == [5, 10, 15, 20, 25, 30]


def test_the_rate_rises_and_then_stays(tmp_path: Path) -> None:
    rising, _ = trained(tmp_path / "a", replace(SLOW, steps=4))
    assert rising == pytest.approx(0.05 * (1 + 2 + 3 + 4) / 4, rel=0.05)
    flat, _ = trained(tmp_path / "b", replace(SLOW, steps=14))
    assert flat - rising == pytest.approx(0.05 * 10, rel=0.05)


def test_a_run_that_goes_on_equals_an_unbroken_one(tmp_path: Path) -> None:
    unbroken, _ = trained(tmp_path / "a")
    trained(tmp_path / "b", replace(SLOW, steps=17))
    resumed, facts = trained(tmp_path / "b")
    assert resumed == unbroken
    assert facts.steps == 30
    steps = [row["step"] for row in read_log(tmp_path / "b")]
    assert steps == sorted(set(steps))
    assert [row["step"] for row in read_log(tmp_path / "a")] == [5, 10, 15, 20, 25, 30]
    for loop, points in ((replace(SLOW, rate=0.1), POINTS), (SLOW, POINTS[1:])):
        with pytest.raises(InputError, match="a checkpoint of another training"):
            trained(tmp_path / "b", loop, points=points)


def test_training_stops_when_dev_grows_worse_and_keeps_the_best_weights(tmp_path: Path) -> None:
    dev = [(1.0, 1.0)]  # best at w = 1, where the training points say 3
    loop = replace(SLOW, steps=400, evaluate_every=2, patience=3)
    found, facts = trained(tmp_path, loop, dev=dev)
    assert found == pytest.approx(1.0, abs=0.1)
    assert facts.stopped_early
    assert facts.steps == facts.best_step + 2 * 3
    assert facts.dev_loss == pytest.approx((found - 1) ** 2, abs=1e-5)
    looks = [row["dev_loss"] for row in read_log(tmp_path) if "dev_loss" in row]
    assert min(looks) == pytest.approx(facts.dev_loss, abs=1e-4)
    again, same = trained(tmp_path, loop, dev=dev)
    assert (again, same) == (found, facts), "a finished run only gives back its best weights"


def test_a_step_without_finite_gradient_is_left_out(tmp_path: Path) -> None:
    found, _ = trained(tmp_path, replace(SLOW, batch=1, steps=7), points=[*POINTS[:6], (1.0, float("inf"))])
    assert found == found
    assert abs(found) > 0.1


def test_nothing_to_train_on_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to train on"):
        trained(tmp_path, points=[])


def test_the_recipes_hold_what_was_published() -> None:
    assert recipe_names() == ["fast", "t5-3b", "t5-base"]
    for name, base, alpha_neg, tau, k in (
        ("t5-3b", "t5-3b", 0.1, 0.5, 10),
        ("t5-base", "t5-base", 0.1, 0.6, 10),
        ("fast", "t5-base", 0.7, 0.5, 5),
    ):
        recaller, verifier = (load_recipe(name, stage) for stage in ("recaller", "verifier"))
        assert (recaller.plan.base, recaller.plan.alpha_neg) == (base, alpha_neg)
        assert (recaller.loop.batch, recaller.loop.rate, recaller.loop.warmup) == (320, 1e-5, 500)
        assert (verifier.plan.invalid, verifier.plan.tau, verifier.plan.k) == (10, tau, k)
        assert (verifier.plan.base, verifier.loop.batch) == ("t5-3b", 64)
        retriever = load_recipe(name, "retriever")
        assert (retriever.loop.batch, retriever.plan.hard) == (128, 2)
        assert (retriever.plan.positives, retriever.plan.negatives) == (6, 30)


def test_a_value_of_a_recipe_can_be_set(tmp_path: Path) -> None:
    recipe = load_recipe("fast", "recaller", ["alpha_neg=5", "steps=7", "recompute=true", "base=mine"])
    assert (recipe.plan.alpha_neg, recipe.loop.steps, recipe.loop.recompute) == (5.0, 7, True)
    assert recipe.plan.base == "mine"
    own = tmp_path / "own.toml"
    own.write_text("[verifier]\nk = 1\n")
    assert load_recipe(str(own), "verifier").plan.k == 1
    assert load_recipe(str(own), "recaller").plan.alpha_neg == 0.1


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("[verifier]\nalpha = 1\n", [], "there is nothing called 'alpha'"),
        ("[verifier]\n", ["warmupp=1"], "Did you mean 'warmup'"),
        ("[verifier]\nk = 3\n", [], "k is 3; it must be one of 1, 5, 10"),
        ("[verifier]\nk = 'x'\n", [], "k is 'x'; it must be an int"),
        ("[verifier]\n", ["batch=0"], "batch is 0; it must be above 0"),
        ("[verifier]\n", ["dtype=int8"], "dtype is 'int8'"),
        ("[verifier]\n", ["k"], "'k' sets nothing"),
        ("[reader]\n", [], "there is no stage 'reader'"),
        ("[verifier", [], "is not valid TOML"),
    ],
)
def test_a_wrong_recipe_is_said(tmp_path: Path, text: str, overrides: list[str], message: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(SettingError, match=message):
        load_recipe(str(own), "verifier", overrides)


def test_an_absent_recipe_is_said() -> None:
    with pytest.raises(MissingError, match="Use one of fast, t5-3b, t5-base"):
        load_recipe("t5-11b", "recaller")


def test_tau_is_chosen_for_all_and_multi_answer_questions_together() -> None:
    def verdicts(trace: Trace, scores: dict[str, float]) -> Trace:
        found = tuple(Verdict((scores[c.answer],) * 3) for c in trace.candidates)
        return trace.grown(verdicts=found, stage="verified")

    several = verdicts(gathered(0, "hills"), {"Merin": 0.75, "Tovo": 0.72, "Sund": 0.71, "hills": 0.55})
    single = verdicts(gathered(4, "streets"), {"Odo Falk": 0.95, "streets": 0.65})
    tau, both = choose_paper_tau([several, single], 5)
    assert tau == 0.7  # at .6 "streets" is accepted, at .8 two of three answers are lost
    assert both == pytest.approx(2.0)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions, an index by a tiny encoder, and a tiny T5 to start from, in one folder."""
    from rtv_core.reading.t5 import save_t5
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.index import build_index
    from rtv_core.wire import to_json

    home = tmp_path_factory.mktemp("world")
    words = [word for text in TEXTS for word in text.lower().replace(",", "").replace(".", "").split()]
    encoder = SentenceEncoder(str(save_tiny_encoder(home / "encoder", words)), dtype="float32")
    (home / "corpus.jsonl").write_text("".join(to_json(p) + "\n" for p in PASSAGES), encoding="utf-8")
    build_index(home / "corpus.jsonl", home / "index", encoder)
    asked = [{"id": q.id, "question": q.text, "answers": q.answers[0]} for q in map(question, range(8))]
    (home / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    save_t5(tiny_t5("recaller"), home / "base")
    (home / "base" / "rtv.json").unlink()
    return home


@contextmanager
def empty_hub() -> Iterator[tuple[str, list[str]]]:
    """The address of a hub that has nothing, and the paths that it is asked for."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


COMMANDS = """
import json, sys
sys.path[:0] = [ROOT]
from click.testing import CliRunner
from rtv_core.cli import cli
found = [CliRunner().invoke(cli, ["train", *command]) for command in json.loads(sys.argv[1])]
print(json.dumps([[result.exit_code, str(result.exception)] for result in found]))
"""
"""Runs `train` with each list of arguments in one new process, as the environment variables say."""


@pytest.mark.slow
def test_local_training_asks_the_hub_for_nothing_and_takes_what_is_cached(
    world: Path, tmp_path: Path
) -> None:
    cached = tmp_path / "home" / "hub" / "models--nobody--cached"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("a" * 40)
    shutil.copytree(world / "base", cached / "snapshots" / ("a" * 40))
    shutil.copytree(world / "index", tmp_path / "index")
    manifest = tmp_path / "index" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"encoder": "nobody/encoder"}))

    numbers = count()

    def command(stage: str, base: str, *more: str, index: Path = world / "index") -> list[str]:
        out = tmp_path / f"out-{next(numbers)}"
        given = ["--questions", str(world / "questions.jsonl"), "--index", str(index), "--out", str(out)]
        small = [part for value in ("batch=2", "device_batch=2", "steps=1") for part in ("--set", value)]
        return [stage, *given, *small, "--from", base, *more]

    own, absent = str(world / "base"), "nobody/absent"
    commands = [
        command("retriever", absent),
        command("t5-recaller", absent),
        command("t5-recaller", own, index=tmp_path / "index"),
        command("t5-verifier", absent, "--recaller", own),
        command("t5-verifier", own, "--recaller", absent),
        command("t5-recaller", "nobody/cached"),
    ]

    def run(some: list[list[str]]) -> tuple[list[list], list[str]]:
        with empty_hub() as (address, asked):
            names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE")
            environment = {name: value for name, value in os.environ.items() if name not in names}
            environment |= {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
            script = COMMANDS.replace("ROOT", repr(str(Path(__file__).parents[1])))
            line = [sys.executable, "-c", script, json.dumps(some)]
            done = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), asked

    found, asked = run([[*own, "--local"] for own in commands])
    assert asked == []
    names = ("absent", "absent", "encoder", "absent", "absent")
    for (code, said), name in zip(found[:-1], names, strict=True):
        assert code == 1
        assert f"'nobody/{name}': no such folder" in said
    assert found[-1][0] == 0, found[-1][1]
    found, asked = run(commands[:-1])
    assert [code for code, _ in found] == [1] * 5
    assert sum("nobody/absent" in path for path in asked) >= 4, "without the flag each of them asks"
    assert any("nobody/encoder" in path for path in asked)


@pytest.mark.slow
def test_the_commands_lead_from_questions_to_a_profile_that_answers(world: Path) -> None:
    from click.testing import CliRunner

    from rtv_core.cli import cli
    from rtv_core.factory import Models
    from rtv_core.reading.t5 import load_t5
    from rtv_core.training.run_t5 import open_retriever

    def train(stage: str, *more: str) -> str:
        arguments = ["train", stage, "--questions", str(world / "questions.jsonl")]
        arguments += ["--index", str(world / "index"), "--out", str(world / stage), *more]
        for value in ("batch=8", "device_batch=8", "rate=0.01", "warmup=5", "dtype=float32"):
            arguments += ["--set", value]
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    base = ("--from", str(world / "base"))
    train("t5-recaller", *base, "--set", "alpha_neg=1", "--set", "steps=120")
    recaller = ("--recaller", str(world / "t5-recaller"))
    dev = ("--dev", str(world / "questions.jsonl"))
    said = train("t5-verifier", *base, *recaller, *dev, "--set", "steps=30", "--set", "recompute=false")
    profile = world / "t5-verifier" / "profile.toml"
    assert str(profile) in said
    settings = load_settings(str(profile), ["t5.device=cpu"])
    assert settings.verifier.tau == load_t5(str(world / "t5-verifier"), "verifier").card.tau
    card = load_t5(str(world / "t5-recaller"), "recaller").card
    assert card.training["1"]["plan"]["alpha_neg"] == 1.0
    assert card.base == str(world / "base")
    pipeline = Models(open_retriever(world / "index"), None, None, "").pipeline(settings)
    trace = pipeline.ask(QUESTIONS[0])
    assert {"Merin", "Tovo", "Sund"} <= {c.answer for c in trace.candidates}
    assert read_log(world / "t5-recaller.training")[-1]["loss"] < 1.0


def test_pre_training_and_fine_tuning_both_stand_on_the_card(world: Path) -> None:
    from rtv_core.reading.t5 import load_t5
    from rtv_core.training.run_t5 import run_t5_recaller

    lines = (world / "questions.jsonl").read_text().splitlines(keepends=True)
    (world / "others.jsonl").write_text("".join(lines[4:]))
    stages = (
        ("pre-trained", world / "base", "others.jsonl", 0.01, 12),
        ("tuned", None, "questions.jsonl", 1e-6, 2),
    )
    for name, base, questions, rate, steps in stages:
        recipe = load_recipe("fast", "recaller", [f"base={base or world / 'pre-trained'}", f"steps={steps}"])
        recipe = replace(recipe, loop=replace(QUICK, rate=rate, steps=steps))
        run_t5_recaller(world / questions, world / "index", world / name, recipe)
    first, second = (load_t5(str(world / name), "recaller") for name, *_ in stages)
    assert second.card.base == first.card.base == str(world / "base")
    assert list(first.card.training) == ["1"]
    assert second.card.training["1"] == first.card.training["1"]
    facts = second.card.training["2"]
    assert facts["plan"]["base"] == str(world / "pre-trained")
    assert [second.card.training[n]["questions"] for n in "12"] == ["others.jsonl", "questions.jsonl"]
    assert [second.card.training[n]["steps"] for n in "12"] == [12, 2]
    # Two steps at a rate of a millionth lead nowhere: it began where the first ended.
    weights = [t5.model.shared.weight for t5 in (load_t5(str(world / "base"), "recaller"), first, second)]
    torch.testing.assert_close(weights[2], weights[1], atol=3e-6, rtol=0)
    assert not torch.equal(weights[2], weights[1])
    assert (weights[1] - weights[0]).abs().max() > 0.01


@pytest.mark.parametrize(
    ("rank", "dev", "loads"),
    [
        pytest.param("0", True, ["verifier", "train", "recaller"], marks=pytest.mark.slow),
        ("0", False, ["verifier", "train"]),
        pytest.param("1", True, ["verifier", "train"], marks=pytest.mark.slow),
    ],
)
def test_once_candidates_are_drawn_the_recaller_is_loaded_only_to_choose_tau(
    rank: str, dev: bool, loads: list[str], world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rtv_core.training import run_t5

    events: list[str] = []
    load = run_t5.load_t5

    def loading(name: str, stage: str, *more):
        events.append(stage)
        return load(name, stage, *more)

    def training(*given) -> TrainingFacts:
        events.append("train")  # here, in truth, a process is given its device
        return TrainingFacts(1, 1, 1, None, False)

    monkeypatch.setattr(run_t5, "load_t5", loading)
    monkeypatch.setattr(run_t5, "train_t5_verifier", training)
    questions = world / "questions.jsonl"
    recipe = load_recipe("fast", "verifier", [f"base={world / 'base'}"])
    given = questions, world / "index", world / "base", tmp_path / "verifier", recipe
    run_t5.run_t5_verifier(*given, dev=questions if dev else None)
    assert events[0] == "recaller", "the candidates to learn from are its own"
    events.clear()
    monkeypatch.setenv("RANK", rank)
    run_t5.run_t5_verifier(*given, dev=questions if dev else None)
    assert events == loads


def test_a_recaller_that_is_none_is_refused_before_anything_is_drawn(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rtv_core.reading.t5 import save_t5
    from rtv_core.training import run_t5

    save_t5(tiny_t5("verifier"), tmp_path / "other")
    monkeypatch.setattr(run_t5, "_drawn", lambda *given: pytest.fail("too late"))
    recipe = load_recipe("fast", "verifier", [f"base={world / 'base'}"])
    given = world / "questions.jsonl", world / "index", tmp_path / "other", tmp_path / "out", recipe
    with pytest.raises(MismatchError, match="was trained as a verifier, not as a recaller"):
        run_t5.run_t5_verifier(*given)


def test_the_retriever_learns_to_put_answering_passages_first(world: Path) -> None:
    from rtv_core.retrieval.dense import SentenceEncoder, passage_text
    from rtv_core.training.run_t5 import run_retriever

    recipe = load_recipe("fast", "retriever", [f"base={world / 'encoder' / 'model'}"])
    loop = replace(QUICK, rate=0.003, steps=25)
    run_retriever(world / "questions.jsonl", world / "index", world / "retriever", replace(recipe, loop=loop))

    def firsts(folder: Path) -> int:
        encoder = SentenceEncoder(str(folder), dtype="float32")
        scores = encoder.encode(QUESTIONS) @ encoder.encode([passage_text(p) for p in PASSAGES]).T
        return int((scores.argmax(axis=1) == range(len(QUESTIONS))).sum())

    assert firsts(world / "retriever") == len(QUESTIONS)
    assert firsts(world / "encoder" / "model") < len(QUESTIONS)


@pytest.mark.slow
def test_the_demo_chain_runs_from_nothing_to_a_table_and_a_picture(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xml.etree import ElementTree

    from benchmarks.t5_demo import render, train_chain
    from rtv_core.training.blank_t5 import BlankShape
    from rtv_core.training.recipes import RecallPlan, Recipe, RetrievePlan, VerifyPlan

    loop = replace(QUICK, steps=40, log_every=10)

    def chain():
        return train_chain(
            world / "corpus.jsonl",
            world / "index",
            world / "questions.jsonl",
            TEXTS,
            tmp_path,
            Recipe(RetrievePlan(str(world / "encoder" / "model"), 14), replace(loop, rate=0.003, steps=20)),
            Recipe(RecallPlan("", 14, alpha_neg=1.0), replace(loop, batch=16, device_batch=16)),
            Recipe(VerifyPlan("", 14, k=1), replace(loop, steps=10)),
            BlankShape(layers=1, width=32, inner=64, heads=2, head_width=16),
        )

    found = chain()
    said = capsys.readouterr().err
    for stage in ("train retriever", "index", "train recaller", "train verifier", "answer and measure"):
        assert stage in found.seconds
        assert f"{stage}: " in said
    assert chain().rows == found.rows, "a finished chain is only measured again"
    manifests = [read_manifest(folder / "index") for folder in (tmp_path, world)]
    assert manifests[0].corpus_sha256 == manifests[1].corpus_sha256
    assert manifests[0].encoder == str(tmp_path / "retriever")
    assert manifests[0].encoder_fingerprint != manifests[1].encoder_fingerprint
    drawn = gzip.decompress((tmp_path / "recaller.training" / "train.jsonl.gz").read_bytes()).decode()
    assert manifests[0].encoder_fingerprint in drawn, (
        "the recaller learns from what the trained encoder finds"
    )
    every, best, both = found.rows
    assert (every.system, best.system) == ("recaller, every candidate", "recaller, above its best score")
    assert every.hit >= best.hit > 0
    assert every.tau is None
    assert both.tau in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    table = render(found)
    assert f"{100 * both.f1_all:.1f} / {100 * both.f1_multi:.1f}" in table
    picture = ElementTree.parse(tmp_path / "losses.svg")
    lines = picture.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert [len(line.get("points").split()) for line in lines] == [2, 4, 1]
    assert load_settings(str(tmp_path / "verifier" / "profile.toml")).verifier.k == 1


def test_measures_of_the_demo_are_those_of_the_answers() -> None:
    from benchmarks.t5_demo import measure

    several = gathered(0, "hills")
    scores = {"Merin": 0.75, "Tovo": 0.72, "Sund": 0.4, "hills": 0.55}
    verdicts = tuple(Verdict((scores[c.answer],) * 3) for c in several.candidates)
    trace = several.grown(verdicts=verdicts, stage="verified")
    every = measure("all", [trace], None)
    assert (every.answers, every.hit) == (4, 3)
    assert every.f1_all == pytest.approx(2 * (3 / 4) * 1 / (3 / 4 + 1))
    some = measure("some", [trace], 0.6)
    assert (some.answers, some.hit, some.f1_multi) == (2, 2, pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3)))


def test_the_gpu_check_says_what_it_lacks_or_times_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import gpu

    if not torch.cuda.is_available():
        gpu.main([], standalone_mode=False)
        assert capsys.readouterr().out == "There is no CUDA device here: nothing to time.\n"
    tiny = {"d_model": 16, "d_ff": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8}
    monkeypatch.setitem(gpu.SHAPES, "tiny", tiny)
    found = gpu.time_shape("tiny", candidates=50, batch_tokens=4096, repeat=1, device="cpu", scale=50)
    assert found.shape == "tiny"
    assert found.weights > gpu.VOCABULARY * 16
    assert found.verify > 0
    assert found.recall > 0

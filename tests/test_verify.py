import math
from dataclasses import replace

import pytest
import torch
from tiny import ANSWERS, PASSAGES, QUESTIONS, candidate_of, hits_of, tiny_network, tiny_reader

from rtv_core.evidence import rank_evidence
from rtv_core.protocols import Verifier
from rtv_core.reading.network import ALL_TOTALS
from rtv_core.recall.extractive import ExtractiveRecaller
from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, EvidencePassage, Passage
from rtv_core.verify.embedded import (
    FACTS,
    EmbeddedVerifier,
    RereadingVerifier,
    evidence_slots,
    verifier_input,
)

QUESTION = QUESTIONS[0]
HITS = hits_of(PASSAGES)


def evidence_of(answer: str, *spellings: str, hits=HITS) -> Evidence:
    similarity = [hit.dense for hit in hits]
    return rank_evidence(candidate_of(answer, hits, *spellings), "", hits, similarity, "strict")


def with_passage(body: Evidence, place: int, passage: Passage) -> Evidence:
    """The body with another text at one place, all else (rank, coverage, similarity) as it was."""
    passages = list(body.passages)
    old = passages[place]
    passages[place] = replace(old, hit=replace(old.hit, passage=passage))
    return replace(body, passages=tuple(passages))


def sharp_reader(**options):
    """A reader whose untrained verdicts differ by far more than rounding does."""
    reader = tiny_reader(seed=4, **options)
    with torch.no_grad():
        reader.network.verifier.verdict[-1].weight *= 20
    return reader


@pytest.fixture(scope="module")
def verifier() -> EmbeddedVerifier:
    return EmbeddedVerifier(sharp_reader())


def score(verifier: EmbeddedVerifier, body: Evidence) -> list[float]:
    return list(verifier.verify(QUESTION, [body])[0].p_right)


BODIES = [evidence_of(answer) for answer in ("Merin", "Tovo", "the harbour", "Zanzibar", "1887")]


def test_there_is_one_verdict_a_body_with_a_score_for_each_evidence_size(verifier):
    assert isinstance(verifier, Verifier)
    verdicts = verifier.verify(QUESTION, BODIES)
    assert len(verdicts) == len(BODIES)
    for verdict in verdicts:
        assert len(verdict.p_right) == len(EVIDENCE_SIZES)
        assert all(0 < p < 1 for p in verdict.p_right)
    assert len({round(verdict.at(10), 6) for verdict in verdicts}) == len(BODIES)
    assert verifier.verify(QUESTION, []) == []


def test_the_other_candidates_of_a_call_change_nothing(verifier):
    together = verifier.verify(QUESTION, BODIES)
    for i, body in enumerate(BODIES):
        assert list(together[i].p_right) == pytest.approx(score(verifier, body), abs=5e-6)
    short = replace(BODIES[0], passages=BODIES[0].passages[:1])
    for others in (BODIES[1:], [short], [replace(short, passages=())]):
        verdict = verifier.verify(QUESTION, [*others, BODIES[0]])[-1]
        assert list(verdict.p_right) == pytest.approx(list(together[0].p_right), abs=5e-6)
        assert list(verdict.weights) == pytest.approx(list(together[0].weights), abs=5e-6)


@pytest.mark.parametrize("place", range(10))
def test_a_score_depends_on_its_own_first_k_passages_alone(verifier, place):
    body = BODIES[0]
    before = verifier.verify(QUESTION, [body])[0]
    other = Passage("other", "Merin", "Merin and Merin again, by the sun.")
    after = verifier.verify(QUESTION, [with_passage(body, place, other)])[0]
    for k in EVIDENCE_SIZES:
        if place < k:
            assert abs(after.at(k) - before.at(k)) > 2e-5
        else:
            assert after.at(k) == pytest.approx(before.at(k), abs=5e-6)


def test_a_passage_beyond_the_last_place_changes_nothing(verifier):
    body = BODIES[0]
    more = EvidencePassage(HITS[12], ("strict", "official"), 0.99, True)
    longer = replace(body, passages=(*body.passages, more, more))
    one, other = (verifier.verify(QUESTION, [b])[0] for b in (body, longer))
    assert list(other.p_right) == pytest.approx(list(one.p_right), abs=5e-6)
    assert list(other.weights) == pytest.approx(list(one.weights), abs=5e-6)


def test_fewer_passages_than_k_are_scored_as_they_are(verifier):
    one = replace(BODIES[0], passages=BODIES[0].passages[:1])
    verdict = verifier.verify(QUESTION, [one])[0]
    assert list(verdict.p_right) == pytest.approx([score(verifier, BODIES[0])[0]] * 3, abs=5e-6)
    assert verdict.weights == pytest.approx((1.0,))


def test_taking_a_passage_away_changes_the_score(verifier):
    body = BODIES[0]
    for place in range(len(body.passages)):
        rest = replace(body, passages=body.passages[:place] + body.passages[place + 1 :])
        assert abs(score(verifier, rest)[2] - score(verifier, body)[2]) > 2e-5


def test_where_the_recaller_read_the_candidate_changes_nothing(verifier):
    body = BODIES[0]
    unsourced = replace(
        body,
        candidate=replace(body.candidate, sources=(), score=0.1),
        passages=tuple(replace(p, recalled=False, similarity=0.0) for p in body.passages),
        query="another",
    )
    assert score(verifier, unsourced) == score(verifier, body)


def test_the_weights_have_one_share_a_passage_and_sum_to_one(verifier):
    bodies = [replace(body, passages=body.passages[: 3 * i + 1]) for i, body in enumerate(BODIES)]
    for body, verdict in zip(bodies, verifier.verify(QUESTION, bodies), strict=True):
        assert len(verdict.weights) == len(body.passages)
        assert sum(verdict.weights) == pytest.approx(1, abs=5e-6)
        assert min(verdict.weights) >= 0


def test_a_candidate_without_evidence_scores_zero(verifier):
    empty = Evidence(Candidate("x", ("x",), 0.5, ()), "", ())
    alone = verifier.verify(QUESTION, [empty])[0]
    assert (alone.p_right, alone.weights) == ((0.0, 0.0, 0.0), ())
    among = verifier.verify(QUESTION, [empty, BODIES[0], empty])
    assert [verdict.p_right for verdict in among[::2]] == [(0.0, 0.0, 0.0)] * 2
    assert list(among[1].p_right) == pytest.approx(score(verifier, BODIES[0]), abs=5e-6)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def test_each_evidence_size_has_its_own_offset_and_slope():
    reader = sharp_reader()
    plain = score(EmbeddedVerifier(reader), BODIES[0])
    offsets, slopes = (0.7, -0.2, 0.0), (0.5, 1.0, 2.0)
    rows = [[offset, slope] + [0.0] * ALL_TOTALS for offset, slope in zip(offsets, slopes, strict=True)]
    calibrated = score(EmbeddedVerifier(reader, rows), BODIES[0])
    for p, q, offset, slope in zip(plain, calibrated, offsets, slopes, strict=True):
        assert logit(q) == pytest.approx(offset + slope * logit(p), abs=1e-4)


def test_a_calibration_that_changes_nothing_is_none():
    reader = sharp_reader()
    rows = [[0.0, 1.0] + [0.0] * ALL_TOTALS] * len(EVIDENCE_SIZES)
    for empty in (None, []):
        assert score(EmbeddedVerifier(reader, rows), BODIES[0]) == score(
            EmbeddedVerifier(reader, empty), BODIES[0]
        )


def test_the_score_is_a_softmax_over_right_and_wrong():
    reader = sharp_reader()
    body = BODIES[0]
    (first,) = reader.read(QUESTION, [body.passages[0].hit.passage])
    name = body.passages[0].hit.passage.id
    slots = evidence_slots([replace(body, passages=body.passages[:1])], {name: first.pair})
    with torch.inference_mode():
        x = verifier_input(reader.network, reader.form, QUESTION, [body], slots, 1, first.hidden, {name: 0})
        logits, *_ = reader.network.verify(x)
    expected = logits.softmax(dim=1)[0, 0].item()
    assert score(EmbeddedVerifier(reader), body)[0] == pytest.approx(expected, abs=5e-6)


def test_a_calibration_shifts_the_logit_by_what_the_evidence_of_that_size_amounts_to():
    reader, body = sharp_reader(), BODIES[0]
    plain = EmbeddedVerifier(reader)
    rows = [[0.3 * size, 0.5, *(0.01 * size * i for i in range(FACTS - 1))] for size in range(3)]
    facts = plain.calibration_facts(QUESTION, [body])
    assert facts.shape == (len(EVIDENCE_SIZES), 1, FACTS)
    calibrated = score(EmbeddedVerifier(reader, rows), body)
    for size, ((difference, *seen),) in enumerate(facts.tolist()):
        offset, slope, *weights = rows[size]
        shift = sum(weight * value for weight, value in zip(weights, seen, strict=True))
        assert logit(calibrated[size]) == pytest.approx(offset + slope * difference + shift, abs=1e-4)
        assert logit(score(plain, body)[size]) == pytest.approx(difference, abs=1e-4)


def test_the_facts_of_a_calibration_are_those_of_each_evidence_size():
    verifier = EmbeddedVerifier(sharp_reader())
    facts = verifier.calibration_facts(QUESTION, BODIES)
    assert facts.shape == (len(EVIDENCE_SIZES), len(BODIES), FACTS)
    for size, k in enumerate(EVIDENCE_SIZES):
        cut = [replace(body, passages=body.passages[:k]) for body in BODIES]
        assert facts[size] == pytest.approx(verifier.calibration_facts(QUESTION, cut)[-1], abs=1e-4)
        # The share of ten passages that are there.
        assert facts[size][:, 5] == pytest.approx([k / 10] * len(BODIES))
    none = verifier.calibration_facts(QUESTION, [])
    assert none.shape == (len(EVIDENCE_SIZES), 0, FACTS)


def test_verification_reads_nothing_that_recall_has_read():
    reader = sharp_reader()
    calls = []
    reader.network.encoder.register_forward_hook(lambda *_: calls.append(1))
    ExtractiveRecaller(reader).recall(QUESTION, HITS)
    after_recall = len(calls)
    assert after_recall > 0
    EmbeddedVerifier(reader).verify(QUESTION, BODIES)
    assert len(calls) == after_recall


def test_verified_again_or_after_a_full_cache_a_candidate_scores_the_same(verifier):
    assert score(verifier, BODIES[1]) == score(verifier, BODIES[1])
    forgetful = EmbeddedVerifier(sharp_reader(cache_bytes=1))
    assert score(forgetful, BODIES[1]) == pytest.approx(score(verifier, BODIES[1]), abs=5e-6)


# Reading anew


def test_read_anew_each_candidate_has_its_passages_with_itself_behind_the_question(monkeypatch):
    reader = sharp_reader()
    asked = []
    read = reader.read
    monkeypatch.setattr(reader, "read", lambda q, passages: asked.append((q, passages)) or read(q, passages))
    verdicts = RereadingVerifier(reader).verify(QUESTION, BODIES)
    assert [question for question, _ in asked] == [f"{QUESTION} {body.candidate.answer}" for body in BODIES]
    for (_, passages), body in zip(asked, BODIES, strict=True):
        assert [p.text for p in passages] == [p.hit.passage.text for p in body.passages]
    once = EmbeddedVerifier(reader).verify(QUESTION, BODIES)
    assert all(a.p_right != b.p_right for a, b in zip(verdicts, once, strict=True))
    assert all(sum(verdict.weights) == pytest.approx(1) for verdict in verdicts)


def test_read_anew_the_other_candidates_of_a_call_change_nothing():
    verifier = RereadingVerifier(sharp_reader())
    together = verifier.verify(QUESTION, BODIES)
    for verdict, body in zip(together, BODIES, strict=True):
        assert list(verdict.p_right) == pytest.approx(score(verifier, body), abs=5e-6)


def test_read_anew_with_nothing_behind_the_question_a_candidate_scores_as_read_once(monkeypatch):
    monkeypatch.setattr("rtv_core.verify.embedded.evidence_query", lambda question, candidate: question)
    reader = sharp_reader()
    for body in BODIES:
        expected = score(EmbeddedVerifier(reader), body)
        assert score(RereadingVerifier(reader), body) == pytest.approx(expected, abs=5e-6)


# What goes in


def slots_of(body: Evidence, reader):
    passages = [p.hit.passage for p in body.passages]
    pairs = {p.id: states.pair for p, states in zip(passages, reader.read(QUESTION, passages), strict=True)}
    (slots,) = evidence_slots([body], pairs)
    return slots, pairs


def test_a_slot_holds_the_tokens_of_each_mention():
    reader = tiny_reader()
    text = "Ana Lind wrote it; Ana’s friend ANA LIND sang. Per Holm heard Ana  Lind."
    hits = hits_of([Passage("1", "", text)])
    slots, pairs = slots_of(evidence_of("Ana Lind", hits=hits), reader)
    found = [text[slice(*pairs["1"].characters_of(*mention))] for mention in slots[0].mentions]
    assert found == ["Ana Lind", "ANA LIND", "Ana  Lind"]


def test_other_spellings_are_mentions_too_and_four_are_enough():
    reader = tiny_reader()
    hits = hits_of([Passage("1", "", "Orla, Karo, Orla, Karo, Orla and Karo")])
    slots, pairs = slots_of(evidence_of("Karo", "Orla", hits=hits), reader)
    starts = [pairs["1"].characters_of(*mention)[0] for mention in slots[0].mentions]
    assert starts == [0, 6, 12, 18]


def test_a_mention_that_was_cut_off_is_none():
    reader = tiny_reader()
    long = Passage("1", "", "the " * 210 + "Karo")
    slots, _ = slots_of(evidence_of("Karo", hits=hits_of([long])), reader)
    assert slots[0].mentions == ()
    assert slots[0].facts[0] == 1.0


def test_the_facts_of_a_passage_are_coverage_scores_rank_mentions_and_title():
    reader = tiny_reader()
    hits = hits_of(
        [
            Passage("1", "Orla", "The hills feed Karo."),
            Passage("2", "", "Orla and Orla."),
            Passage("3", "", "The sun."),
        ]
    )
    slots, _ = slots_of(evidence_of("Orla", hits=hits), reader)
    assert [slot.passage_id for slot in slots] == ["1", "2", "3"]
    assert [slot.facts for slot in slots] == [
        pytest.approx((1, 0.9, math.log(2) / 5, 1, 0, 1)),
        pytest.approx((1, 0.87, math.log(3) / 5, 1 / 2, 0.5, 0)),
        pytest.approx((0, 0.84, math.log(4) / 5, 1 / 3, 0, 0)),
    ]


def test_the_facts_of_all_the_evidence_count_only_the_first_k_passages():
    reader = tiny_reader()
    body = evidence_of("the orla")
    slots, _ = slots_of(body, reader)
    hidden = torch.zeros(600, 32)
    at = {slot.passage_id: 0 for slot in slots}
    covering = [p.hit.rank for p in body.passages if p.covers]
    assert covering == [1]
    by_k = {
        k: verifier_input(reader.network, reader.form, QUESTION, [body], [slots], k, hidden, at).totals[0]
        for k in EVIDENCE_SIZES
    }
    for k, totals in by_k.items():
        assert totals.tolist() == pytest.approx([0.1, math.log(2) / 5, 0.2, 1.0, k / 10])


def test_evidence_that_covers_nothing_has_the_rank_of_no_passage():
    reader = tiny_reader()
    body = evidence_of("Zanzibar")
    slots, _ = slots_of(body, reader)
    x = verifier_input(
        reader.network,
        reader.form,
        QUESTION,
        [body],
        [slots],
        10,
        torch.zeros(600, 32),
        {slot.passage_id: 0 for slot in slots},
    )
    assert x.totals[0].tolist() == pytest.approx([0, math.log(1001) / 5, 0.1, 0, 1])
    assert len(x.mention_pair) == 0


def test_the_loss_of_a_verdict_trains_the_encoder_and_bends_no_head_of_the_recaller():
    network, _, form = tiny_network()
    body = evidence_of(ANSWERS[0][0])
    passages = [p.hit.passage for p in body.passages]
    pairs = dict(zip([p.id for p in passages], form.pairs(QUESTION, passages), strict=True))
    longest = max(len(pair.ids) for pair in pairs.values())
    ids = torch.zeros(len(pairs), longest, dtype=torch.long)
    for row, pair in enumerate(pairs.values()):
        ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
    hidden = network.encode(ids, (ids > 0).long(), torch.zeros_like(ids))
    at = {name: i * longest for i, name in enumerate(pairs)}
    slots = evidence_slots([body], pairs)
    x = verifier_input(network, form, QUESTION, [body], slots, 10, hidden.flatten(0, 1), at)
    network.verify(x)[0][0, 0].backward()
    gradients = {name: p.grad for name, p in network.named_parameters()}
    assert all(
        gradient is None or not gradient.abs().max()
        for name, gradient in gradients.items()
        if name.startswith(("spans.", "relevance."))
    )
    for name in ("encoder.encoder.layer.0.attention.self.query.weight", "verifier.mention.0.weight"):
        assert gradients[name].isfinite().all()
        assert gradients[name].abs().max() > 0

"""Fusion-in-Decoder: what must hold whatever the weights, equation 1 by hand, and that it can learn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from tiny import PASSAGES, QUESTIONS
from tiny_t5 import body_of, shared_t5, tiny_t5

from rtv_core.protocols import Verifier
from rtv_core.reading.t5 import encode_rows, pad_rows
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.verify.fid import (
    FusionVerifier,
    absorbed_step,
    decoder_prefix,
    encode_apart,
    join_states,
    p_right,
    plain_step,
    verifier_row,
)

QUESTION = QUESTIONS[0]
ANSWERS = ("Merin", "Ana Lind and Per Holm", "1887")
CLOSE = {"atol": 2e-6, "rtol": 2e-5}


def rows_of(t5, answer: str, passages=PASSAGES[:4]) -> list[list[int]]:
    return [verifier_row(t5, QUESTION, answer, passage) for passage in passages]


def read(t5, answers=ANSWERS, passages=PASSAGES[:4]):
    """Joined states, mask, prefix and last places of a few candidates on the same passages."""
    states = [encode_apart(t5, rows_of(t5, answer, passages)) for answer in answers]
    return (*join_states(states), *decoder_prefix(t5, answers))


@pytest.mark.parametrize(("tied", "gated"), [(True, False), (False, True)])
@torch.inference_mode()
def test_the_absorbed_step_equals_the_models_own(tied: bool, gated: bool) -> None:
    t5 = tiny_t5("verifier", tied=tied, gated=gated, factor=2.0)
    assert (t5.model.lm_head.weight is t5.model.shared.weight) == tied
    joined, mask, prefix, last = read(t5)
    plain = plain_step(t5.model, joined, mask, prefix, last, t5.label_ids)
    absorbed, shares = absorbed_step(t5.model, joined, mask, prefix, last, t5.label_ids)
    torch.testing.assert_close(absorbed, plain, atol=1e-4, rtol=1e-4)
    assert plain.std() > 1e-3, "the candidates must differ for this to say anything"
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(len(ANSWERS)))
    assert not shares[mask == 0].any()


@torch.inference_mode()
def test_the_attention_shares_are_those_of_the_models_own_cross_attention() -> None:
    t5 = tiny_t5("verifier", factor=2.0)
    t5.model.set_attn_implementation("eager")
    joined, mask, prefix, last = read(t5)
    out = t5.model(
        encoder_outputs=(joined,), attention_mask=mask, decoder_input_ids=prefix, output_attentions=True
    )
    own = torch.stack(out.cross_attentions)  # (layers, candidates, heads, longest, tokens)
    own = own.mean(dim=(0, 2))[torch.arange(len(ANSWERS)), last]
    _, shares = absorbed_step(t5.model, joined, mask, prefix, last, t5.label_ids)
    torch.testing.assert_close(shares, own, **CLOSE)


@torch.inference_mode()
def test_one_passage_equals_a_plain_t5() -> None:
    t5 = shared_t5("verifier")
    (row,) = rows_of(t5, "Merin", PASSAGES[:1])
    prefix = torch.tensor([[t5.start, *t5.words("Merin is")]])
    plain = t5.model(input_ids=torch.tensor([row]), decoder_input_ids=prefix).logits[0, -1]
    (verdict,) = FusionVerifier(t5).verify(QUESTION, [body_of("Merin", PASSAGES[:1])])
    right, wrong = (float(plain[t5.words(word)[0]]) for word in ("right", "wrong"))
    assert verdict.p_right == pytest.approx([math.exp(right) / (math.exp(right) + math.exp(wrong))] * 3)
    assert verdict.weights == pytest.approx([1.0])


def test_equation_one_by_hand() -> None:
    logits = torch.tensor([[math.log(3.0), 0.0], [0.0, math.log(3.0)], [-4.0, -4.0]])
    assert p_right(logits).tolist() == pytest.approx([3 / 4, 1 / 4, 1 / 2])


@torch.inference_mode()
def test_padding_a_passage_changes_nothing() -> None:
    t5 = shared_t5("verifier")
    row = rows_of(t5, "Merin", PASSAGES[:1])[0]
    (alone,) = encode_apart(t5, [row])
    longer = [*row, *row]
    ids, mask = pad_rows([row, longer])
    padded = encode_rows(t5.model, ids, mask)[0, : len(row)]
    torch.testing.assert_close(padded, alone, **CLOSE)


@torch.inference_mode()
def test_an_empty_place_in_the_joined_states_changes_nothing() -> None:
    t5 = shared_t5("verifier")
    joined, mask, prefix, last = read(t5, ("Merin",))
    wider = torch.cat([joined, torch.full_like(joined[:, :7], 9.0)], dim=1)
    closed = torch.cat([mask, torch.zeros_like(mask[:, :7])], dim=1)
    for step in (plain_step, lambda *given: absorbed_step(*given)[0]):
        one = step(t5.model, joined, mask, prefix, last, t5.label_ids)
        other = step(t5.model, wider, closed, prefix, last, t5.label_ids)
        torch.testing.assert_close(other, one, **CLOSE)


def test_the_order_of_passages_changes_nothing_but_the_order_of_their_shares() -> None:
    verifier = FusionVerifier(shared_t5("verifier"))
    forward, backward = PASSAGES[:6], PASSAGES[:6][::-1]
    one, other = verifier.verify(QUESTION, [body_of("Merin", forward), body_of("Merin", backward)])
    assert other.at(10) == pytest.approx(one.at(10), abs=1e-6)
    assert other.weights == pytest.approx(one.weights[::-1], abs=1e-6)
    assert other.at(1) != pytest.approx(one.at(1), abs=1e-6), "another first passage is other evidence"


def test_a_batch_equals_its_candidates_one_by_one_whatever_the_bound() -> None:
    t5 = shared_t5("verifier")
    bodies = [
        body_of("Merin", PASSAGES[:3]),
        body_of("Ana Lind and Per Holm", PASSAGES[:9]),
        body_of("1887", ()),
        body_of("oats", PASSAGES[2:12]),
    ]
    verifier = FusionVerifier(t5)
    singles = [verifier.verify(QUESTION, [body])[0] for body in bodies]
    for bound in (1, 150, 100_000):
        batch = FusionVerifier(replace(t5, batch_tokens=bound)).verify(QUESTION, bodies)
        for one, other in zip(singles, batch, strict=True):
            assert other.p_right == pytest.approx(one.p_right, abs=1e-6)
            assert other.weights == pytest.approx(one.weights, abs=1e-6)
    assert isinstance(verifier, Verifier)


def test_each_evidence_size_scores_the_first_passages_only() -> None:
    verifier = FusionVerifier(shared_t5("verifier"))
    (whole,) = verifier.verify(QUESTION, [body_of("Merin", PASSAGES[:10])])
    for k in EVIDENCE_SIZES:
        (cut,) = verifier.verify(QUESTION, [body_of("Merin", PASSAGES[:k])])
        assert whole.at(k) == pytest.approx(cut.at(10), abs=1e-6)
    assert len(set(whole.p_right)) == len(EVIDENCE_SIZES)
    assert len(whole.weights) == 10
    assert sum(whole.weights) == pytest.approx(1)


def test_a_candidate_without_evidence_scores_nothing() -> None:
    (verdict,) = FusionVerifier(shared_t5("verifier")).verify(QUESTION, [body_of("Merin", ())])
    assert verdict.p_right == (0.0, 0.0, 0.0)
    assert verdict.weights == ()
    assert FusionVerifier(shared_t5("verifier")).verify(QUESTION, []) == []


def test_bfloat16_scores_come_near_those_of_float32() -> None:
    t5 = tiny_t5("verifier")
    body = body_of("Merin", PASSAGES[:5])
    (exact,) = FusionVerifier(t5).verify(QUESTION, [body])
    t5.model.to(torch.bfloat16)
    (rounded,) = FusionVerifier(t5).verify(QUESTION, [body])
    assert rounded.p_right == pytest.approx(exact.p_right, abs=0.05)
    assert sum(rounded.weights) == pytest.approx(1, abs=0.01)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_cuda_scores_come_near_those_of_the_processor() -> None:
    t5 = tiny_t5("verifier")
    body = body_of("Merin", PASSAGES[:5])
    (here,) = FusionVerifier(t5).verify(QUESTION, [body])
    t5.model.to("cuda")
    (there,) = FusionVerifier(t5).verify(QUESTION, [body])
    assert there.p_right == pytest.approx(here.p_right, abs=1e-3)


def test_what_is_read_has_the_papers_form() -> None:
    t5 = shared_t5("verifier")
    row = verifier_row(t5, "who sang {title}", "a </s> b", PASSAGES[1])
    text = t5.text(row)
    assert text.startswith("question: who sang {title} prediction: a </s> b title: Velda (opera) context: ")
    assert row.count(t5.end) == 1
    assert row[-1] == t5.end
    long = verifier_row(t5, QUESTION, "Merin", replace(PASSAGES[0], text=PASSAGES[0].text * 50))
    assert len(long) == 280
    assert long[-1] == t5.end

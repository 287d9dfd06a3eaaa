"""The embedded verifier: scores a candidate from the states that were read for recall, reading nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rtv_core.evidence import evidence_query
from rtv_core.reading.form import InputForm, Pair
from rtv_core.reading.network import (
    ALL_TOTALS,
    PAIR_FACTS,
    TOTAL_FACTS,
    ReaderNetwork,
    VerifierInput,
)
from rtv_core.reading.reader import Reader, States
from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, EvidencePassage, Verdict
from rtv_core.text import covers_any, find_answer
from rtv_core.verify.asked import asked_share

__all__ = [
    "FACTS",
    "EmbeddedVerifier",
    "RereadingVerifier",
    "Slot",
    "evidence_slots",
    "reread_evidence",
    "verifier_input",
]

MENTIONS_A_PASSAGE = 4

FACTS = 1 + ALL_TOTALS + 1
"""What a calibration weighs: the difference of the logits, the totals, the share of what is asked."""


class EmbeddedVerifier:
    """A validity score per candidate: softmax over the logits of "right" and "wrong", calibrated on dev.

    A softmax over two logits is the logistic function of their difference d. A calibration holds, for each
    evidence size, offset, slope and one weight per fact: the score is then the logistic function of
    offset + slope * d + weights . facts, the facts being what the candidate's own evidence amounts to: the
    totals that the network sees, too (see `ReaderNetwork.verify`), and `asked_share`. Without a calibration
    only d counts; one that was made before the last facts were known gives them no weight.
    """

    def __init__(self, reader: Reader, calibration: Sequence[Sequence[float]] | None = None) -> None:
        self._reader = reader
        rows = calibration or [[0.0, 1.0]] * len(EVIDENCE_SIZES)
        self._calibration = torch.tensor(
            [[*row, *[0.0] * (1 + FACTS - len(row))] for row in rows], dtype=torch.float32
        )

    @torch.inference_mode()
    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        """One verdict per body of evidence; a candidate without evidence scores 0."""
        scored = [i for i, body in enumerate(evidence) if body.passages]
        verdicts = [Verdict((0.0,) * len(EVIDENCE_SIZES)) for _ in evidence]
        if not scored:
            return verdicts
        bodies = [evidence[i] for i in scored]
        read = self._read(question, bodies)
        columns = [
            (facts @ row[1:] + row[0]).sigmoid()
            for (facts, _), row in zip(read, self._calibration, strict=True)
        ]
        p_right, weights = torch.stack(columns, dim=1).tolist(), read[-1][1]
        for row, i in enumerate(scored):
            shares = weights[row, : len(bodies[row].passages)].tolist()
            verdicts[i] = Verdict(tuple(p_right[row]), tuple(shares))
        return verdicts

    @torch.inference_mode()
    def calibration_facts(self, question: str, evidence: Sequence[Evidence]) -> np.ndarray:
        """What a calibration is fitted on: d and the facts, (evidence sizes, candidates, `FACTS`)."""
        if not evidence:
            return np.zeros((len(EVIDENCE_SIZES), 0, FACTS), np.float32)
        return torch.stack([facts for facts, _ in self._read(question, evidence)]).numpy()

    def _read(self, question: str, bodies: Sequence[Evidence]) -> list[tuple[Tensor, Tensor]]:
        """Per evidence size: right minus wrong and facts, (candidates, `FACTS`), and attention shares."""
        bodies, read = self._states(question, bodies)
        pairs = {name: states.pair for name, states in read.items()}
        hidden, at, start = torch.cat([states.hidden for states in read.values()]).float(), {}, 0
        for name, states in read.items():
            at[name], start = start, start + len(states.hidden)
        network, form = self._reader.network, self._reader.form
        slots, found = evidence_slots(bodies, pairs), []
        for k in EVIDENCE_SIZES:
            x = verifier_input(network, form, question, bodies, slots, k, hidden, at)
            logits, weights, totals = network.verify(x)
            asked = [[asked_share(question, body.candidate, body.passages[:k])] for body in bodies]
            facts = torch.cat([logits[:, :1] - logits[:, 1:], totals, torch.tensor(asked)], dim=1)
            found.append((facts, weights))
        return found

    def _states(
        self, question: str, bodies: Sequence[Evidence]
    ) -> tuple[Sequence[Evidence], dict[str, States]]:
        """The evidence, and the states of its passages by their ids."""
        passages = {p.hit.passage.id: p.hit.passage for body in bodies for p in body.passages}
        read = self._reader.read(question, list(passages.values()))
        return bodies, dict(zip(passages, read, strict=True))


class RereadingVerifier(EmbeddedVerifier):
    """Reads the evidence of each candidate anew, with the candidate behind the question.

    For comparison: as a Fusion-in-Decoder verifier does, at |A| x k readings a question. The network must
    have been trained so (`VerifierPlan.reread`).
    """

    def _states(
        self, question: str, bodies: Sequence[Evidence]
    ) -> tuple[Sequence[Evidence], dict[str, States]]:
        apart, read = reread_evidence(bodies), {}
        for body in apart:
            passages = [p.hit.passage for p in body.passages]
            states = self._reader.read(evidence_query(question, body.candidate), passages)
            read |= {passage.id: own for passage, own in zip(passages, states, strict=True)}
        return apart, read


def reread_evidence(bodies: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with passages of its own for each candidate: their ids begin with its place."""
    return [
        replace(body, passages=tuple(_renamed(passage, str(place)) for passage in body.passages))
        for place, body in enumerate(bodies)
    ]


def _renamed(passage: EvidencePassage, prefix: str) -> EvidencePassage:
    own = replace(passage.hit.passage, id=f"{prefix} {passage.hit.passage.id}")
    return replace(passage, hit=replace(passage.hit, passage=own))


@dataclass(frozen=True, slots=True)
class Slot:
    """One evidence passage as the verifier sees it: first and last token of each mention, and its facts."""

    passage_id: str
    mentions: tuple[tuple[int, int], ...]
    facts: tuple[float, ...]


def evidence_slots(evidence: Sequence[Evidence], pairs: Mapping[str, Pair]) -> list[list[Slot]]:
    """The slots of each body of evidence; `pairs` holds the tokens of every passage, by id."""
    return [[_slot(passage, body.candidate, pairs) for passage in body.passages] for body in evidence]


def verifier_input(
    network: ReaderNetwork,
    form: InputForm,
    question: str,
    evidence: Sequence[Evidence],
    slots: Sequence[Sequence[Slot]],
    k: int,
    hidden: Tensor,
    at: Mapping[str, int],
) -> VerifierInput:
    """The verifier's input for candidates with evidence, each cut to its first `k` passages.

    `hidden` (tokens, width) holds the states of all passages, each from row `at[passage_id]` on.
    """
    cut = [(c, place, slot) for c, own in enumerate(slots) for place, slot in enumerate(own[:k])]
    mentions = [
        (row, at[slot.passage_id] + first, at[slot.passage_id] + last)
        for row, (_, _, slot) in enumerate(cut)
        for first, last in slot.mentions
    ]
    mention = torch.tensor(mentions, dtype=torch.long).reshape(-1, 3)
    return VerifierInput(
        states=hidden,
        cls=torch.tensor([at[slot.passage_id] for _, _, slot in cut], dtype=torch.long),
        mention_pair=mention[:, 0],
        mention_start=mention[:, 1],
        mention_end=mention[:, 2],
        facts=torch.tensor([slot.facts for _, _, slot in cut]).reshape(-1, PAIR_FACTS),
        candidate=torch.tensor([c for c, _, _ in cut], dtype=torch.long),
        place=torch.tensor([place for _, place, _ in cut], dtype=torch.long),
        words=network.mean_words([form.words(body.candidate.answer) for body in evidence]),
        totals=torch.tensor(
            [_total_facts(question, body.candidate, body.passages[:k]) for body in evidence]
        ).reshape(-1, TOTAL_FACTS),
    )


def _slot(passage: EvidencePassage, candidate: Candidate, pairs: Mapping[str, Pair]) -> Slot:
    mentions = _mentions(passage, candidate, pairs[passage.hit.passage.id])
    facts = _pair_facts(passage, candidate, len(mentions))
    return Slot(passage.hit.passage.id, tuple(mentions), tuple(facts))


def _mentions(passage: EvidencePassage, candidate: Candidate, pair: Pair) -> list[tuple[int, int]]:
    """First and last token of the candidate's mentions in a passage's text, left to right."""
    text = passage.hit.passage.text
    places = sorted({place for spelling in candidate.spellings for place in find_answer(text, spelling)})
    tokens = [pair.tokens_of(start, end) for start, end in places]
    return [both for both in tokens if both is not None][:MENTIONS_A_PASSAGE]


def _pair_facts(passage: EvidencePassage, candidate: Candidate, mentions: int) -> list[float]:
    hit = passage.hit
    return [
        float(bool(passage.covers)),
        hit.dense,
        math.log1p(hit.rank) / 5,
        1 / hit.rank,
        mentions / MENTIONS_A_PASSAGE,
        float(covers_any(hit.passage.title, candidate.spellings)),
    ]


def _total_facts(question: str, candidate: Candidate, passages: Sequence[EvidencePassage]) -> list[float]:
    """Facts of the evidence at hand only: taking a passage away must change them."""
    ranks = [p.hit.rank for p in passages if p.covers]
    return [
        len(ranks) / max(EVIDENCE_SIZES),
        math.log1p(min(ranks, default=1000)) / 5,
        min(len(candidate.answer.split()), 20) / 10,
        float(covers_any(question, candidate.spellings)),
        len(passages) / max(EVIDENCE_SIZES),
    ]

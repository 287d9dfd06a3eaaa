"""Second stage: recaller and verifier together, on what the retriever returns and the recaller proposes.

Run: python -m rtv_core train verifier --data DIR --index DIR --from DIR --out DIR

A step reads a few retrieved passages of each of a few questions once. The recaller learns from every passage
whose answers are known; its own proposals become candidates, gather their evidence among the same passages,
and the verifier learns which of them are right, through the same states.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from rtv_core.evidence import evidence_query, rank_evidence
from rtv_core.reading.form import InputForm, Pair, pad
from rtv_core.reading.network import ReaderNetwork, VerifierInput
from rtv_core.recall.extractive import propose_spans
from rtv_core.recall.merge import unite
from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, Hit, Passage, Reading, Span
from rtv_core.settings import EvidenceSettings, RecallerSettings
from rtv_core.text import same_answer
from rtv_core.training.examples import Example, answer_spans
from rtv_core.training.loop import LoopSettings, plan_name, run_steps
from rtv_core.training.losses import (
    mean_where,
    relevance_loss,
    single_span_loss,
    span_loss,
    span_targets,
)
from rtv_core.training.recaller import Item, RecallerPlan, plan_recaller, recall_losses
from rtv_core.verify.embedded import evidence_slots, reread_evidence, verifier_input

__all__ = ["SECOND_STAGE", "Group", "VerifierPlan", "plan_verifier", "train_verifier", "verify_losses"]


RANDOM_SPANS = 10
"""So many wrong candidates of a passage are drawn where none are proposed."""

REHEARSED = 0.3
"""What the losses of the first stage weigh beside those of the second."""

SECOND_STAGE = LoopSettings(encoder_rate=7e-5, head_rate=6e-4, checkpoint_every=100)
"""How a trained recaller is trained on: to our verifier, and to the baselines that it is compared with."""


@dataclass(frozen=True, slots=True)
class VerifierPlan:
    """`passages` read per question, `questions` per step, at most `invalid` wrong candidates per right one.

    `unanswered` is the share of questions whose answering passages are taken away, so that nothing is right;
    of a question that only seems to be answered nothing ever is.
    `shares` is how many questions of each set are seen, `repeats` how often; of the sets in `fewer` only so
    many passages are read. Each step also reads `rehearsed` pairs as the first stage does, so that reading is
    not forgotten. For comparison: with `single_span` the spans of a passage compete; without `own_candidates`
    the candidates are known answers and spans drawn at random, not the recaller's proposals; with `reread`
    the evidence is read again for each candidate (see `RereadingVerifier`).
    """

    passages: int = 12
    questions: int = 3
    invalid: int = 10
    unanswered: float = 0.2
    shares: tuple[tuple[str, int], ...] = (
        ("ambignq", 900),
        ("multispanqa", 999),
        ("nq", 9999),
        ("quoref", 50),
        ("re-docred", 200),
        ("squad", 350),
        ("squad-2.0", 700),
        ("webquestions", 100),
    )
    repeats: tuple[tuple[str, int], ...] = (("multispanqa", 4), ("nq", 2))
    fewer: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    rehearsed: int = field(default=0, repr=False)
    single_span: bool = field(default=False, repr=False)
    own_candidates: bool = field(default=True, repr=False)
    reread: bool = field(default=False, repr=False)
    seed: int = 2


@dataclass(frozen=True, slots=True)
class Group:
    """One question with the passages that are read for it.

    `statuses[i]` is "positive", "negative" or "unknown" (see `Example.status`), `spans[i]` the answers in a
    positive passage. `k` is the evidence size the verifier is trained with this time.
    """

    question: str
    answers: tuple[tuple[str, ...], ...]
    hits: tuple[Hit, ...]
    statuses: tuple[str, ...]
    spans: tuple[tuple[tuple[int, int], ...], ...]
    k: int


def plan_verifier(
    examples: Sequence[Example], passages: Sequence[Passage], plan: VerifierPlan
) -> list[list[Group]]:
    """The steps of one run, in order."""
    rng, shares, repeats = random.Random(plan.seed), dict(plan.shares), dict(plan.repeats)
    chosen: list[Example] = []
    for name in sorted({e.set for e in examples}):
        some = [e for e in examples if e.set == name]
        rng.shuffle(some)
        chosen += some[: shares.get(name, 0)] * repeats.get(name, 1)
    rng.shuffle(chosen)
    groups = [draw_group(example, passages, plan, rng) for example in chosen]
    return [groups[i : i + plan.questions] for i in range(0, len(groups), plan.questions)]


def draw_group(
    example: Example, passages: Sequence[Passage], plan: VerifierPlan, rng: random.Random
) -> Group:
    """Some of a question's passages: answering ones (at most four), the best ranked, a few deeper ones."""
    most = dict(plan.fewer).get(example.set, plan.passages)
    places = {row: place for place, row in enumerate(example.rows)}
    status = {
        row: example.status(row, place + 1, passages[row]) for row, place in places.items() if place < 30
    }
    for row in example.gold:
        status[row] = example.status(row, None, passages[row])
    positive = [row for row, value in status.items() if value == "positive"]
    positive.sort(key=lambda row: (row not in example.gold, places.get(row, len(places))))
    wanted = [] if rng.random() < plan.unanswered else positive[:4]
    if not example.answers:
        wanted = list(example.gold[:2])
    banned = set(positive) - set(wanted)
    rest = [row for row in example.rows if row not in banned and row not in wanted]
    top = rest[: most // 2]
    deep = rest[most // 2 :]
    # The square draws well ranked passages more often.
    drawn = {deep[int(len(deep) * rng.random() ** 2)] for _ in range(most)} if deep else set()
    rows = list(dict.fromkeys([*wanted, *top, *sorted(drawn, key=places.__getitem__)]))[:most]
    # A context that the retriever did not return is read as one of the worst ranked.
    rows.sort(key=lambda row: places.get(row, len(places)))
    hits, statuses, spans = [], [], []
    for row in rows:
        place = places.get(row, len(places) - 1)
        dense = example.dense[place]
        hits.append(Hit(passages[row], dense, 0.0, place + 1, None, place + 1))
        found = status.get(row) or example.status(row, place + 1, passages[row])
        statuses.append(found)
        spans.append(tuple(answer_spans(passages[row], example.answers)) if found == "positive" else ())
    k = rng.choice((*EVIDENCE_SIZES, EVIDENCE_SIZES[-1]))
    return Group(example.text, example.answers, tuple(hits), tuple(statuses), tuple(spans), k)


def verify_losses(
    network: ReaderNetwork,
    form: InputForm,
    groups: Sequence[Group],
    plan: VerifierPlan,
    rng: random.Random,
) -> dict[str, Tensor]:
    """Span and relevance loss of every passage read, and the verifier's cross-entropy, of a few questions."""
    pairs = [form.pairs(group.question, [hit.passage])[0] for group in groups for hit in group.hits]
    ids, mask, segments = (torch.from_numpy(part) for part in pad(pairs))
    hidden = network.encode(ids, mask, segments)  # (pairs, tokens, width)
    scores = network.spans(hidden)
    relevance = network.relevant(hidden[:, 0])

    statuses = [status for group in groups for status in group.statuses]
    known = torch.tensor([status != "unknown" for status in statuses])
    relevant = torch.tensor([status == "positive" for status in statuses])
    spans = [span for group in groups for span in group.spans]
    possible, wanted = span_targets(pairs, spans, scores.shape[1], scores.shape[2])
    taught = known & (~relevant | wanted.flatten(1).any(dim=1))
    loss = single_span_loss if plan.single_span else span_loss
    losses = {
        "span": 0.5 * mean_where(loss(scores, possible, wanted), taught),
        "relevance": 0.5 * mean_where(relevance_loss(relevance, relevant), known),
    }

    logits, labels, start = [], [], 0
    flat, tokens = hidden.flatten(0, 1), hidden.shape[1]
    for group in groups:
        rows = range(start, start + len(group.hits))
        start += len(group.hits)
        read = [pairs[i] for i in rows]
        drawn = None if plan.own_candidates else rng
        evidence, right = _candidates(group, read, scores[rows.start : rows.stop], relevance, rows, drawn)
        evidence, right = _thin(evidence, right, plan.invalid, rng)
        if not evidence:
            continue
        if plan.reread:
            x = _read_again(network, form, group, evidence)
        else:
            at = {hit.passage.id: i * tokens for hit, i in zip(group.hits, rows, strict=True)}
            own = {hit.passage.id: pairs[i] for hit, i in zip(group.hits, rows, strict=True)}
            slots = evidence_slots(evidence, own)
            x = verifier_input(network, form, group.question, evidence, slots, group.k, flat, at)
        logits.append(network.verify(x)[0])
        labels += right
    if logits:
        # Class 0 is "right", class 1 "wrong".
        target = torch.tensor([0 if right else 1 for right in labels])
        losses["verify"] = 2.0 * torch.nn.functional.cross_entropy(torch.cat(logits), target)
    return losses


def _read_again(
    network: ReaderNetwork, form: InputForm, group: Group, evidence: Sequence[Evidence]
) -> VerifierInput:
    """The verifier's input from states that are read for each candidate, as `RereadingVerifier` does."""
    apart = reread_evidence([replace(body, passages=body.passages[: group.k]) for body in evidence])
    own = {
        passage.hit.passage.id: form.pairs(
            evidence_query(group.question, body.candidate), [passage.hit.passage]
        )[0]
        for body in apart
        for passage in body.passages
    }
    ids, mask, segments = (torch.from_numpy(part) for part in pad(list(own.values())))
    hidden = network.encode(ids, mask, segments)
    at = {name: row * hidden.shape[1] for row, name in enumerate(own)}
    slots = evidence_slots(apart, own)
    return verifier_input(network, form, group.question, apart, slots, group.k, hidden.flatten(0, 1), at)


@torch.no_grad()
def _candidates(
    group: Group,
    pairs: Sequence[Pair],
    scores: Tensor,
    relevance: Tensor,
    rows: range,
    drawn: random.Random | None = None,
) -> tuple[list[Evidence], list[bool]]:
    """The recaller's candidates of one question with their evidence, and which are right.

    With `drawn`, known answers and spans drawn at random stand for the recaller's proposals.

    Left out are those of which nothing is known: an answer where no passage is known to support it, and
    another one that only passages of unknown status gave.
    """
    relevant = relevance[rows.start : rows.stop].sigmoid().tolist()
    plain = scores.float().numpy()
    readings = []
    for i, hit in enumerate(group.hits):
        if drawn is None:
            spans = propose_spans(plain[i], pairs[i], hit.passage)
        else:
            spans = _random_spans(plain[i], pairs[i], group.spans[i], drawn)
        readings.append(Reading(hit.passage.id, relevant[i], spans))
    candidates = unite(group.hits, readings, RecallerSettings(relevance=0.0, span=0.0, candidates=60))
    similarity = [hit.dense for hit in group.hits]
    rule = EvidenceSettings().coverage
    evidence = [
        rank_evidence(candidate, evidence_query(group.question, candidate), group.hits, similarity, rule)
        for candidate in candidates
    ]
    right = [_is_right(candidate, group.answers) for candidate in candidates]
    known = {
        h.passage.id for h, status in zip(group.hits, group.statuses, strict=True) if status != "unknown"
    }
    answered = "positive" in group.statuses
    kept = [
        i
        for i, candidate in enumerate(candidates)
        if (answered if right[i] else any(source.passage_id in known for source in candidate.sources))
    ]
    return [evidence[i] for i in kept], [right[i] for i in kept]


def _random_spans(
    scores: np.ndarray, pair: Pair, answers: Sequence[tuple[int, int]], rng: random.Random
) -> tuple[Span, ...]:
    """The answers of a passage and `RANDOM_SPANS` other runs of up to six tokens, with their own scores."""
    tokens, found = len(pair.offsets), {}
    runs = [touched for start, end in answers if (touched := pair.tokens_of(start, end))]
    for _ in range(RANDOM_SPANS):
        first = pair.text_at + rng.randrange(tokens)
        runs.append((first, min(first + rng.randrange(6), pair.text_at + tokens - 1)))
    for first, last in runs:
        if last - first < scores.shape[1]:
            found[pair.characters_of(first, last)] = float(expit(scores[first, last - first]))
    return tuple(Span(start, end, score) for (start, end), score in found.items())


def _rehearsed(
    examples: Sequence[Example], passages: Sequence[Passage], plan: VerifierPlan, steps: int
) -> list[list[Item]]:
    """The pairs that each step reads besides: every example in turn, and again if there are few."""
    if not plan.rehearsed:
        return []
    read = RecallerPlan(alpha_neg=0.1, batch=plan.rehearsed, repeats=plan.repeats, seed=plan.seed)
    batches = plan_recaller(examples, passages, read)
    return [batches[step % len(batches)] for step in range(steps)]


def _is_right(candidate: Candidate, answers: Sequence[Sequence[str]]) -> bool:
    return any(
        same_answer(own, spelling)
        for own in candidate.spellings
        for spellings in answers
        for spelling in spellings
    )


def _thin(
    evidence: list[Evidence], right: list[bool], invalid: int, rng: random.Random
) -> tuple[list[Evidence], list[bool]]:
    """Drop wrong candidates beyond `invalid` per right one (or beyond `invalid`, where none is right)."""
    wrong = [i for i, value in enumerate(right) if not value]
    most = invalid * max(1, len(right) - len(wrong))
    kept = sorted(
        set(rng.sample(wrong, min(most, len(wrong)))) | {i for i, value in enumerate(right) if value}
    )
    return [evidence[i] for i in kept], [right[i] for i in kept]


def train_verifier(
    network: ReaderNetwork,
    form: InputForm,
    examples: Sequence[Example],
    passages: Sequence[Passage],
    folder: Path,
    plan: VerifierPlan | None = None,
    loop: LoopSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, object]:
    """Train the whole network in place; returns what goes into the card."""
    plan = plan or VerifierPlan()
    torch.manual_seed(plan.seed)
    steps = list(enumerate(plan_verifier(examples, passages, plan)))
    rehearsed = _rehearsed(examples, passages, plan, len(steps))

    def losses(step: tuple[int, list[Group]]) -> dict[str, Tensor]:
        # Seeded by the step, so that a resumed run draws what an unbroken one would have drawn.
        number, groups = step
        rng = random.Random(f"{plan.seed}-{number}")
        found = verify_losses(network, form, groups, plan, rng)
        if rehearsed:
            again = recall_losses(network, form, rehearsed[number], plan.single_span)
            found |= {f"rehearsed {name}": REHEARSED * value for name, value in again.items()}
        return found

    run_steps(network, steps, losses, folder, loop or SECOND_STAGE, progress, plan_name(plan))
    return {
        "questions": sum(len(groups) for _, groups in steps),
        "passages_a_question": plan.passages,
        "steps": len(steps),
        "invalid_per_valid": plan.invalid,
        "seed": plan.seed,
    }

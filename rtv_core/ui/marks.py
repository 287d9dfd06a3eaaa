"""What the page marks on each candidate: its place under each k, the gold it equals, what a person said."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rtv_core.records import EVIDENCE_SIZES, Hit, Judgement, Question, Trace
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.text import COVERAGE_RULES, answer_key, covers, normalise_answer
from rtv_core.thresholds import judge
from rtv_core.wire import from_json

__all__ = [
    "Places",
    "Row",
    "candidate_key",
    "candidate_rows",
    "covering",
    "extra_rows",
    "gold_answers",
    "is_given",
    "latest",
    "made_with",
    "proposed_gold",
    "score_places",
]

EVERYTHING = -1.0
"""A threshold that every score passes: under it, only a repeat of a better candidate is not accepted."""


Places = tuple[Mapping[int, tuple[int, bool]], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One answer as the page lists it.

    `index` is its place in `Trace.candidates`, None for an answer that was not recalled. `ranks` are the
    passages that gave it, `evidence_ranks` those gathered for it. `p_right`, `places` and `keeps` have one
    entry per evidence size, none before the candidate is verified; a place is its rank by score, from 0, and
    `keeps` is False for a repeat of a better candidate. `gold` lists the gold answers it equals, by index.
    """

    key: str
    answer: str
    index: int | None = None
    spellings: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence_ranks: tuple[int, ...] = ()
    p_right: tuple[float, ...] = ()
    places: tuple[int, ...] = ()
    keeps: tuple[bool, ...] = ()
    gold: tuple[int, ...] = ()
    judgement: Judgement | None = None


def candidate_key(answer: str) -> str:
    """A short id that the spellings of one answer share and that says nothing else."""
    key = answer_key(answer) or answer.strip()
    return hashlib.blake2s(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


def is_given(trace: Trace) -> bool:
    """Whether the trace holds nothing but the answers that another system gave, perhaps with its passages."""
    return "system" in trace.provenance and trace.stage == "recalled" and not trace.readings


def made_with(provenance: Mapping[str, str]) -> Settings | None:
    """The settings that a trace or run was made with; None for another system's, or of another version."""
    try:
        return from_json(Settings, provenance["settings"])
    except (KeyError, ValueError, TypeError):
        return None


def proposed_gold(gold: Sequence[Sequence[str]], row: Row) -> int | None:
    """The place of the gold answer that a row may be; None if there is none. A proposal: a person decides.

    It is what was said before, else what the answer equals, else the only one there is.
    """
    said = row.judgement.gold if row.judgement else ""
    chosen = next((i for i, known in enumerate(gold) if said and said in known), None)
    if chosen is None and (row.gold or len(gold) == 1):
        return row.gold[0] if row.gold else 0
    return chosen


def gold_answers(question: Question) -> tuple[tuple[str, ...], ...]:
    """The distinct gold answers over all annotations, each with all its spellings."""
    united: list[tuple[str, ...]] = []
    for spellings in (answer for annotation in question.answers for answer in annotation if answer):
        same = (i for i, known in enumerate(united) if _names(known) & _names(spellings))
        if (i := next(same, None)) is None:
            united.append(spellings)
        else:
            united[i] = tuple(dict.fromkeys(united[i] + spellings))
    return tuple(united)


def latest(judgements: Sequence[Judgement]) -> dict[str, Judgement]:
    """The first of each answer's judgements, newest first as the store gives them, by candidate key."""
    return {candidate_key(j.answer): j for j in reversed(judgements)}


def score_places(trace: Trace) -> Places:
    """For each evidence size, the place of each verified candidate and whether it repeats no better one.

    It compares every two candidates: keep it with the trace where rows are made again and again.
    """
    return tuple(_places(trace, size) for size in EVIDENCE_SIZES)


def candidate_rows(
    trace: Trace, judgements: Sequence[Judgement] = (), k: int = 10, places: Places | None = None
) -> tuple[Row, ...]:
    """The candidates, verified ones first in the order of their score from `k` passages, then the others."""
    gold, said = [_names(g) for g in gold_answers(trace.question)], latest(judgements)
    ranks = score_places(trace) if places is None else places
    rows = []
    for i, candidate in enumerate(trace.candidates):
        key = candidate_key(candidate.answer)
        row = Row(
            key=key,
            answer=candidate.answer,
            index=i,
            spellings=candidate.spellings[1:],
            ranks=tuple(sorted({source.rank for source in candidate.sources})),
            gold=_equal_gold(candidate.spellings, gold),
            judgement=said.get(key),
        )
        if i < len(trace.evidence):
            row = replace(row, evidence_ranks=tuple(p.hit.rank for p in trace.evidence[i].passages))
        if i < len(trace.verdicts):
            row = replace(
                row,
                p_right=trace.verdicts[i].p_right,
                places=tuple(by_k[i][0] for by_k in ranks),
                keeps=tuple(by_k[i][1] for by_k in ranks),
            )
        rows.append(row)
    at = EVIDENCE_SIZES.index(k)
    return tuple(sorted(rows, key=lambda row: (not row.places, row.places[at] if row.places else row.index)))


def extra_rows(trace: Trace, judgements: Sequence[Judgement] = ()) -> tuple[Row, ...]:
    """Answers that nobody recalled: gold that is missing, once recall is done, and answers a person added."""
    gold, said = gold_answers(trace.question), latest(judgements)
    names = [_names(spellings) for spellings in gold]
    recalled = {candidate_key(spelling) for c in trace.candidates for spelling in c.spellings}
    found = {i for c in trace.candidates for i in _equal_gold(c.spellings, names)}
    rows = {}
    if is_given(trace) or (len(trace.readings) == len(trace.hits) and trace.hits):
        for i, spellings in enumerate(gold):
            if i not in found:
                key = candidate_key(spellings[0])
                rows[key] = Row(
                    key, spellings[0], spellings=spellings[1:], gold=(i,), judgement=said.get(key)
                )
    for key, judgement in said.items():
        if key not in recalled and key not in rows:
            equal = _equal_gold((judgement.answer,), names)
            rows[key] = Row(key, judgement.answer, gold=equal, judgement=judgement)
    return tuple(rows.values())


def covering(hits: Sequence[Hit], spellings: Sequence[str]) -> list[tuple[Hit, tuple[str, ...]]]:
    """The passages that cover an answer, with the names of the rules by which they do, in rank order."""
    found = []
    for hit in hits:
        text = f"{hit.passage.title} {hit.passage.text}"
        if rules := tuple(r for r in COVERAGE_RULES if any(covers(text, s, r) for s in spellings)):
            found.append((hit, rules))
    return found


def _places(trace: Trace, k: int) -> dict[int, tuple[int, bool]]:
    predictions = judge(trace, VerifierSettings(tau=EVERYTHING, k=k))
    return {p.index: (place, p.accepted) for place, p in enumerate(predictions)}


def _names(spellings: Sequence[str]) -> frozenset[tuple[str, str]]:
    """What spellings of one answer share, as in `text.same_answer`: made once, compared often."""
    return frozenset(
        name
        for s in spellings
        for name in (("key", answer_key(s)), ("plain", normalise_answer(s)))
        if name[1]
    )


def _equal_gold(spellings: Sequence[str], gold: Sequence[frozenset[tuple[str, str]]]) -> tuple[int, ...]:
    names = _names(spellings)
    return tuple(i for i, known in enumerate(gold) if names & known)

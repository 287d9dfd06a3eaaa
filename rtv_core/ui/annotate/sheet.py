"""What an annotator may see of an item just now: what is hidden from them is not in a sheet at all.

In a blind queue an item goes through up to three modes:

blind   neither score nor gold: is the answer right, wrong, or can't I tell?
place   it was called right: the gold is shown, the score is not, to say which gold answer it equals if any
open    score and gold: the item is judged, and the verdict can be changed

Score and gold of a question are shown once no item of it can come to the annotator any more, so that one
item doesn't give away the next. In a queue that isn't blind every item is open; and so is what comes to an
annotator who was shown gold or scores of its question before, in another queue or before a colleague let an
item go: it can't be judged blind any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.annotation.support import passages_of
from rtv_core.records import Judgement, Passage, Question, RunAnswer, Trace
from rtv_core.store.judgements import Event
from rtv_core.store.queues import Queue, Standing
from rtv_core.text import answer_key, same_answer
from rtv_core.ui.marks import covering, gold_answers
from rtv_core.ui.workbench import Workbench

__all__ = ["EVIDENCE_SHOWN", "VALID", "Addition", "Gold", "Score", "Sheet", "Shown", "read_sheet"]

EVIDENCE_SHOWN = 10
VALID = ("listed", "variant", "unlisted")


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage, and the names of the rules by which it covers the answer."""

    passage: Passage
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Addition:
    """An answer that the annotator added to the question, and the passage that supports it, if one does."""

    said: Judgement
    passage: Passage | None


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answers of a question, each with its spellings.

    `equal` is the one that the answer equals, by index; `proposals` are those that it may be a spelling of,
    best first, each with the reason. A proposal is no verdict.
    """

    answers: tuple[tuple[str, ...], ...]
    equal: int | None
    proposals: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Score:
    """What the run made of the answer."""

    p_right: float | None
    tau: float | None
    predicted: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """An item as its annotator may see it.

    `gold` and `score` are None while they are hidden. `followed`: a verdict may be followed by placing
    another item of the question, so the page waits for the server to say what comes next. `said` is the
    annotator's verdict that stands, `added` what they added to the question, oldest first. `seen`: the queue
    is blind, but this can't be judged blind any more.
    """

    queue_id: str
    place: int
    mode: str
    question: str
    answer: str
    spellings: tuple[str, ...]
    passages: tuple[Shown, ...]
    retrieved: int
    said: Judgement | None
    gold: Gold | None
    score: Score | None
    followed: bool
    added: tuple[Addition, ...]
    seen: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the server knows of an item; only `sheet` goes to the page."""

    sheet: Sheet
    standing: Standing
    trace: Trace
    asked: Question
    gold: Gold
    score: Score

    @property
    def may_show_all(self) -> bool:
        """Whether score and gold can be shown once the item is judged."""
        return not self.standing.waiting


def read_sheet(workbench: Workbench, queue: Queue, place: int, annotator: str) -> Facts:
    """An item, and how much of it the annotator may see. Raises MissingError for a place that isn't there."""
    standing = workbench.queues.standing(queue.id, place, annotator)
    item = standing.item
    row = workbench.runs.question(queue.run_id, item.position)
    run = workbench.runs.run(queue.run_id)
    trace = workbench.store.load_trace(item.trace_id)
    given = _answer(row.answers, item.answer)
    gold = _gold(row.question, given)
    score = Score(given.p_right, run.tau, given.predicted)
    events = [e for e in workbench.store.history(item.trace_id) if e.judgement.annotator == annotator]
    judged = [event for event in events if event.kind == "judge"]
    mode = _mode(queue, standing, judged)
    if mode != "blind" and not standing.shown:
        workbench.queues.show(queue.id, place, annotator)
    mine = workbench.store.current(item.trace_id, annotator)
    said = next((j for j in mine if _key(j.answer) == _key(item.answer)), None)
    in_queue = {_key(other.answer) for other in (item, *standing.others)}
    passages = passages_of(trace)
    extra = workbench.store.added(item.trace_id, annotator)
    added = tuple(
        Addition(judgement, passages.get(judgement.support.passage_id) if judgement.support else None)
        for judgement in reversed(mine)
        if (not judgement.recalled or _key(judgement.answer) in extra)
        and _key(judgement.answer) not in in_queue
    )
    sheet = Sheet(
        queue.id,
        item.place,
        mode,
        row.question.text,
        item.answer,
        tuple(s for s in given.spellings if s != item.answer),
        _passages(trace, item.answer, given.spellings),
        len(trace.hits),
        said,
        None if mode == "blind" else gold,
        score if mode == "open" else None,
        mode == "blind" and any(_has_one(other.answer, judged) for other in standing.others),
        added,
        queue.plan.blind and mode == "open" and said is None,
    )
    return Facts(sheet, standing, trace, row.question, gold, score)


def _mode(queue: Queue, standing: Standing, judged: Sequence[Event]) -> str:
    """Which mode the item is in, from the annotator's verdicts on its question, taken back or not."""
    if not queue.plan.blind:
        return "open"
    if standing.unplaced:
        return "place"
    if standing.shown or any(not event.judgement.blind for event in judged):
        return "open"
    was_shown = not standing.waiting and _has_one(standing.item.answer, judged)
    all_judged = all(_has_one(item.answer, judged) for item in (standing.item, *standing.others))
    return "open" if was_shown or all_judged else "blind"


def _has_one(answer: str, judged: Sequence[Event]) -> bool:
    return any(_key(event.judgement.answer) == _key(answer) for event in judged)


def _answer(answers: Sequence[RunAnswer], answer: str) -> RunAnswer:
    """The run's answer in these words, or one of the same key."""
    exact = (known for known in answers if known.answer == answer)
    alike = (known for known in answers if _key(known.answer) == _key(answer))
    return next(exact, None) or next(alike, None) or RunAnswer(answer, (answer,), None, False, "")


def _gold(question: Question, given: RunAnswer) -> Gold:
    known = gold_answers(question)
    equal = next((i for i, spellings in enumerate(known) if given.gold and given.gold in spellings), None)
    if equal is None:
        alike = (
            i for i, spellings in enumerate(known) if any(same_answer(given.answer, s) for s in spellings)
        )
        equal = next(alike, None)
    return Gold(known, equal, _proposals(given.answer, known, question.text))


def _proposals(answer: str, gold: Sequence[Sequence[str]], question: str) -> tuple[tuple[int, str], ...]:
    from rtv_core.annotation.aliases import LIKELY, suggest  # its dictionaries take a moment to load

    place = {spellings[0]: i for i, spellings in enumerate(gold)}
    found = [s for s in suggest(answer, gold, question) if s.score >= LIKELY]
    return tuple((place[s.gold], s.reason) for s in found)


def _passages(trace: Trace, answer: str, spellings: Sequence[str]) -> tuple[Shown, ...]:
    """The evidence gathered for the answer; without any, the retrieved passages that hold it."""
    names = {_key(spelling) for spelling in (answer, *spellings)}
    for body in trace.evidence:
        if _key(body.candidate.answer) in names:
            return tuple(Shown(p.hit.passage, p.covers) for p in body.passages[:EVIDENCE_SHOWN])
    found = covering(trace.hits, (answer, *spellings))
    return tuple(Shown(hit.passage, rules) for hit, rules in found[:EVIDENCE_SHOWN])


def _key(answer: str) -> str:
    return answer_key(answer) or answer

"""Gold corrected by verdicts: unlisted answers become gold answers, variants become spellings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtv_core.analysis.rulings import Ruling, Rulings
from rtv_core.records import Question, RunQuestion
from rtv_core.text import answer_key, normalise_answer, same_answer

__all__ = ["Addition", "CorrectedGold", "correct_gold", "correct_question", "distinct_answers"]

Annotation = list[list[str]]


@dataclass(frozen=True, slots=True)
class Addition:
    """What a verdict added to gold: a new answer (then `gold` is "") or a spelling of the answer `gold`."""

    position: int
    answer: str
    gold: str


@dataclass(frozen=True, slots=True)
class CorrectedGold:
    """`questions` runs parallel to the run's. `without_gold` counts those left as they are: none is known.

    `unresolved` are variants of something that is no gold answer; `split` are answers on which annotators
    disagree. Both leave gold as it is.
    """

    questions: tuple[Question, ...]
    additions: tuple[Addition, ...]
    unresolved: tuple[tuple[int, Ruling], ...]
    split: tuple[tuple[int, Ruling], ...]
    without_gold: int


def correct_gold(questions: Sequence[RunQuestion], rulings: Rulings) -> CorrectedGold:
    """The run's gold with every ruling on it applied, whether the answer was predicted or not.

    Answers that nobody has judged, or found, stay missing: gold that was corrected by judging one system's
    predictions favours that system.
    """
    corrected, additions, unresolved, split = [], [], [], []
    for question in questions:
        ruled = rulings.on(question)
        gold, changes, left = correct_question(question, ruled)
        corrected.append(gold)
        additions += [Addition(question.position, answer, named) for answer, named in changes]
        unresolved += [(question.position, ruling) for ruling in left]
        split += [(question.position, ruling) for ruling in ruled if ruling.label == "split"]
    without = sum(not question.question.answers for question in questions)
    return CorrectedGold(tuple(corrected), tuple(additions), tuple(unresolved), tuple(split), without)


def correct_question(
    question: RunQuestion, rulings: Sequence[Ruling]
) -> tuple[Question, list[tuple[str, str]], list[Ruling]]:
    """One question's corrected gold, what was added (answer, gold answer or ""), and unresolved variants.

    An unlisted answer joins every annotation. A variant becomes a spelling of the gold answer that it names,
    wherever that stands; that may be an unlisted answer too. So does an answer that people call listed. Where
    gold holds the unlisted or listed answer already, as the measures compare, nothing changes. The judged
    answer is added as it was judged, and as the run spells it.
    """
    if not question.question.answers:
        return question.question, [], []
    gold = [[list(answer) for answer in annotation] for annotation in question.question.answers]
    added = []
    for ruling in rulings:
        names = _names(question, ruling)
        if ruling.label == "unlisted" and not _held(gold, names):
            for annotation in gold:
                annotation.append(list(names))
            added.append((ruling.answer, ""))
    waiting = [(r, _names(question, r)) for r in rulings if r.label in ("variant", "listed")]
    waiting = [(r, names) for r, names in waiting if r.label == "variant" or not _held(gold, names)]
    while resolved := [pair for pair in waiting if _answers_named(gold, pair[0].gold)]:
        for ruling, names in resolved:
            if named := _join(_answers_named(gold, ruling.gold), names):
                added.append((ruling.answer, named))
        waiting = [pair for pair in waiting if pair not in resolved]
    answers = tuple(tuple(tuple(answer) for answer in annotation) for annotation in gold)
    return replace(question.question, answers=answers), added, [ruling for ruling, _ in waiting]


def distinct_answers(question: Question) -> tuple[tuple[str, ...], ...]:
    """The gold answers over all annotations, each once with all its spellings, as the measures compare."""
    united: list[list[str]] = []
    for spellings in (answer for annotation in question.answers for answer in annotation):
        same = (known for known in united if any(_spells(known, spelling) for spelling in spellings))
        if (known := next(same, None)) is None:
            united.append(list(spellings))
        else:
            known += [spelling for spelling in spellings if spelling not in known]
    return tuple(tuple(answer) for answer in united if answer)


def _names(question: RunQuestion, ruling: Ruling) -> list[str]:
    """The answer as it was judged, and as the run gave it."""
    key = answer_key(ruling.answer)
    own = [a.answer for a in question.answers if key and answer_key(a.answer) == key]
    names = {normalise_answer(name): name for name in reversed([ruling.answer, *own])}
    return list(reversed(names.values()))


def _held(gold: Sequence[Annotation], names: Sequence[str]) -> bool:
    return any(_spells(answer, name) for annotation in gold for answer in annotation for name in names)


def _spells(answer: Sequence[str], text: str) -> bool:
    return normalise_answer(text) in map(normalise_answer, answer)


def _answers_named(gold: Sequence[Annotation], name: str) -> list[list[str]]:
    """The answers, over all annotations, of which `name` is a spelling."""
    return [a for annotation in gold for a in annotation if name and any(same_answer(name, s) for s in a)]


def _join(named: Sequence[list[str]], spellings: Sequence[str]) -> str:
    """Adds spellings to answers that lack them; the first such answer, or ""."""
    changed = ""
    for answer in named:
        new = [spelling for spelling in spellings if not _spells(answer, spelling)]
        answer += new
        changed = changed or (answer[0] if new else "")
    return changed

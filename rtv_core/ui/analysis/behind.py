"""The questions behind a figure. A figure is named in the address, such as "lost:not recalled"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtv_core.analysis.columns import COLUMNS, Column
from rtv_core.analysis.mistakes import Mistake, missed_gold, wrong_predictions
from rtv_core.analysis.table6 import kind_of_missed, kind_of_wrong
from rtv_core.errors import InputError
from rtv_core.records import LOST, RunQuestion
from rtv_core.ui.analysis.state import Analysis, Pair

__all__ = ["figure_name", "is_lost", "matching", "questions_behind", "tells_verdicts"]

UNJUDGED = "not judged"
VERDICTS = ("wrong", "missed", "added", "split")
"""Figures whose questions give single verdicts away."""

KINDS = {
    "lost": "gold answers {}",
    "wrong": "wrong predictions: {}",
    "missed": "missed gold answers: {}",
    "added": "gold changed by verdicts",
    "split": "answers on which annotators disagree",
    "gold": "questions with gold answers: {}",
    "word": "question word: {}",
    "slice": "{}",
    "score": "candidates scored {}",
    "only": "gold answers that only the {} run found",
    "f1": "questions on which the first run is {}",
}


def figure_name(behind: str) -> str:
    """What a figure is called in words. Raises InputError for one that there is not."""
    kind, _, value = behind.partition(":")
    if kind not in KINDS:
        raise InputError("There is no such figure. Choose one on the page.")
    if kind == "slice":
        column, _, value = value.partition(":")
        return f"{_column(column).title}: {value}"
    return KINDS[kind].format(value)


def is_lost(behind: str) -> str | None:
    """The stage of `records.LOST` that a figure counts gold answers of; None if it is another figure."""
    kind, _, value = behind.partition(":")
    if kind != "lost":
        return None
    if value not in LOST:
        raise InputError(f"Gold answers can't be {value[:40]!r}. Choose one of {', '.join(LOST)}.")
    return value


def tells_verdicts(behind: str) -> bool:
    """Whether the questions behind a figure say what people said of single answers."""
    return behind.partition(":")[0] in VERDICTS


def questions_behind(analysis: Analysis, pair: Pair | None, behind: str) -> list[RunQuestion]:
    """The questions, by position. Raises InputError for a figure that there is not."""
    kind, _, value = behind.partition(":")
    figure_name(behind)
    if kind == "lost":
        stage = is_lost(behind)
        return [q for q in analysis.questions if any(gold.lost == stage for gold in q.gold)]
    if kind == "wrong":
        return _of_mistakes(wrong_predictions(analysis.questions, analysis.rulings), value, kind_of_wrong)
    if kind == "missed":
        return _of_mistakes(missed_gold(analysis.questions, analysis.rulings), value, kind_of_missed)
    if kind == "added":
        return _at(analysis, (addition.position for addition in analysis.corrected.additions))
    if kind == "split":
        return _at(analysis, (position for position, _ in analysis.corrected.split))
    if kind in ("gold", "word", "slice"):
        return _of_kind(analysis, *((kind, value) if kind != "slice" else _split(value)))
    if kind == "score":
        return _scored(analysis.questions, value)
    return _compared(analysis, pair, kind, value)


def matching(questions: Sequence[RunQuestion], text: str, predicted: bool | None = None) -> list[RunQuestion]:
    """Those in which a text occurs, as `RunStore.filter` looks for it but for accents and spelling."""
    wanted = " ".join(text.casefold().split())
    found = []
    for question in questions:
        answers = [a for a in question.answers if predicted is None or a.predicted == predicted]
        if predicted is not None and not answers:
            continue
        texts = [question.question.text, *(a.answer for a in answers)]
        if predicted is None:
            texts += [spelling for gold in question.gold for spelling in gold.spellings]
        if not wanted or any(wanted in " ".join(text.casefold().split()) for text in texts):
            found.append(question)
    return found


def _of_mistakes(mistakes: Iterable[Mistake], wanted: str, kind) -> list[RunQuestion]:
    found = {}
    for mistake in mistakes:
        own = (kind(mistake.ruling) if mistake.ruling else "") or UNJUDGED
        if own == wanted:
            found[mistake.question.position] = mistake.question
    return list(found.values())


def _at(analysis: Analysis, positions: Iterable[int]) -> list[RunQuestion]:
    return [analysis.by_position[position] for position in sorted(set(positions))]


def _split(value: str) -> tuple[str, str]:
    column, _, name = value.partition(":")
    return column, name


def _column(name: str) -> Column:
    if name not in COLUMNS or not COLUMNS[name].kinds:
        raise InputError(f"Questions can't be split up by {name[:40]!r}. Choose a column on the page.")
    return COLUMNS[name]


def _of_kind(analysis: Analysis, column: str, name: str) -> list[RunQuestion]:
    kinds_of = _column(column).kinds_of
    known = (q for q in analysis.questions if q.question.answers)
    return [question for question in known if name in kinds_of(question, analysis.sources)]


def _scored(questions: Sequence[RunQuestion], value: str) -> list[RunQuestion]:
    """Those with a candidate in a bin of scores, "0.3 to 0.4": its end is in the last bin only."""
    try:
        low, high = (float(end) for end in value.split(" to "))
    except ValueError:
        raise InputError(f"{value[:40]!r} is no bin of scores, such as 0.3 to 0.4.") from None
    return [
        question
        for question in questions
        if any(
            a.p_right is not None and low <= a.p_right and (a.p_right < high or high >= 1)
            for a in question.answers
        )
    ]


def _compared(analysis: Analysis, pair: Pair | None, kind: str, value: str) -> list[RunQuestion]:
    if pair is None:
        raise InputError("Choose a run to compare with first.")
    if kind == "only":
        finds = {"first": pair.raw.only_first, "second": pair.raw.only_second}
        if value not in finds:
            raise InputError("Only the first or the second run can have found an answer alone.")
        return _at(analysis, (find.first for find in finds[value]))
    if value not in ("better", "worse", "equal"):
        raise InputError("A run can be better, worse or equal.")
    return _at(analysis, pair.positions[value])

"""What the Analyse page looks at, read with suspicion from an event, and written as a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from rtv_core.analysis.columns import COLUMNS
from rtv_core.analysis.filters import LONGEST_CONDITION, MOST_CONDITIONS, Condition, read_conditions
from rtv_core.analysis.rulings import Counting
from rtv_core.errors import InputError
from rtv_core.ui import checks

__all__ = ["ANSWERS", "View", "read_view"]

LONGEST_RUN = 200
LONGEST_SEARCH = 300
LONGEST_BEHIND = 400
LONGEST_ROUND = 300
MOST_ADJUDICATORS = 50
MOST_TURNS = 2**53

ANSWERS = {"": None, "predicted": True, "rejected": False}
"""In which answers a searched text must occur, as `RunStore.filter` takes it: in any, in predicted ones, in
rejected ones."""


@dataclass(frozen=True, slots=True)
class View:
    """A run (its name; "" is the newest), perhaps another beside it, which verdicts count, and a list.

    Everything is worked out over the questions that meet the conditions `where`. `slices` names the column
    that splits F1 up besides the usual ones. `first` and `second` are two rounds of judgement to compare:
    "queue:" and its id, "by:" and a name, or "before" and "since" the `day` (ISO 8601); "" is none.

    `behind` names the figure whose questions are listed, "" for all questions; `text` and `answers` narrow
    the list, `offset` questions of it are left out. `turn` numbers the page's requests: what is drawn for
    one bears its number.
    """

    run: str = ""
    other: str = ""
    settled_only: bool = True
    adjudicators: tuple[str, ...] = ()
    across_runs: bool = False
    where: tuple[Condition, ...] = ()
    slices: str = ""
    first: str = ""
    second: str = ""
    day: str = ""
    behind: str = ""
    text: str = ""
    answers: str = ""
    offset: int = 0
    turn: int = 0

    @property
    def counting(self) -> Counting:
        """Which verdicts count."""
        return Counting(self.settled_only, frozenset(self.adjudicators), self.across_runs)


def read_view(event: object) -> View:
    """The view that an event describes. Raises InputError for values that no view has."""
    event = checks.read_event(event)
    return View(
        run=checks.read_text(event.get("run"), "run's name", LONGEST_RUN),
        other=checks.read_text(event.get("with"), "other run's name", LONGEST_RUN),
        settled_only=checks.read_choice(event.get("count") or "settled", "count", ("settled", "all"))
        == "settled",
        adjudicators=_names(event.get("adjudicators")),
        across_runs=_flag(event, "across"),
        where=read_conditions(_texts(event.get("where"), "conditions", MOST_CONDITIONS, LONGEST_CONDITION)),
        slices=checks.read_choice(event.get("slices") or "", "column", ("", *COLUMNS)),
        first=checks.read_text(event.get("first"), "first round", LONGEST_ROUND),
        second=checks.read_text(event.get("second"), "second round", LONGEST_ROUND),
        day=_day(event.get("day")),
        behind=checks.read_text(event.get("behind"), "figure", LONGEST_BEHIND),
        text=checks.read_text(event.get("text"), "search text", LONGEST_SEARCH),
        answers=checks.read_choice(event.get("answers") or "", "kind of answers", tuple(ANSWERS)),
        offset=checks.read_index(event.get("offset") or 0, "place in the list", 10**9),
        turn=_turn(event),
    )


def _names(value: object) -> tuple[str, ...]:
    names = _texts(value, "adjudicators", MOST_ADJUDICATORS, checks.LONGEST_NAME)
    return tuple(sorted({name for name in names if name}))


def _texts(value: object, name: str, most: int, longest: int) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"The {name} must be a list of texts.")
    if len(value) > most:
        raise InputError(f"There are {len(value):,} {name}; the most is {most}.")
    return tuple(checks.read_text(text, f"one of the {name}", longest) for text in value)


def _day(value: object) -> str:
    text = checks.read_text(value, "day", 10)
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise InputError(f"{text!r} is no day. Write it as 2026-01-31.") from None


def _flag(event: Mapping[str, object], name: str) -> bool:
    value = event.get(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false.")
    return value


def _turn(event: Mapping[str, object]) -> int:
    turn = event.get("turn")
    return turn if isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn < MOST_TURNS else 0

"""What the Analyse page looks at, read with suspicion from an event, and written as a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtv_core.analysis.rulings import Counting
from rtv_core.errors import InputError
from rtv_core.ui import checks

__all__ = ["ANSWERS", "View", "read_view"]

LONGEST_RUN = 200
LONGEST_SEARCH = 300
LONGEST_BEHIND = 400
MOST_ADJUDICATORS = 50
MOST_TURNS = 2**53

ANSWERS = {"": None, "predicted": True, "rejected": False}
"""In which answers a searched text must occur, as `RunStore.filter` takes it: in any, in predicted ones, in
rejected ones."""


@dataclass(frozen=True, slots=True)
class View:
    """A run (its name; "" is the newest), perhaps another beside it, which verdicts count, and a list.

    `behind` names the figure whose questions are listed, "" for all questions; `text` and `answers` narrow
    the list, `offset` questions of it are left out. `turn` numbers the page's requests: what is drawn for
    one bears its number.
    """

    run: str = ""
    other: str = ""
    settled_only: bool = True
    adjudicators: tuple[str, ...] = ()
    across_runs: bool = False
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
        behind=checks.read_text(event.get("behind"), "figure", LONGEST_BEHIND),
        text=checks.read_text(event.get("text"), "search text", LONGEST_SEARCH),
        answers=checks.read_choice(event.get("answers") or "", "kind of answers", tuple(ANSWERS)),
        offset=checks.read_index(event.get("offset") or 0, "place in the list", 10**9),
        turn=_turn(event),
    )


def _names(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError("The adjudicators must be a list of names.")
    if len(value) > MOST_ADJUDICATORS:
        raise InputError(f"There are {len(value):,} adjudicators; the most is {MOST_ADJUDICATORS}.")
    names = (checks.read_text(name, "adjudicator's name", checks.LONGEST_NAME) for name in value)
    return tuple(sorted({name for name in names if name}))


def _flag(event: Mapping[str, object], name: str) -> bool:
    value = event.get(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false.")
    return value


def _turn(event: Mapping[str, object]) -> int:
    turn = event.get("turn")
    return turn if isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn < MOST_TURNS else 0

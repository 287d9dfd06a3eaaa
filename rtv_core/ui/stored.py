"""What a tab shows of what was kept: a question among others, and the links to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Stored"]


@dataclass(frozen=True, slots=True)
class Stored:
    """The question `at` one of `places`.

    With `run`, a run's name, places are positions in that run; without one they count the server's example
    questions, and `at` is None for a question that is none of them. `question` is the text that a link named
    it by. `problem` says why there is nothing to show; "" if there is.
    """

    run: str = ""
    system: str = ""
    places: tuple[int, ...] = ()
    at: int | None = None
    question: str = ""
    problem: str = ""

    @property
    def number(self) -> int:
        """Which of the places it is, from 1; 0 if it is none of them."""
        return self.places.index(self.at) + 1 if self.at in self.places else 0

    @property
    def previous(self) -> int | None:
        """The place before; None at the first."""
        return self.places[self.number - 2] if self.number > 1 else None

    @property
    def next(self) -> int | None:
        """The place after; None at the last."""
        return self.places[self.number] if 0 < self.number < len(self.places) else None

    @property
    def link(self) -> Mapping[str, object]:
        """What a link names a run's question by; nothing without a run, where it is named by its text."""
        return {"run": self.run, "q": self.at} if self.run else {}

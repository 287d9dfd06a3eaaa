"""What one browser tab looks at, and what its handlers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import gradio as gr

from rtv_core.errors import InputError
from rtv_core.records import Judgement, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.ui import checks
from rtv_core.ui.beside import Beside
from rtv_core.ui.marks import Places, Row, candidate_key, candidate_rows, extra_rows
from rtv_core.ui.markup import Markup
from rtv_core.ui.render import render_candidates
from rtv_core.ui.stored import Stored
from rtv_core.ui.workbench import Workbench

__all__ = [
    "Run",
    "Session",
    "annotator_of",
    "clock",
    "draw_candidates",
    "find_row",
    "read_knobs",
    "remembered_name",
    "said_of",
    "signed_name",
    "verdicts_of",
]


@dataclass(frozen=True, slots=True)
class Session:
    """The trace on screen. `trace_id` is "" until it is saved.

    `link` is what the address names of it besides the question: its settings, or its place in a run. A
    `frozen` one is presented: nothing is written. `beside` is what a second system made of it.
    """

    trace: Trace
    trace_id: str = ""
    link: str = ""
    places: Places | None = None
    frozen: bool = False
    beside: Beside | None = None

    def rows(self, said: Sequence[Judgement], k: int = 10) -> tuple[Row, ...]:
        """The candidates with what was said of them, best first."""
        return candidate_rows(self.trace, said, k, self.places)


class Run:
    """Which `question` a tab wants answered. Asking and stopping end the run before, which only looks on.

    `stored` is what the tab shows instead of asking. A `frozen` tab presents: it never asks. `second` names
    the system that the tab compares with.

    Gradio's own cancelling lets the step in hand draw over what Stop drew.
    """

    def __init__(self) -> None:
        self._wanted = 0
        self._taken = 0
        self.question: object = ""
        self.stored: Stored | None = None
        self.frozen = False
        self.second = ""

    @property
    def number(self) -> int:
        """The number of what is wanted now."""
        return self._wanted

    @property
    def waits(self) -> bool:
        """Whether something is wanted that was not taken yet."""
        return self._taken != self._wanted

    def call(self, question: object = "") -> None:
        """Want a question answered; what runs now is to end. Nothing, if the tab is frozen."""
        if self.frozen:
            return
        self.question = question
        self.stored = None
        self._wanted += 1

    def stop(self) -> None:
        """Want nothing answered; what runs now, or waits, is to end."""
        self._wanted += 1
        self._taken = self._wanted

    def take(self) -> int | None:
        """The number under which to answer what is wanted; None if that is done already."""
        if self._taken == self._wanted:
            return None
        self._taken = self._wanted
        return self._wanted

    def goes_on(self, number: int) -> bool:
        """Whether nothing else has been wanted since."""
        return number == self._wanted


def annotator_of(request: gr.Request | None, typed: object) -> object:
    """Who judges: whoever is signed in and nobody else, whatever the page sends; else the name typed."""
    return signed_name(request) or typed


def signed_name(request: gr.Request | None) -> str:
    """The name of whoever is signed in; "" where the server has no sign-in."""
    return getattr(request, "username", None) or ""


def remembered_name(name: object) -> Any:
    """The name that a browser remembers, for its field; what can't be one leaves the field as it is."""
    try:
        return checks.read_name(name)
    except InputError:
        return gr.skip()


def read_knobs(tau: object, k: object, single: object) -> VerifierSettings:
    """The settings that only mark, read from the page's controls. Raises InputError."""
    if not isinstance(single, bool):
        raise InputError("The switch for one answer only must be on or off.")
    return VerifierSettings(checks.read_tau(tau), checks.read_k(k), single)


def verdicts_of(workbench: Workbench, trace: Trace, annotator: object) -> list[Judgement]:
    """What the annotator said of a trace's question."""
    name = checks.read_text(annotator, "annotator's name", checks.LONGEST_NAME)
    return workbench.store.for_question(trace.question.text, name)


def said_of(workbench: Workbench, session: Session, annotator: object) -> list[Judgement]:
    """What the annotator said of the question on screen; nothing where it is presented."""
    return [] if session.frozen else verdicts_of(workbench, session.trace, annotator)


def find_row(session: Session, said: Sequence[Judgement], event: Mapping[str, Any]) -> Row:
    """The row that an event names by `key` or, for an answer that a person typed, by `typed`.

    Raises InputError for a key that is in no row, and for an answer without a letter or digit.
    """
    typed = checks.read_text(event.get("typed"), "answer", checks.LONGEST_ANSWER)
    wanted = candidate_key(typed) if typed else event.get("key")
    rows = (*session.rows(said), *extra_rows(session.trace, said))
    found = next((row for row in rows if row.key == wanted), None)
    if found is None and typed:
        spelt = (row for row in rows if wanted in map(candidate_key, row.spellings))
        found = next(spelt, None)
    if found is not None:
        return found
    if not typed:
        raise InputError(f"There is no candidate {str(wanted)[:40]!r} here. Choose one from the list.")
    if not any(c.isalnum() for c in typed):
        raise InputError("The answer is empty. Type the answer that is missing.")
    return Row(key=wanted, answer=typed)


def draw_candidates(session: Session, said: Sequence[Judgement], knobs: VerifierSettings) -> Markup:
    """The list of candidates with the verdicts in it."""
    rows, extra = session.rows(said, knobs.k), extra_rows(session.trace, said)
    return render_candidates(session.trace, rows, extra, knobs, beside=session.beside)


def clock(at: str = "") -> str:
    """Hours and minutes of a moment (ISO 8601), or of now, in the server's time zone."""
    moment = datetime.fromisoformat(at) if at else datetime.now()
    return f"{moment.astimezone():%H:%M}"

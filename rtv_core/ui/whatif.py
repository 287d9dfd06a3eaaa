"""Handlers for what-ifs: the chosen candidate's score without some of its evidence. They store nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rtv_core.attack import BUDGET, Attack, Removal, smallest_flip
from rtv_core.errors import InputError, RtvError
from rtv_core.pipeline import check_question
from rtv_core.ri2ver import says_words
from rtv_core.settings import VerifierSettings
from rtv_core.ui import checks, render
from rtv_core.ui.marks import Row
from rtv_core.ui.markup import Markup
from rtv_core.ui.parts import as_made
from rtv_core.ui.session import Session, find_row, read_knobs
from rtv_core.ui.workbench import Workbench

__all__ = ["show_flip", "show_whatif"]

SLOW_BUDGET = 64
"""How many sets are scored by a verifier for which every one of them costs a reading."""

LAST_TURN = 2**53


def show_whatif(
    workbench: Workbench, session: Session | None, tau: object, k: object, single: object, event: object
) -> Markup:
    """The score without the passages that an event names, beside the score with them; "" for none."""
    event = checks.read_event(event)
    try:
        knobs = read_knobs(tau, k, single)
        row, attack = _attack(workbench, session, knobs, event)
        taken = _taken(session, row, event, knobs.k)
        if not taken:
            return Markup("")
        removal = Removal(taken, attack.score(taken))
        words = says_words(session.trace)
        return render.render_whatif(row, attack.whole, removal, knobs, _turn(event), plain=words)
    except RtvError as error:
        return _refused(error, event)


def show_flip(
    workbench: Workbench, session: Session | None, tau: object, k: object, single: object, event: object
) -> Markup:
    """The smallest set of passages without which the verdict flips, with the score before and after."""
    event = checks.read_event(event)
    try:
        knobs = read_knobs(tau, k, single)
        row, attack = _attack(workbench, session, knobs, event)
        budget = BUDGET if workbench.settings.system == "embedded" else SLOW_BUDGET
        flip = smallest_flip(attack, knobs.tau, budget)
        removal = flip.removal or Removal((), attack.whole)
        words = says_words(session.trace)
        return render.render_whatif(row, attack.whole, removal, knobs, _turn(event), flip, words)
    except RtvError as error:
        return _refused(error, event)


def _attack(
    workbench: Workbench, session: Session | None, knobs: VerifierSettings, event: Mapping[str, object]
) -> tuple[Row, Attack]:
    """The candidate that an event names, and its evidence under the verifier that the trace was made with."""
    if session is None:
        raise InputError("There is no candidate yet. Ask a question first.")
    row = find_row(session, (), event)
    if not render.can_take_away(session.trace, row):
        raise InputError(f"{row.answer[:80]!r} has no verified evidence, so there is nothing to take away.")
    verifier = workbench.pipeline(as_made(workbench.settings, session.trace)).verifier
    question = check_question(session.trace.question.text)
    return row, Attack(verifier, question, session.trace.evidence[row.index], knobs.k)


def _taken(session: Session, row: Row, event: Mapping[str, object], k: int) -> tuple[int, ...]:
    """The places that an event names, among the first `k`."""
    named, there = event.get("taken"), len(session.trace.evidence[row.index].passages)
    if not isinstance(named, list | tuple) or len(named) > there:
        raise InputError("The passages to take away must be a list of their places. Reload the page.")
    places = {checks.read_index(place, "evidence passage", there) for place in named}
    return tuple(sorted(place for place in places if place < k))


def _turn(event: Mapping[str, object]) -> int:
    """The number of an event, by which the page knows the answer to it; 0 for none."""
    turn = event.get("turn")
    return turn if isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn < LAST_TURN else 0


def _refused(error: RtvError, event: Mapping[str, object]) -> Markup:
    key = event.get("key")
    return render.render_no_whatif(str(error), key[:80] if isinstance(key, str) else "", _turn(event))

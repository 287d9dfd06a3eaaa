"""Handlers for the second system on the Explore page: it answers after the first has, and only if chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.baselines.offers import Systems
from rtv_core.baselines.systems import settings_of
from rtv_core.errors import InputError, RtvError
from rtv_core.settings import VerifierSettings
from rtv_core.side_by_side import Column
from rtv_core.ui import checks, render
from rtv_core.ui.beside import Beside, set_beside
from rtv_core.ui.disagreement import disagreements
from rtv_core.ui.markup import Markup
from rtv_core.ui.opinion import judging_exchanges, only_words
from rtv_core.ui.session import Run, Session, draw_candidates, read_knobs, said_of
from rtv_core.ui.workbench import Workbench

__all__ = ["Seconded", "choose_second", "column_of", "open_second", "show_second"]

NO_GOLD = "It needs gold answers, and none are known for this question."
UNFINISHED = "Only a finished answer of this server's own pipeline can be compared."
UNEXPECTED = "Something failed that should not have; the server's log says what."

SKIP = gr.skip()


class Seconded(NamedTuple):
    """What a second system changes on the page."""

    second: Any = SKIP
    candidates: Any = SKIP
    session: Any = SKIP


def open_second(systems: Systems, run: Run, parameters: Mapping[str, str]) -> Markup:
    """The choice of a second system, as a link makes it; an unknown name is none."""
    name = parameters.get("second", "")
    run.second = name if name in systems.names else ""
    line = f"There is no system {name[:80]!r} here." if name and not run.second else None
    return render.render_second(systems.names, run.second, line)


def choose_second(systems: Systems, run: Run, event: object) -> None:
    """Note which system an event names; "" for none."""
    name = checks.read_event(event).get("name")
    run.second = name if isinstance(name, str) and name in systems.names else ""


def show_second(
    workbench: Workbench,
    systems: Systems,
    run: Run,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
) -> Iterator[Seconded]:
    """Let the chosen system answer what is on screen, and draw both; nothing while another answer is wanted.

    A system that has answered already is only drawn again.
    """
    name, number, stored = run.second, run.number, run.stored
    if run.waits or session is None:
        yield Seconded()
        return
    if not name:
        yield _without(systems, workbench, session, tau, k, single, annotator)
        return
    try:
        knobs = read_knobs(tau, k, single)
        if not session.trace.complete or session.frozen:
            raise InputError(UNFINISHED)
        if session.beside is None or session.beside.column.name != name:
            yield Seconded(second=render.render_second(systems.names, name, _busy(name)))
            session = replace(session, beside=_beside(workbench, systems, session, name))
        if run.goes_on(number) and run.stored is stored and run.second == name:
            yield _with(systems, workbench, session, knobs, annotator)
        else:
            yield Seconded()
    except RtvError as error:
        yield Seconded(second=render.render_second(systems.names, name, str(error)))
    except Exception:
        yield Seconded(second=render.render_second(systems.names, name, UNEXPECTED))
        raise


def column_of(workbench: Workbench, systems: Systems, session: Session, name: str) -> Column:
    """What a system makes of the question on screen.

    Raises InputError where it needs gold and none is known, and what loading or asking it raises.
    """
    if systems.needs_gold(name) and not session.trace.question.answers:
        raise InputError(NO_GOLD)
    system = systems.get(name, workbench)
    return Column(name, system.read(session.trace), settings_of(system, workbench.settings))


def _beside(workbench: Workbench, systems: Systems, session: Session, name: str) -> Beside:
    column = column_of(workbench, systems, session, name)
    exchanges = judging_exchanges(systems.get(name, workbench), column.trace)
    if only_words(exchanges):  # the server turned out to give no log-probabilities
        provenance = MappingProxyType({**column.trace.provenance, "scores": "words"})
        column = replace(column, trace=column.trace.grown(provenance=provenance))
    return replace(set_beside(session.trace, column, session.places), exchanges=exchanges)


def _busy(name: str) -> str:
    return f"{name} is reading…"


def _with(
    systems: Systems, workbench: Workbench, session: Session, knobs: VerifierSettings, annotator: object
) -> Seconded:
    said = said_of(workbench, session, annotator)
    apart = len(disagreements(session.trace, session.beside, knobs))
    line = render.render_second_result(session.trace, session.beside, knobs, apart)
    return Seconded(
        second=render.render_second(systems.names, session.beside.column.name, line),
        candidates=draw_candidates(session, said, knobs),
        session=session,
    )


def _without(
    systems: Systems,
    workbench: Workbench,
    session: Session,
    tau: object,
    k: object,
    single: object,
    annotator: object,
) -> Seconded:
    """The page as it was before a second system was chosen."""
    if session.beside is None:
        return Seconded(second=render.render_second(systems.names))
    session = replace(session, beside=None)
    try:
        said = said_of(workbench, session, annotator)
        candidates = draw_candidates(session, said, read_knobs(tau, k, single))
    except RtvError as error:
        return Seconded(second=render.render_second(systems.names, "", str(error)))
    return Seconded(render.render_second(systems.names), candidates, session)

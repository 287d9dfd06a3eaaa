"""Handlers of the Compare page: our pipeline answers first, then each system that was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.baselines.offers import Systems
from rtv_core.errors import InputError, RtvError
from rtv_core.pipeline import check_question
from rtv_core.records import Trace
from rtv_core.settings import Settings
from rtv_core.side_by_side import Column
from rtv_core.ui import checks
from rtv_core.ui.asking import find_question, sessions
from rtv_core.ui.compare.render import OURS, render_failure, render_reading, render_table
from rtv_core.ui.markup import Markup
from rtv_core.ui.second import column_of
from rtv_core.ui.session import Run, Session, read_knobs
from rtv_core.ui.workbench import Workbench

__all__ = ["Compared", "call_comparison", "show_comparison", "stop_comparison"]

MOST_SYSTEMS = 8
UNEXPECTED = "Something failed that should not have; the server's log says what. Compare again."
SKIP = gr.skip()


class Compared(NamedTuple):
    """What comparing changes on the page."""

    said: Any = SKIP
    table: Any = SKIP


def call_comparison(run: Run, event: object) -> Mapping[str, object]:
    """Note that a question is to be compared, and what the event says of it; the comparison before ends."""
    run.call()
    return dict(checks.read_event(event))


def stop_comparison(run: Run) -> Compared:
    """End the comparison after the system in hand."""
    run.stop()
    return Compared(said=Markup(""))


def show_comparison(
    workbench: Workbench, systems: Systems, run: Run, wanted: Mapping[str, object] | None
) -> Iterator[Compared]:
    """Ask our pipeline, then each chosen system, until `run` is stopped. Nothing, if nothing was called."""
    if (mine := run.take()) is None or wanted is None:
        yield Compared()
        return
    try:
        text = check_question(checks.read_text(wanted.get("question"), "question", 100_000))
        names = _names(systems, wanted.get("systems"))
        settings = _settings(workbench, wanted)
        yield Compared(said=render_reading(OURS, Trace(find_question(workbench, text))), table=Markup(""))
        pipeline = workbench.pipeline(workbench.settings)
        for session in sessions(workbench, find_question(workbench, text), pipeline):
            if not run.goes_on(mine):
                yield Compared()
                return
            yield Compared(said=render_reading(OURS, session.trace))
        yield from _others(workbench, systems, run, mine, session, settings, names)
    except RtvError as error:
        yield Compared(said=render_failure(str(error)))
    except Exception:
        yield Compared(said=render_failure(UNEXPECTED))
        raise


def _others(
    workbench: Workbench,
    systems: Systems,
    run: Run,
    mine: int,
    session: Session,
    settings: Settings,
    names: tuple[str, ...],
) -> Iterator[Compared]:
    """The table, with one system more each time."""
    question = session.trace.question
    columns = [Column(OURS, session.trace, settings)]
    failed: dict[str, str] = {}
    for name in names:
        yield Compared(said=render_reading(name), table=render_table(question, columns, failed))
        try:
            columns.append(column_of(workbench, systems, session, name))
        except RtvError as error:
            failed[name] = str(error)
        if not run.goes_on(mine):
            yield Compared()
            return
    yield Compared(said=Markup(""), table=render_table(question, columns, failed))


def _names(systems: Systems, named: object) -> tuple[str, ...]:
    """The systems that an event names, each once, in the order in which they are offered."""
    if not isinstance(named, list | tuple) or len(named) > MOST_SYSTEMS:
        raise InputError(f"The systems must be a list of at most {MOST_SYSTEMS} names. Reload the page.")
    for name in named:
        systems.needs_gold(checks.read_text(name, "system's name", checks.LONGEST_NAME))
    if not named:
        raise InputError(f"Choose at least one system to set beside {OURS}.")
    return tuple(name for name in systems.names if name in named)


def _settings(workbench: Workbench, wanted: Mapping[str, object]) -> Settings:
    """Ours, with the knobs of the view that the comparison was opened from."""
    known = workbench.settings.verifier
    knobs = read_knobs(
        wanted.get("tau", known.tau), wanted.get("k", known.k), wanted.get("single", known.single_answer)
    )
    return replace(workbench.settings, verifier=knobs)

"""The plots of the appendix, each with its story in words and its numbers in sight."""

from __future__ import annotations

from rtv_core.analysis.columns import UNKNOWN
from rtv_core.errors import InputError
from rtv_core.ui.analysis.drawings import Drawing, draw_histogram, draw_reliability, draw_slices, draw_tau
from rtv_core.ui.analysis.sliced import SOURCES, USUAL, slice_title
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import note, table
from rtv_core.ui.markup import Markup, join, tag

__all__ = ["render_kinds", "render_plots"]

TAUS_SHOWN = 10


def render_plots(analysis: Analysis) -> Markup:
    """F1 against tau, reliability, and scores by verdict, as far as the run has scores."""
    made = [_tau(analysis), _reliability(analysis), _histogram(analysis)]
    if not any(made):
        return note(
            "The predictions of this run have no scores, or no gold is known: there is nothing to plot."
        )
    return tag("div", *made, class_="plots")


def render_kinds(analysis: Analysis) -> Markup | None:
    """F1 by number of gold answers, by question word and, where passages are known, by number of sources."""
    if analysis.scores is None:
        return None
    changed = bool(analysis.corrected.additions)
    known = [name for name in USUAL if any(own.name != UNKNOWN for own in analysis.slices(name)[0])]
    made = [draw_slices(slice_title(name), *analysis.slices(name), changed) for name in known]
    plots = (_plot(own, table(own.title, own.columns, own.rows)) for own in made)
    return join([tag("div", *plots, class_="plots"), note(SOURCES) if "sources" in known else None])


def _plot(made: Drawing, *more: Markup) -> Markup:
    return tag("figure", tag("h3", made.title), made.plot, tag("figcaption", made.words, *more))


def _tau(analysis: Analysis) -> Markup | None:
    try:
        made = draw_tau(analysis)
    except InputError:
        return None
    rows = made.rows[:: len(made.rows) // TAUS_SHOWN]
    return _plot(made, table(made.title, made.columns, rows))


def _reliability(analysis: Analysis) -> Markup | None:
    try:
        return _plot(draw_reliability(analysis))
    except InputError:
        return None


def _histogram(analysis: Analysis) -> Markup | None:
    made = draw_histogram(analysis)
    return None if made is None else _plot(made)

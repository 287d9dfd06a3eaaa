"""The choice of runs, of a run to compare with, and of which verdicts count."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import LOST, Run
from rtv_core.ui.analysis.tables import drawn, short
from rtv_core.ui.analysis.view import View
from rtv_core.ui.markup import Markup, escape, tag

__all__ = ["render_controls", "render_search"]

RUNS_DRAWN = 500
NAMES_DRAWN = 50
LONGEST_RUN = 90


def render_controls(view: View, runs: Sequence[Run], chosen: Run | None, annotators: Sequence[str]) -> Markup:
    """The runs, newest first, and the ways to count verdicts; `annotators` may be chosen as adjudicators.

    `chosen` is None where the view names a run that there is not.
    """
    shown = runs[:RUNS_DRAWN]
    own = [_option(run.name, _run_text(run), run == chosen) for run in shown]
    if chosen is None:
        own.insert(0, _option("", "choose a run", True))
    other = [_option(run.name, _run_text(run), run.name == view.other) for run in shown if run != chosen]
    count = (
        ("settled", "adjudicated, by majority, or blind", view.settled_only),
        ("all", "every verdict", not view.settled_only),
    )
    names = sorted({*annotators[:NAMES_DRAWN], *view.adjudicators})
    return drawn(
        view.turn,
        _select("Run", "run", own),
        _select("Compare with", "with", [_option("", "no other run", not view.other), *other]),
        _select("Verdicts that count", "count", [_option(*option) for option in count]),
        tag(
            "label",
            tag("input", type="checkbox", data_view="across", checked=view.across_runs),
            " also those on other runs' same questions",
            class_="check",
        ),
        _adjudicators(names, view.adjudicators) if names else None,
    )


def render_search() -> Markup:
    """The fields that narrow the list of questions. Drawn once: what is typed stays."""
    stages = [_option(f"lost:{stage}", f"gold answer {stage}", False) for stage in LOST]
    answers = (("", "anywhere"), ("predicted", "in predictions"), ("rejected", "in rejected candidates"))
    return tag(
        "div",
        tag(
            "input",
            type="search",
            data_view="text",
            placeholder="Find in questions and answers",
            aria_label="Find in questions and answers",
            maxlength=300,
        ),
        tag(
            "select",
            *(_option(value, name, False) for value, name in answers),
            data_view="answers",
            aria_label="Where to look",
        ),
        tag(
            "select",
            _option("", "all questions", True),
            *stages,
            data_view="behind",
            aria_label="What became of a gold answer",
        ),
        class_="rtv-search",
        role="search",
    )


def _select(label: str, name: str, options: Sequence[Markup]) -> Markup:
    return tag("label", tag("span", label), tag("select", *options, data_view=name), class_="choice")


def _option(value: str, text: str | Markup, chosen: bool) -> Markup:
    return tag("option", text, value=value, selected=chosen)


def _run_text(run: Run) -> Markup:
    return escape(f"{run.name} · {run.system} · {run.questions:,} questions", LONGEST_RUN)


def _adjudicators(names: Sequence[str], chosen: Sequence[str]) -> Markup:
    boxes = (
        tag(
            "label",
            tag("input", type="checkbox", data_adjudicator=name, checked=name in chosen),
            " ",
            short(name),
        )
        for name in names
    )
    said = f"Adjudicators: {len(chosen)}" if chosen else "Adjudicators: none"
    return tag(
        "details",
        tag("summary", said),
        tag("div", tag("p", "Whose verdict settles the others', whatever they say."), *boxes, class_="names"),
        class_="rtv-adjudicators",
    )

"""A second system on the Explore page: the choice of one, its cell on each row, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from rtv_core.records import Trace
from rtv_core.ri2ver import says_words, score_text
from rtv_core.settings import VerifierSettings
from rtv_core.side_by_side import NOT_READ, Cell, Column
from rtv_core.ui.beside import Beside
from rtv_core.ui.marks import candidate_key, gold_answers
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.parts import ACCEPTED, LONGEST_MESSAGE, LONGEST_NAME, states_of

__all__ = ["LOST_WORDS", "cell_sign", "render_cell", "render_second", "render_second_result"]

LOST_WORDS = {
    "predicted": "given as an answer",
    "not retrieved": "no retrieved passage holds it",
    NOT_READ: "a retrieved passage holds it, but none of those that were read",
    "not recalled": "a passage that holds it was read, but it is no candidate",
    "not covered": "it is a candidate, but the evidence gathered for it does not hold it",
    "at or below tau": "it is a candidate, but its score is at or below tau, or it repeats a better one",
}
"""What became of an answer, in words, by the stage that lost it."""


def render_second(names: Sequence[str], chosen: str = "", line: Markup | str | None = None) -> Markup:
    """The list of systems, and what there is to say of the chosen one."""
    options = [tag("option", "nothing", value="", selected=not chosen)]
    options += (tag("option", escape(n, LONGEST_NAME), value=n, selected=n == chosen) for n in names)
    choice = tag("select", *options, data_second=True, data_chosen=chosen, autocomplete="off")
    label = tag("label", tag("span", "Compare with ", class_="lead"), choice)
    if line is not None and not isinstance(line, Markup):
        line = tag("p", escape(line, LONGEST_MESSAGE), class_="line", role="status")
    return tag("div", label, line, class_="rtv-second")


def render_second_result(trace: Trace, beside: Beside, settings: VerifierSettings, apart: int) -> Markup:
    """What the second system comes to, how many answers only one of the two gives, and the filter for these.

    `apart` is how many candidates both judged and not alike.
    """
    here, there = _only(trace, beside, settings)
    column = beside.column
    parts: list[Markup | str] = [
        tag("span", tag("b", str(len(column.predicted))), f" kept at tau {column.tau:g}"),
    ]
    if gold := gold_answers(trace.question):
        star = tag("span", "★ ", aria_hidden="true")
        parts.append(tag("span", star, f"{beside.gold} of {len(gold)} gold", class_="gold"))
    parts.append(tag("span", "only there ", tag("b", str(there), data_count="only-there")))
    parts.append(tag("span", "only here ", tag("b", str(here), data_count="only-here")))
    if column.seconds:
        of = "in all" if "retrieve" in column.trace.seconds else "after retrieval"
        parts.append(tag("span", f"{column.seconds:.2f} s {of}"))
    link = {"page": "compare", "ask": trace.question.text, "systems": column.name}
    parts.append(
        tag("a", "side by side", href=f"?{urlencode(link, errors='replace')}", data_side_by_side=True)
    )
    return join([tag("p", join(_between(parts)), class_="line", role="status"), _filter(apart)])


def _filter(apart: int) -> Markup:
    box = tag("input", type="checkbox", data_disagree=True, autocomplete="off")
    number = tag("b", str(apart), data_count="disagree")
    title = "show only the candidates that both judged, and of which one keeps what the other does not"
    return tag("label", box, tag("span", "they disagree (", number, ")"), class_="apart", title=title)


def render_cell(cell: Cell | None, column: Column) -> Markup:
    """A second system's sign and score (or word) for the answer of a row."""
    if cell is None:
        return tag("span", class_="other")
    state, sign = cell_sign(cell)
    score = cell.candidate.p_right if cell.candidate else None
    words = f"{column.name}: {LOST_WORDS.get(cell.lost, cell.lost)}"
    return tag(
        "span",
        tag("span", sign, aria_hidden="true"),
        "" if score is None else f" {score_text(score, says_words(column.trace))}",
        spoken(f" {words}"),
        class_=f"other {state}",
        title=words,
    )


def cell_sign(cell: Cell) -> tuple[str, str]:
    """The state of a cell, as the page names states of candidates, and its sign."""
    if cell.found:
        return "accepted", "✓"
    return ("rejected", "–") if cell.candidate else ("missed", "·")


def _only(trace: Trace, beside: Beside, settings: VerifierSettings) -> tuple[int, int]:
    """How many answers only we give, and how many only the second system."""
    states = states_of(trace, settings)
    kept = (c.answer for i, c in enumerate(trace.candidates) if states.get(i) in ACCEPTED)
    ours = set(map(candidate_key, kept))
    theirs = {key for key, cell in beside.cells.items() if cell.found}
    return len(ours - theirs), len(theirs - ours)


def _between(parts: Sequence[Markup | str]) -> list[Markup | str]:
    dot = tag("span", " · ", class_="dot", aria_hidden="true")
    return [piece for place, part in enumerate(parts) for piece in ((dot, part) if place else (part,))]

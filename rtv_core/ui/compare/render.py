"""The Compare page as HTML: the form, and the table of answers by system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from rtv_core.records import LOST, Question, Trace
from rtv_core.ri2ver import says_words, score_text
from rtv_core.side_by_side import NOT_READ, Cell, Column, Line, align, lines_found
from rtv_core.ui.marks import gold_answers
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.frame import render_message
from rtv_core.ui.render.parts import (
    LONGEST_ANSWER,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    counted,
    empty_state,
)
from rtv_core.ui.render.second import LOST_WORDS, cell_sign

__all__ = ["OURS", "render_failure", "render_form", "render_reading", "render_table", "render_welcome"]

OURS = "recall, then verify"
LINES_DRAWN = 200
EXAMPLES = 3
STAGES = (LOST[0], NOT_READ, *LOST[1:4])
"""Where an answer can be lost, in the order of the stages."""


def render_form(names: Sequence[str]) -> Markup:
    """The question, the systems to choose from, and the buttons."""
    field = tag(
        "input",
        type="text",
        name_="question",
        maxlength=1000,
        placeholder="A question that may have many answers",
        aria_label="Question",
        autocomplete="off",
        enterkeyhint="go",
    )
    row = tag(
        "div",
        field,
        tag("button", "Compare", type="submit", class_="go"),
        tag("button", "Stop", type="button", class_="stop", data_compare_stop=True, disabled=True),
        class_="ask",
    )
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", name_="system", value=name, checked=place == 0, autocomplete="off"),
            escape(name, LONGEST_NAME),
        )
        for place, name in enumerate(names)
    ]
    legend = tag("legend", tag("b", OURS), " beside")
    return tag("form", row, tag("fieldset", legend, *boxes), class_="rtv-compare-form")


def render_welcome(questions: Sequence[Question]) -> Markup:
    """What stands in place of the table before the first question."""
    text = "Each answer stands on one line: who gives it, and at which stage the others lost it."
    few = [
        tag("button", escape(q.text, LONGEST_ANSWER), type="button", data_compare=q.text, title=q.text)
        for q in questions[:EXAMPLES]
    ]
    examples = tag("p", tag("span", "Try "), *few, class_="try") if few else None
    return tag("div", empty_state(text), examples, class_="rtv-compared")


def render_reading(name: str, trace: Trace | None = None) -> Markup:
    """Which system is at work and, of our pipeline, how far it has come."""
    words = "is reading…"
    if trace is not None:
        words = {
            "asked": "is searching…",
            "retrieved": f"reads passage {len(trace.readings)} of {len(trace.hits)}…",
            "recalled": "gathers evidence…",
            "gathered": f"verifies candidate {len(trace.verdicts)} of {len(trace.candidates)}…",
        }.get(trace.stage, "has answered.")
    return tag("div", render_message(f"{name} {words}", "busy"), data_comparing=1)


def render_failure(text: str) -> Markup:
    """Why there is no comparison."""
    return tag("div", render_message(text, "error"), data_comparing=0)


def render_table(question: Question, columns: Sequence[Column], failed: Mapping[str, str]) -> Markup:
    """The answers that some system gives and those that are gold, a line each, with a column per system."""
    gold = gold_answers(question)
    lines = align(columns, gold)
    groups = lines_found(lines[:LINES_DRAWN])
    head = tag(
        "tr",
        tag("th", "Answer", scope="col"),
        *(_head(c, i, lines, len(gold)) for i, c in enumerate(columns)),
    )
    bodies = [_group(columns, finders, own) for finders, own in groups]
    more = len(lines) - LINES_DRAWN
    table = tag(
        "table",
        tag("caption", spoken(f"Answers to {question.text[:LONGEST_ANSWER]}, by system")),
        tag("thead", head),
        *bodies,
    )
    return tag(
        "div",
        tag("h2", tag("bdi", escape(question.text, LONGEST_MESSAGE))),
        tag("p", _explore(question), class_="rtv-caption"),
        *(_failed(name, words) for name, words in failed.items()),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Answers by system"),
        None if lines else empty_state("No system gives an answer, and no gold is known."),
        tag("p", f"{counted(more, 'more answer')} not drawn", class_="rtv-caption") if more > 0 else None,
        class_="rtv-compared",
        data_question=question.text,
    )


def _explore(question: Question) -> Markup:
    """The way to every stage of our own answer."""
    link = tag("a", f"every stage of {OURS}", href=f"?{urlencode({'q': question.text}, errors='replace')}")
    gold = "no gold is known for this question" if not question.answers else None
    return join(["See ", link, f"; {gold}" if gold else ""])


def _failed(name: str, words: str) -> Markup:
    return render_message(f"{name}: {words}", "error")


def _head(column: Column, place: int, lines: Sequence[Line], gold: int) -> Markup:
    """A system's name, what its answers come to, and the stages at which it lost gold."""
    facts = [tag("span", tag("b", str(len(column.predicted))), f" kept at tau {column.tau:g}")]
    own = [line.cells[place] for line in lines if line.gold]
    if gold:
        star = tag("span", "★ ", aria_hidden="true")
        found = f"{sum(cell.found for cell in own)} of {gold} gold"
        facts.append(tag("span", star, found, class_="gold"))
        facts.append(tag("span", f"F1 {100 * (column.f1 or 0):.0f}", title="of this question, points of 100"))
        lost = Counter(cell.lost for cell in own)
        facts += [
            tag("span", f"{lost[stage]} {stage}", class_="lost", title=f"gold answers: {LOST_WORDS[stage]}")
            for stage in STAGES
            if lost[stage]
        ]
    if column.seconds:
        of = "in all" if "retrieve" in column.trace.seconds else "after retrieval"
        facts.append(tag("span", f"{column.seconds:.2f} s {of}"))
    return tag("th", tag("span", escape(column.name, LONGEST_NAME), class_="name"), *facts, scope="col")


def _group(columns: Sequence[Column], finders: tuple[bool, ...], lines: Sequence[Line]) -> Markup:
    heading = f"{_found_by(columns, finders)} ({len(lines)})"
    title = tag("tr", tag("th", heading, colspan=len(columns) + 1, scope="rowgroup"), class_="group")
    return tag("tbody", title, *(_line(columns, line) for line in lines))


def _found_by(columns: Sequence[Column], finders: tuple[bool, ...]) -> str:
    names = [column.name for column, found in zip(columns, finders, strict=True) if found]
    if not names:
        return "Gold that nobody gives" if len(columns) > 1 else "Gold that is missed"
    if len(columns) == 1:
        return f"Given by {names[0]}"
    if len(names) == len(columns):
        return "Given by both" if len(names) == 2 else "Given by all"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Only {listed}"


def _line(columns: Sequence[Column], line: Line) -> Markup:
    star = (tag("span", "★", aria_hidden="true"), spoken("gold: ")) if line.gold else ()
    answer = tag("bdi", escape(line.answer, LONGEST_ANSWER))
    title = "a gold answer" if line.gold else None
    cells = (_cell(cell, line, column) for cell, column in zip(line.cells, columns, strict=True))
    gold = tag("span", *star, class_="gold", title=title)
    return tag("tr", tag("th", gold, answer, scope="row"), *cells, data_answer=line.answer[:LONGEST_ANSWER])


def _cell(cell: Cell, line: Line, column: Column) -> Markup:
    """Sign and score, the answer in the system's own words where they differ, and where it was lost."""
    state, sign = cell_sign(cell)
    candidate = cell.candidate
    score = candidate.p_right if candidate else None
    own = candidate.answer if candidate and candidate.answer != line.answer else ""
    return tag(
        "td",
        tag("span", sign, class_="sign", aria_hidden="true"),
        spoken(f"{column.name}: {'given' if cell.found else 'not given'} "),
        "" if score is None else tag("b", f" {score_text(score, says_words(column.trace))}"),
        tag("bdi", escape(own, LONGEST_ANSWER), class_="own") if own else None,
        None if cell.found else tag("span", cell.lost, class_="lost", title=LOST_WORDS.get(cell.lost)),
        class_=state,
        data_lost=cell.lost,
    )

"""The list of questions: all of a run, or those behind a figure, narrowed by a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from rtv_core.analysis.rulings import Ruling, Rulings
from rtv_core.records import Run, RunAnswer, RunGold, RunQuestion
from rtv_core.ui.analysis.tables import drawn, note, short
from rtv_core.ui.analysis.view import View
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.parts import counted

__all__ = ["PAGE", "Listing", "render_list"]

PAGE = 25
ANSWERS_DRAWN = 12
GOLD_DRAWN = 20
LONGEST_ANSWER = 120
LONGEST_QUESTION = 400


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of `total` questions; `name` says what they have in common, "" if they are all.

    `rulings` are what people said, None where that may not be shown.
    """

    run: Run
    questions: Sequence[RunQuestion]
    total: int
    name: str = ""
    rulings: Rulings | None = None


def render_list(listing: Listing, view: View) -> Markup:
    """The questions with gold and answers, and the way to the next ones."""
    last = view.offset + len(listing.questions)
    title = listing.name or "all questions"
    narrowed = bool(view.text or view.answers)
    clear = None
    if view.behind or narrowed:
        clear = tag("button", "show all", type="button", data_clear=True, class_="take")
    head = tag(
        "div",
        tag("h2", "Questions ", tag("span", f"{listing.total:,}", class_="n"), class_="listed"),
        tag("span", escape(title, 120), class_="behind", role="status"),
        tag("button", "CSV", type="button", data_file="questions", class_="take", aria_label="these as CSV"),
        clear,
        class_="rtv-list-head",
    )
    if not listing.total:
        text = "No question matches. Search for something else, or show all."
        return drawn(view.turn, head, note(text))
    items = (_question(question, listing) for question in listing.questions)
    first = view.offset + 1
    steps = [
        _step("← earlier", max(view.offset - PAGE, 0), view.offset > 0),
        tag("span", f"{first:,} to {last:,} of {counted(listing.total, 'question')}"),
        _step("later →", last, last < listing.total),
    ]
    foot = tag("div", *steps, class_="rtv-steps") if listing.total > len(listing.questions) else None
    return drawn(view.turn, head, tag("ol", *items, class_="rtv-questions", start=first), foot)


def _step(text: str, offset: int, there: bool) -> Markup | None:
    return tag("button", text, type="button", data_offset=offset, class_="take") if there else None


def _question(question: RunQuestion, listing: Listing) -> Markup:
    link = urlencode({"run": listing.run.name, "q": question.position})
    predicted = [a for a in question.answers if a.predicted]
    others = [a for a in question.answers if not a.predicted]
    answers = (_answer(a, question, listing.rulings) for a in predicted[:ANSWERS_DRAWN])
    none = tag("li", "no answer predicted", class_="none") if not predicted else None
    return tag(
        "li",
        tag("p", tag("bdi", escape(question.question.text, LONGEST_QUESTION)), class_="asked"),
        tag("ul", *answers, none, class_="answers", aria_label="Predicted answers"),
        _missed(question.gold),
        _rest(others, question, listing.rulings),
        tag("a", "on Explore", href=f"?{link}", target="_blank", rel="noopener", class_="more"),
        data_position=question.position,
    )


def _answer(answer: RunAnswer, question: RunQuestion, rulings: Rulings | None) -> Markup:
    score = None
    if answer.p_right is not None:
        score = tag("span", f"{answer.p_right:.2f}", class_="score", title="validity score")
    sign, word = ("✓", "equals gold") if answer.gold else ("·", "equals no gold answer")
    ruling = rulings.of(question, answer.answer, *answer.spellings) if rulings else None
    return tag(
        "li",
        tag("span", sign, class_=f"sign{' gold' if answer.gold else ''}", aria_hidden="true", title=word),
        spoken(f"{word}: "),
        short(answer.answer, LONGEST_ANSWER),
        " ",
        score,
        _ruled(ruling) if ruling else None,
    )


def _ruled(ruling: Ruling) -> Markup:
    gold = f" of {ruling.gold}" if ruling.gold and ruling.label == "variant" else ""
    text = escape(f"{ruling.label}{gold}", LONGEST_ANSWER)
    return tag("span", text, class_="tag said", title=f"verdict, {ruling.basis}")


def _missed(gold: Sequence[RunGold]) -> Markup | None:
    """How many gold answers were predicted, and what became of the others."""
    if not gold:
        return None
    missed = [own for own in gold if own.lost != "predicted"]
    found = f"{len(gold) - len(missed):,} of {counted(len(gold), 'gold answer')} predicted"
    items = map(_lost, missed[:GOLD_DRAWN])
    return tag("ul", tag("li", found, ", missed:" if missed else None), *items, class_="golds")


def _lost(gold: RunGold) -> Markup:
    return tag(
        "li",
        tag("span", "✕", class_="sign", aria_hidden="true"),
        short(gold.answer, LONGEST_ANSWER),
        " ",
        tag("span", gold.lost, class_="tag"),
        title=" / ".join(gold.spellings)[:300],
    )


def _rest(answers: Sequence[RunAnswer], question: RunQuestion, rulings: Rulings | None) -> Markup | None:
    """The candidates that were rejected, folded away."""
    if not answers:
        return None
    items = [_answer(answer, question, rulings) for answer in answers[:ANSWERS_DRAWN]]
    more = len(answers) - len(items)
    return tag(
        "details",
        tag("summary", counted(len(answers), "rejected candidate")),
        tag(
            "ul", join(items), tag("li", f"{more:,} more", class_="none") if more else None, class_="answers"
        ),
    )

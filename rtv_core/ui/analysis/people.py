"""How far annotators agree, where they don't, and how many answers nobody has found yet."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from rtv_core.analysis.missing import Missing
from rtv_core.analysis.rulings import key_of
from rtv_core.annotation.agreement import AXES, Agreement, Coefficient, Disagreement
from rtv_core.errors import InputError, RtvError
from rtv_core.records import Judgement, RunQuestion
from rtv_core.store.traces import question_key
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.ui.analysis.compared import render_pair
from rtv_core.ui.analysis.rounds import render_rounds
from rtv_core.ui.analysis.state import Analysis, Look
from rtv_core.ui.analysis.tables import drawn, figure, note, number, section, short, table
from rtv_core.ui.analysis.view import View
from rtv_core.ui.marks import gold_answers
from rtv_core.ui.markup import Markup, escape, join, tag
from rtv_core.ui.render.parts import counted

__all__ = ["CLOSED", "NEEDS_GOLD", "adjudicated", "question_of", "render_people", "render_settled"]

DISAGREEMENTS_DRAWN = 50
GOLD_DRAWN = 100
LONGEST_ANSWER = 200
LONGEST_NOTE = 300

NEEDS_GOLD = ("listed", "variant")
"""The labels that name a gold answer."""

CLOSED = (
    "Who said what is not shown on a shared server, so that nobody's verdicts colour another's. Open the "
    "file of judgements on your own machine, without --auth, or sign in as an admin, to settle disagreements."
)


def render_people(look: Look, view: View, open_verdicts: bool, signed: str = "") -> Markup:
    """Agreement, disagreements, two rounds, missing answers, and the other run if there is one.

    `signed` is the name of whoever is signed in, who then is the adjudicator.
    """
    analysis = look.analysis
    settled = section("Disagreements", note(CLOSED), name="split")
    return drawn(
        view.turn,
        _agreement(analysis, open_verdicts),
        _disagreements(analysis, signed) if open_verdicts else settled,
        _rounds(look, view) if open_verdicts else None,
        _missing(look),
        render_pair(look.pair),
    )


def question_of(analysis: Analysis, trace_id: str, text: str) -> RunQuestion | None:
    """The run's question on a trace or, asked in another run, in the same words."""
    wanted = question_key(text)
    found = None
    for question in analysis.questions:
        if question.trace_id == trace_id:
            return question
        if found is None and question_key(question.question.text) == wanted:
            found = question
    return found


def adjudicated(analysis: Analysis, trace_id: str, answer: str) -> Judgement | None:
    """The verdict of the adjudicator who spoke last on an answer."""
    key = key_of(answer)
    said = [
        judgement
        for judgement in analysis.judgements
        if judgement.annotator in analysis.counting.adjudicators
        and judgement.trace_id == trace_id
        and key_of(judgement.answer) == key
    ]
    return max(said, key=lambda judgement: judgement.at, default=None)


def _agreement(analysis: Analysis, open_verdicts: bool) -> Markup:
    title = "Agreement between annotators"
    axes = [analysis.agreement(axis) for axis in AXES]
    if not any(axis.shared for axis in axes):
        text = (
            "No answer has verdicts of two annotators. Draw a queue with an overlap of 2 "
            "(python -m rtv_core queue draw --overlap 2) and let two people judge it under their own names."
        )
        return section(title, note(text), name="agreement")
    rows, notes = [], []
    for axis in axes:
        rows.append([f"on the {axis.axis}", *_agreement_cells(axis)])
        notes += [f"On the {axis.axis}: {c.note}" for c in _coefficients(axis) if c.note]
    columns = ("", "answers judged", "by two or more", "percent", "kappa", "Krippendorff's alpha")
    names = ", ".join(analysis.ratings("answer").annotators[:20]) if open_verdicts else ""
    return section(
        title,
        figure(
            "By axis",
            table("Agreement by axis, with 95 % bootstrap intervals over answers", columns, rows),
            note("Kappa is Cohen's for two annotators, Fleiss' for more. Brackets: 95 % intervals."),
            note("Annotators: ", tag("bdi", escape(names, 400)), ".") if names else None,
            *(note(text) for text in dict.fromkeys(notes)),
            _matrices() if open_verdicts else None,
            file="agreement",
        ),
        name="agreement",
    )


def _matrices() -> Markup:
    buttons = (
        tag(
            "button",
            f"{axis} labels, annotator by annotator (CSV)",
            type="button",
            data_file=f"matrix-{axis}",
            class_="take",
        )
        for axis in AXES
    )
    return tag("p", "Raw matrix: ", *(p for button in buttons for p in (button, " ")), class_="rtv-note")


def _coefficients(axis: Agreement) -> tuple[Coefficient, Coefficient, Coefficient]:
    return axis.percent, axis.kappa, axis.alpha


def _agreement_cells(axis: Agreement) -> list[Markup]:
    cells = [tag("span", f"{axis.judged:,}"), tag("span", f"{axis.shared:,}")]
    for found, digits, scale in ((axis.percent, 0, 100), (axis.kappa, 2, 1), (axis.alpha, 2, 1)):
        cells.append(_coefficient(found, digits, scale))
    return cells


def _coefficient(found: Coefficient, digits: int, scale: float) -> Markup:
    if found.value is None:
        return tag("span", "undefined")
    value = number(scale * found.value, digits)
    if found.low is None:
        return tag("span", tag("b", value), class_="value")
    ends = f"({number(scale * found.low, digits)} to {number(scale * found.high, digits)})"
    return tag("span", tag("b", value), " ", tag("span", ends, class_="between"), class_="value")


def _disagreements(analysis: Analysis, signed: str) -> Markup:
    title = "Disagreements"
    found = [
        (disagreement, adjudicated(analysis, disagreement.item.trace_id, disagreement.item.answer))
        for disagreement in analysis.disagreements
    ]
    if not found:
        return section(
            title, note("No answer has different labels from two annotators."), name="disagreements"
        )
    found.sort(key=lambda pair: pair[1] is not None)  # what is settled goes to the end
    settled = sum(settled is not None for _, settled in found)
    items = [_disagreement(analysis, *pair) for pair in found[:DISAGREEMENTS_DRAWN]]
    more = len(found) - len(items)
    name = tag(
        "label",
        "Adjudicator's name ",
        tag(
            "input",
            type="text",
            value=signed or None,
            readonly=bool(signed),
            data_adjudicating=True,
            maxlength=80,
            autocomplete="off",
        ),
        class_="rtv-adjudicator",
    )
    return section(
        title,
        figure(
            f"{counted(len(found), 'answer')} with different labels, {settled:,} settled",
            note(
                "An adjudicator's verdict is one more verdict: it settles the others' and leaves them as "
                "they are."
            ),
            name,
            tag("ol", *items, class_="rtv-disagreements"),
            note(f"{more:,} more not drawn; the CSV has them all.") if more else None,
            file="disagreements",
        ),
        name="disagreements",
    )


def _disagreement(analysis: Analysis, found: Disagreement, settled: Judgement | None) -> Markup:
    item = found.item
    question = question_of(analysis, item.trace_id, item.question)
    asked = {"run": analysis.run.name, "q": question.position} if question else {"q": item.question}
    link = "?" + urlencode(asked | {"candidate": item.answer})
    said = (_said(judgement) for judgement in found.judgements)
    done = None
    if settled is not None:
        done = tag(
            "p", "✓ settled by ", short(settled.annotator), ": ", tag("b", settled.label), class_="done"
        )
    return tag(
        "li",
        tag("p", tag("bdi", escape(item.question, 400)), class_="asked"),
        tag(
            "p",
            tag("b", short(item.answer, LONGEST_ANSWER)),
            " ",
            tag("a", "evidence on Explore", href=link, target="_blank", rel="noopener"),
            class_="answer",
        ),
        tag("ul", *said, class_="said"),
        done,
        _verdicts(question, settled),
        data_trace=item.trace_id,
        data_answer=item.answer,
    )


def _said(judgement: Judgement) -> Markup:
    evidence = f", evidence {judgement.evidence}" if judgement.evidence else ""
    gold = (" of ", short(judgement.gold)) if judgement.gold and judgement.label == "variant" else ()
    words = (": ", tag("q", escape(judgement.note, LONGEST_NOTE))) if judgement.note else ()
    seen = "" if judgement.blind else " (not blind)"
    return tag(
        "li", short(judgement.annotator), " ", tag("b", judgement.label), *gold, evidence, seen, *words
    )


def _verdicts(question: RunQuestion | None, settled: Judgement | None) -> Markup:
    """The buttons that settle it, with the gold answer it equals and what its evidence says."""
    gold = gold_answers(question.question) if question else ()
    buttons = (
        tag(
            "button",
            label,
            type="button",
            data_adjudicate=label,
            aria_pressed=str(bool(settled and settled.label == label)).lower(),
            disabled=label in NEEDS_GOLD and not gold,
        )
        for label in LABELS
    )
    choices = [tag("option", "which gold?", value="")]
    choices += [tag("option", escape(g[0], 60), value=i) for i, g in enumerate(gold[:GOLD_DRAWN])]
    evidence = [tag("option", "evidence: not said", value="")]
    evidence += [tag("option", f"evidence: {label}", value=label) for label in EVIDENCE_LABELS]
    return tag(
        "div",
        *buttons,
        tag("select", *choices, data_gold_choice=True, aria_label="The gold answer it equals")
        if gold
        else None,
        tag("select", *evidence, data_evidence_choice=True, aria_label="What its evidence says"),
        class_="settle",
        role="group",
        aria_label="Settle it",
    )


def _rounds(look: Look, view: View) -> Markup:
    try:
        rounds = look.rounds()
    except RtvError as error:
        rounds = error
    return render_rounds(look.analysis, rounds, view)


def _missing(look: Look) -> Markup:
    """By annotators, by all runs on the same questions and, if it is another pair, by the two compared."""
    pair = look.pair
    sources = [
        ("by annotators", "missing-annotators", lambda: look.analysis.missing),
        ("by systems", "missing-systems", look.missing),
    ]
    if pair is not None:
        sources.append(("by the two runs compared", "missing-pair", lambda: pair.missing))
    parts, told = [], set()
    for name, file, get in sources:
        try:
            found = get()
        except InputError as error:
            parts.append(note(f"{name[0].upper()}{name[1:]}: {error}"))
            continue
        if found.sources not in told:
            parts.append(_missing_figure(name, file, found))
        told.add(found.sources)
    return section("Answers still missing", *parts, name="missing")


def _missing_figure(name: str, file: str, found: Missing) -> Markup:
    rows: list[Sequence[str | Markup]] = [[short(who), f"{count:,}"] for who, count in found.sources]
    rows += [
        ["found by more than one", f"{found.overlap:,}"],
        ["found in all", f"{found.found:,}"],
        [
            "estimated in all" if not found.lower_bound else "in all, at least",
            tag(
                "span",
                tag("b", f"{found.total:,.0f}"),
                " ",
                tag("span", f"({found.low:,.0f} to {found.high:,.0f})", class_="between"),
            ),
        ],
        ["still missing", tag("b", f"{found.missing:,.0f}")],
    ]
    caption = f"Valid answers found, and how many are estimated to be missing, {name}"
    return figure(
        f"Capture and recapture {name} ({found.method})",
        table(caption, ("", "valid answers"), rows),
        tag("p", "This rests on:", class_="rtv-note"),
        tag("ul", *(tag("li", text) for text in found.notes), class_="rtv-notes"),
        file=file,
    )


def render_settled(text: str, saved: bool, trace_id: str = "", again: bool = True) -> Markup:
    """What became of an adjudication: saved, with the way to take it back, or why it was not."""
    undo = tag("button", "Undo", type="button", data_unsettle=trace_id) if saved and again else None
    words = [tag("span", "✓ " if saved else "✕ ", aria_hidden="true"), escape(text, 600), " ", undo]
    return tag(
        "p",
        join(words),
        class_=f"rtv-settled {'ok' if saved else 'bad'}",
        role="status" if saved else "alert",
        data_settled=saved,
    )

"""The list of candidates, with the tau line in it."""

from __future__ import annotations

import string
from collections.abc import Sequence

from rtv_core.records import EVIDENCE_SIZES, Trace
from rtv_core.ri2ver import says_words, score_text
from rtv_core.settings import VerifierSettings
from rtv_core.ui.beside import Beside
from rtv_core.ui.marks import Row, gold_answers, is_given
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.parts import (
    ACCEPTED,
    CANDIDATES_DRAWN,
    LONGEST_ANSWER,
    SPELLINGS_DRAWN,
    STATES,
    column_head,
    counted,
    empty_state,
    numbers,
    states_of,
)
from rtv_core.ui.render.second import render_cell

__all__ = ["render_candidates", "render_summary"]


def render_summary(trace: Trace | None, rows: Sequence[Row], settings: VerifierSettings) -> Markup:
    """How many answers are kept, and how much of the gold they are."""
    if trace is None or not rows:
        return tag("p", class_="rtv-summary")
    states = states_of(trace, settings)
    kept = [row for row in rows if states.get(row.index) in ACCEPTED]
    parts = [tag("b", str(len(kept)), data_count="answers"), f" kept of {len(rows):,}"]
    if gold := gold_answers(trace.question):
        found = len({i for row in kept for i in row.gold})
        star = tag("span", "★ ", aria_hidden="true")
        count = tag("b", str(found), data_count="gold")
        parts.append(tag("span", star, count, f" of {len(gold)} gold found", class_="gold"))
    elif trace.question.answers:
        parts.append(tag("span", "gold: no answer", class_="gold"))
    return tag("p", *parts, class_="rtv-summary", aria_live="polite")


def render_candidates(
    trace: Trace | None,
    rows: Sequence[Row],
    extra: Sequence[Row],
    settings: VerifierSettings,
    running: bool = False,
    beside: Beside | None = None,
) -> Markup:
    """The candidates with the tau line among them, then the answers that are no candidates.

    With a second system `beside`, each row has its cell, and the answers that only it gives come last.
    """
    if trace is None:
        text = (
            "Every possible answer, united over the passages that gave it. What lies above the tau line is "
            "kept; the rest stays in sight, for a right answer that was missed is often just below."
        )
        return join([column_head("Candidates"), empty_state(text)])
    unscored = is_given(trace) and not trace.verdicts
    asides = (f"{len(rows):,}", *(() if unscored else ("validity score", "from"))) if rows else ()
    other = (beside.column.name,) if beside else ()
    head = column_head("Candidates", *(asides[:-1] if beside else asides), *other)
    states = states_of(trace, settings)
    at = EVIDENCE_SIZES.index(settings.k)
    above = sum(bool(row.p_right) and row.p_right[at] > settings.tau for row in rows)
    words = says_words(trace)
    lines = [
        _candidate(row, states.get(row.index, "unverified"), at, beside, words)
        for row in rows[:CANDIDATES_DRAWN]
    ]
    if trace.verdicts:
        lines.insert(min(above, len(lines)), _tau_line(settings.tau, none=not above))
    if (more := len(rows) - CANDIDATES_DRAWN) > 0:
        lines.append(_between(f"{counted(more, 'more candidate')} not drawn"))
    if extra:
        lines.append(_between("Not among the candidates"))
        lines += [_candidate(row, "missed", at, beside) for row in extra[:CANDIDATES_DRAWN]]
    if beside and (only := _only_theirs(beside, extra)):
        lines.append(_between(f"Only {beside.column.name} gives"))
        lines += [_candidate(row, "missed", at, beside) for row in only[:CANDIDATES_DRAWN]]
    signs = tag("li", *map(_sign, STATES), class_="signs", role="presentation", hidden=True)
    listed = tag(
        "ol",
        *lines,
        signs,  # what moving tau puts in place of a row's sign
        class_="rtv-candidates",
        role="listbox",
        aria_label="Candidates, best first",
        data_stage=trace.stage,
        data_running=int(running),
        data_tau=f"{settings.tau:.4f}",
        data_k=settings.k,
        data_single=int(settings.single_answer),
        data_beside=bool(beside),
        data_words=words,
        data_opinions=beside.column.name if beside and beside.exchanges else None,
        style=f"--tau:{settings.tau:.4f}",
    )
    return join([head, None if rows else _no_candidates(trace, running), listed])


def _only_theirs(beside: Beside, extra: Sequence[Row]) -> list[Row]:
    """The rows of the second system's own answers; once judged, an answer stands among the extra rows."""
    drawn = {row.key for row in extra}
    return [row for row in beside.only if row.key not in drawn]


def _no_candidates(trace: Trace, running: bool) -> Markup:
    if running:
        return empty_state("Reading the passages…")
    if is_given(trace):
        return empty_state("The system gave no answer.")
    if not trace.complete:
        return empty_state("Stopped before a candidate was recalled. Press Ask to start again.")
    return empty_state(
        "No answer: no passage gave a candidate. Lower the relevance threshold or raise the number of "
        "passages under Advanced and ask again, or add the answer you expected below."
    )


def _tau_line(tau: float, none: bool) -> Markup:
    return tag(
        "li",
        tag("span", "tau ", tag("b", f"{tau:.2f}", data_tau_text=True)),
        tag("span", "none is above: the best is kept", class_="none"),
        class_="tau-line",
        role="presentation",
        data_none=int(none),
    )


def _between(text: str) -> Markup:
    return tag("li", text, class_="between", role="presentation")


def _candidate(row: Row, state: str, at: int, beside: Beside | None, words: bool = False) -> Markup:
    gave = f"recalled from {counted(len(row.ranks), 'passage')}" if row.ranks else ""
    score = score_text(row.p_right[at], words) if row.p_right else ""
    gold = (tag("span", "★", aria_hidden="true"), spoken("gold")) if row.gold else ()
    name = tag("bdi", escape(row.answer, LONGEST_ANSWER), class_="answer")
    cell = beside.cell(row) if beside else None
    return tag(
        "li",
        _sign(state),
        tag("span", name, _second_line(row), class_="name"),
        tag("span", tag("i"), class_="bar", aria_hidden="true"),
        tag("span", score, class_="score", title="validity score: how strongly the verifier says right"),
        render_cell(cell, beside.column) if beside else None,
        tag("span", *gold, class_="gold", title="equals a gold answer" if gold else None),
        tag("span", str(len(row.ranks) or ""), spoken(f" {gave}"), class_="sources", title=gave or None),
        role="option",
        class_="row",
        tabindex=-1,
        aria_selected="false",
        data_state=state,
        data_key=row.key,
        data_answer=row.answer[:LONGEST_ANSWER],
        data_index="" if row.index is None else row.index,
        data_p=" ".join(f"{p:.6f}" for p in row.p_right),
        data_places=numbers(row.places),
        data_keeps=numbers(row.keeps),
        data_gold=numbers(row.gold),
        data_ranks=numbers(row.ranks),
        data_evidence=numbers(row.evidence_ranks),
        data_other=int(bool(cell and cell.found)) if beside else None,
        data_both=bool(cell and cell.candidate and row.places),
        style=f"--p:{row.p_right[at]:.2f}" if row.p_right else "--p:0",
    )


def _sign(state: str) -> Markup:
    sign, word = STATES[state]
    shown = tag("span", sign, aria_hidden="true")
    return tag("span", shown, spoken(f"{word}: "), class_=f"state {state}", title=word)


def _second_line(row: Row) -> Markup | None:
    """What a person said of the answer, and its other spellings."""
    parts = []
    if row.judgement:
        parts.append(tag("span", f"you: {row.judgement.label}", class_="tag said", title="your verdict"))
    if others := _other_spellings(row):
        parts.append(" also ")
        for place, spelling in enumerate(others[:SPELLINGS_DRAWN]):
            parts += [" · " if place else None, tag("bdi", escape(spelling, LONGEST_ANSWER))]
        if (more := len(others) - SPELLINGS_DRAWN) > 0:
            parts.append(f" · {more} more")
    return tag("span", *parts, class_="second") if parts else None


def _other_spellings(row: Row) -> list[str]:
    """Those that tell a reader something: not the answer again with an article, a capital or a full stop."""
    seen = {_plain(row.answer)}
    return [s for s in row.spellings if (key := _plain(s)) not in seen and not seen.add(key)]


def _plain(spelling: str) -> str:
    words = spelling.casefold().strip(f"{string.punctuation} ").split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("a", "an", "the") else words)

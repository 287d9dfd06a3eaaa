"""The retrieved passages, with what the recaller took from each."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import Hit, Passage, Span, Trace
from rtv_core.ui.marks import is_given
from rtv_core.ui.markup import Markup, join, marked, spoken, tag
from rtv_core.ui.render.parts import (
    PASSAGES_DRAWN,
    column_head,
    counted,
    empty_state,
    passage_text,
    passage_title,
)

__all__ = ["render_passages"]

SNIPPET = 110
MARKED = 8


def render_passages(trace: Trace | None, running: bool = False) -> Markup:
    """The retrieved passages: rank, scores, title, text with the recalled spans marked."""
    if trace is None:
        text = "The passages found for the question. Each is read alone; what was recalled from it is marked."
        return join([column_head("Retrieved"), empty_state(text)])
    given = is_given(trace)
    if given and not trace.hits:
        return join([column_head("Passages"), empty_state("The system showed no passage.")])
    if not trace.hits:
        text = "Searching…" if running else "No passage was found. Ask again in other words."
        return join([column_head("Retrieved"), empty_state(text)])
    relevance = {reading.passage_id: reading.relevance for reading in trace.readings}
    recalled: dict[str, list[Span]] = {}
    for source in (source for candidate in trace.candidates for source in candidate.sources):
        recalled.setdefault(source.passage_id, []).append(source.span)
    spans = {id_: _apart(found) for id_, found in recalled.items()}
    drawn = trace.hits[:PASSAGES_DRAWN]
    items = (
        _hit(hit, spans.get(hit.passage.id, ()), relevance.get(hit.passage.id), scored=not given)
        for hit in drawn
    )
    ticks = (tag("i", data_rank=hit.rank) for hit in drawn)
    legend = "● gave the chosen candidate · ○ is evidence for it"
    over = tag(
        "div",
        column_head("Shown by the system" if given else "Retrieved", str(len(trace.hits))),
        tag("div", *ticks, class_="rtv-ticks", aria_hidden="true", title="the passages by rank"),
        tag("p", legend, class_="rtv-caption rtv-legend", data_default=legend),
        class_="rtv-over",
    )
    more = len(trace.hits) - len(drawn)
    return join(
        [
            over,
            tag(
                "ol", *items, class_="rtv-passages", role="listbox", aria_label="Retrieved passages, by rank"
            ),
            tag("p", f"{counted(more, 'more passage')} not drawn", class_="rtv-caption") if more else None,
        ]
    )


def _hit(hit: Hit, spans: Sequence[tuple[int, int]], relevance: float | None, scored: bool) -> Markup:
    dots = (
        tag("span", tag("span", dot, aria_hidden="true"), spoken(word), class_=f"dot {name}", title=word)
        for name, dot, word in (
            ("gave", "●", "gave the chosen candidate"),
            ("used", "○", "evidence for the chosen candidate"),
        )
    )
    read = None
    if relevance is not None:
        title = "how likely the passage holds an answer, says the recaller"
        read = tag("span", "relevance ", tag("b", f"{relevance:.2f}"), title=title)
    top = tag(
        "div",
        tag("span", str(hit.rank), class_="no"),
        tag("span", f"{hit.dense:.2f}", class_="score", title="dense score") if scored else None,
        tag("span", passage_title(hit.passage), class_="title"),
        *dots,
        class_="top",
    )
    lexical = tag("b", f"{hit.lexical:.2f}")
    meta = tag(
        "div",
        tag("span", "dense ", _rank(hit.dense_rank), title="rank by dense score"),
        tag("span", "words ", lexical, " ", _rank(hit.lexical_rank), title="BM25 score and rank"),
        read,
        class_="meta",
    )
    return tag(
        "li",
        top,
        meta if scored else None,
        tag("p", _snippet(hit.passage, spans), class_="snippet"),
        tag("p", passage_text(hit.passage, spans), class_="text"),
        role="option",
        class_="hit",
        tabindex=-1,
        aria_selected="false",
        data_rank=hit.rank,
    )


def _rank(rank: int | None) -> str:
    return f"#{rank}" if rank is not None else "not found"


def _apart(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The best spans of a passage, best first, at most `MARKED`, of which none overlaps a better one.

    A passage gives many cuts of one place; marked all together they would be one long mark.
    """
    kept: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda span: (-span.score, span.start)):
        if span.is_nowhere:
            continue
        if len(kept) < MARKED and all(span.end <= start or end <= span.start for start, end in kept):
            kept.append((span.start, span.end))
    return kept


def _snippet(passage: Passage, spans: Sequence[tuple[int, int]]) -> Markup:
    """A line or two around the best recalled span, the first of `spans`, or the passage's beginning."""
    start = max(spans[0][0] - SNIPPET // 3, 0) if spans else 0
    start = passage.text.rfind(" ", 0, start) + 1
    text = passage.text[start : start + SNIPPET]
    shown = marked(text, [(s - start, e - start) for s, e in spans if s >= start])
    more = "…" if start + SNIPPET < len(passage.text) else ""
    return tag("bdi", "…" if start else "", shown, more)

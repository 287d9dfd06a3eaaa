"""What the columns share: headings, counts, passages, and the states a candidate can be in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtv_core.records import Passage, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.thresholds import judge
from rtv_core.ui.marks import is_given
from rtv_core.ui.markup import Markup, marked, tag

__all__ = [
    "ACCEPTED",
    "CANDIDATES_DRAWN",
    "LONGEST_ANSWER",
    "LONGEST_MESSAGE",
    "LONGEST_NAME",
    "LONGEST_PASSAGE",
    "PASSAGES_DRAWN",
    "SPELLINGS_DRAWN",
    "STATES",
    "column_head",
    "counted",
    "empty_state",
    "numbers",
    "passage_text",
    "passage_title",
    "states_of",
]

PASSAGES_DRAWN = 100
CANDIDATES_DRAWN = 200
SPELLINGS_DRAWN = 5
LONGEST_PASSAGE = 3000
LONGEST_ANSWER = 200
LONGEST_NAME = 80
LONGEST_MESSAGE = 600
ACCEPTED = ("accepted", "fallback", "given")
STATES = {
    "accepted": ("✓", "accepted"),
    "fallback": ("✓", "kept as the best: none is above tau"),
    "given": ("✓", "given by the system, without a score"),
    "rejected": ("–", "rejected"),
    "repeat": ("=", "a repeat of a better candidate"),
    "unverified": ("·", "not verified yet"),
    "missed": ("?", "not among the candidates"),
}
"""The sign and the words for each state of a candidate."""


def column_head(title: str, count: str = "", *asides: str) -> Markup:
    """A column's heading, how many there are, and what stands at its right."""
    number = tag("span", count, class_="n") if count else None
    words = (tag("span", aside, class_="aside") for aside in asides)
    return tag("div", tag("h2", title, " ", number), *words, class_="rtv-head")


def empty_state(text: str) -> Markup:
    """What a column says while it has nothing to show: what will be here, or what to do."""
    return tag("p", text, class_="rtv-empty")


def counted(number: int, noun: str) -> str:
    """ "1 passage", "2 passages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def numbers(values: Iterable[int]) -> str:
    """Numbers for a data attribute."""
    return " ".join(str(int(value)) for value in values)


def states_of(trace: Trace, settings: VerifierSettings) -> dict[int | None, str]:
    """The state of each verified or given candidate, by its index: one of `STATES`."""
    if is_given(trace) and not trace.verdicts:
        return dict.fromkeys(range(len(trace.candidates)), "given")
    states: dict[int | None, str] = {}
    for p in judge(trace, settings):
        if p.accepted:
            states[p.index] = "fallback" if p.fallback else "accepted"
        else:
            repeat = p.p_right > settings.tau and not settings.single_answer
            states[p.index] = "repeat" if repeat else "rejected"
    return states


def passage_title(passage: Passage, spans: Sequence[tuple[int, int]] = ()) -> Markup:
    """A passage's title with the spans marked."""
    if not passage.title:
        return tag("i", "without title")
    more = "…" if len(passage.title) > LONGEST_ANSWER else ""
    return tag("bdi", marked(passage.title[:LONGEST_ANSWER], spans), more)


def passage_text(passage: Passage, spans: Sequence[tuple[int, int]]) -> Markup:
    """A passage's text with the spans marked, cut where it is too long to draw."""
    text = marked(passage.text[:LONGEST_PASSAGE], spans)
    more = len(passage.text) - LONGEST_PASSAGE
    cut = tag("span", f"… {counted(more, 'more character')} not shown", class_="cut") if more > 0 else None
    return tag("bdi", text, cut)

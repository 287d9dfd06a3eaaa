"""What-ifs: evidence passages to take away, and the score without them. Nothing of it is ever stored."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.attack import Flip, Removal, of_title, supporters
from rtv_core.records import EVIDENCE_SIZES, Evidence, Trace
from rtv_core.ri2ver import score_text
from rtv_core.settings import VerifierSettings
from rtv_core.text import COVERAGE_RULES
from rtv_core.ui.marks import Row, candidate_key, gold_answers, is_given, made_with
from rtv_core.ui.markup import Markup, escape, spoken, tag
from rtv_core.ui.render.parts import (
    ACCEPTED,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    counted,
    numbers,
    states_of,
)

__all__ = ["can_take_away", "render_away", "render_no_whatif", "render_tools", "render_whatif"]

OTHERS_OFFERED = 12
ANOTHER_DAY = 0.005
"""How far a score may lie from the one that was kept, before the page says that it was made otherwise."""

PROMISE = "A what-if: never stored as the verdict."


def can_take_away(trace: Trace, row: Row) -> bool:
    """Whether the row is a verified candidate of our own pipeline, with evidence to take away."""
    return (
        row.index is not None
        and not is_given(trace)
        and row.index < min(len(trace.evidence), len(trace.verdicts))
        and bool(trace.evidence[row.index].passages)
    )


def render_tools(trace: Trace, row: Row, settings: VerifierSettings) -> Markup:
    """The ways to take several passages away at once, and to look for the fewest that matter."""
    evidence = trace.evidence[row.index]
    others = _supported(trace, row, evidence, settings)
    groups = (("all supporters of", others), ("all of one title", _titles(evidence)))
    options = [
        tag("optgroup", *(_option(name, places) for name, places in found), label=label)
        for label, found in groups
        if found
    ]
    first = tag("option", "Take away…", value="", selected=True)
    label = "Take several evidence passages away"
    choice = (
        tag("select", first, *options, data_take=True, aria_label=label, title=label) if options else None
    )
    flip = tag(
        "button",
        "Smallest set that flips this verdict",
        type="button",
        data_flip=True,
        title="the fewest passages without which the candidate comes to lie on the other side of tau",
    )
    return tag("div", tag("span", "What if", class_="lead"), choice, flip, class_="rtv-tools")


def render_away(place: int) -> Markup:
    """The box by which one evidence passage is taken away."""
    box = tag("input", type="checkbox", data_away=place, autocomplete="off")
    title = "score the candidate without this passage"
    return tag("label", box, "take away", spoken(f" passage {place + 1}"), class_="away", title=title)


def render_whatif(
    row: Row,
    whole: float,
    removal: Removal,
    settings: VerifierSettings,
    turn: int,
    flip: Flip | None = None,
    plain: bool = False,
) -> Markup:
    """The score before and after; `flip` if the smallest set was looked for. `turn` is the event's.

    Where the scores are `plain` words, they are shown as such.
    """
    at = EVIDENCE_SIZES.index(settings.k)
    words: list[Markup | str | None] = [tag("span", _without(removal, flip), class_="what")]
    if removal.taken:
        words += _scores(whole, removal.p_right, settings.tau, plain)
    if abs(whole - row.p_right[at]) > ANOTHER_DAY:
        kept = score_text(row.p_right[at], plain)
        text = f"The kept verdict, {kept}, was made with other models or settings."
        words.append(tag("span", text, class_="quiet"))
    if removal.taken:
        words += [_button("Undo", "undo"), _button("Put all back", "clear")]
    return tag(
        "div",
        *words,
        tag("span", PROMISE, class_="quiet"),
        class_="rtv-whatif",
        role="status",
        data_key=row.key,
        data_turn=turn,
        data_taken=numbers(removal.taken),
        data_found=int(flip is not None),
        data_after=f"{removal.p_right:.6f}",
    )


def render_no_whatif(text: str, key: str, turn: int) -> Markup:
    """Why there is no what-if."""
    sign = tag("span", "✕ ", aria_hidden="true")
    words = tag("span", sign, escape(text, LONGEST_MESSAGE), class_="bad")
    return tag("div", words, class_="rtv-whatif", role="alert", data_key=key, data_turn=turn, data_found=0)


def _without(removal: Removal, flip: Flip | None) -> str:
    named = _named(removal.taken)
    if flip is None:
        return f"Without {named}:"
    tried = f"{counted(flip.scored, 'set')} scored"
    if flip.removal is None:
        short = "" if flip.exact else ", of these the promising ones,"
        return f"No set of passages short of all{short} flips this verdict ({tried})."
    sure = "the smallest set" if flip.exact else "the smallest set found, perhaps not the smallest there is"
    return f"Without {named}, {sure} that flips this verdict ({tried}):"


def _named(taken: Sequence[int]) -> str:
    places = [str(place + 1) for place in taken]
    if len(places) < 2:
        return f"passage {''.join(places)}"
    return f"passages {', '.join(places[:-1])} and {places[-1]}"


def _scores(before: float, after: float, tau: float, plain: bool) -> list[Markup | str]:
    above = after > tau
    sign, side = ("✓", "above") if above else ("–", "at or below")
    state = "accepted" if above else "rejected"
    flips = tag("b", " the verdict flips") if above != (before > tau) else None
    shown = tag(
        "span",
        tag("b", score_text(before, plain), class_="before"),
        tag("span", " → ", aria_hidden="true"),
        spoken(" becomes "),
        tag("b", score_text(after, plain), class_="after"),
        None if plain else tag("span", f" ({after - before:+.2f})", class_="by"),
        class_="scores",
    )
    word = tag("span", tag("span", f"{sign} ", aria_hidden="true"), f"{side} tau {tau:.2f}", class_=state)
    return [shown, tag("span", word, flips)]


def _button(text: str, action: str) -> Markup:
    return tag("button", text, type="button", data_whatif=action)


def _option(name: str, places: Sequence[int]) -> Markup:
    return tag("option", escape(name, LONGEST_NAME), f" ({len(places)})", value=numbers(places))


def _supported(
    trace: Trace, row: Row, evidence: Evidence, settings: VerifierSettings
) -> list[tuple[str, tuple[int, ...]]]:
    """Other answers, gold ones first, with the passages that hold them and not the candidate itself."""
    states, made = states_of(trace, settings), made_with(trace.provenance)
    rule = made.evidence.coverage if made else COVERAGE_RULES[0]
    kept = [c.spellings for i, c in enumerate(trace.candidates) if states.get(i) in ACCEPTED]
    own = {row.key, *map(candidate_key, row.spellings)}
    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    for spellings in (*gold_answers(trace.question), *kept):
        keys = [candidate_key(spelling) for spelling in spellings]
        places = supporters(evidence, spellings, rule)
        if places and own.isdisjoint(keys) and not any(key in found for key in keys):
            found[keys[0]] = (spellings[0], places)
    return list(found.values())[:OTHERS_OFFERED]


def _titles(evidence: Evidence) -> list[tuple[str, tuple[int, ...]]]:
    """The titles of several passages; a single passage has its own box."""
    titles = dict.fromkeys(passage.hit.passage.title for passage in evidence.passages)
    found = ((title, of_title(evidence, title)) for title in titles)
    return [(title or "without title", places) for title, places in found if len(places) > 1]

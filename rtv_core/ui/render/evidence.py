"""What stands behind one candidate."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.evidence import is_fresh
from rtv_core.records import EVIDENCE_SIZES, EvidencePassage, Hit, Trace
from rtv_core.ri2ver import MOST_JUDGED, SECOND_VERIFIER, says_words, score_text
from rtv_core.settings import VerifierSettings
from rtv_core.text import find_answer
from rtv_core.ui.marks import Row, is_given
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.opinion import NO_OPINIONS, Opinion, Opinions
from rtv_core.ui.render.opinion import render_said
from rtv_core.ui.render.parts import (
    LONGEST_ANSWER,
    LONGEST_PASSAGE,
    STATES,
    column_head,
    counted,
    empty_state,
    passage_text,
    passage_title,
    states_of,
)
from rtv_core.ui.render.prompts import render_fresh
from rtv_core.ui.render.whatif import can_take_away, render_away, render_tools
from rtv_core.verify.asked import unmentioned

__all__ = ["render_empty_evidence", "render_evidence", "render_mentions"]


WORDS_SHOWN = 8
LONGEST_WORD = 40

NO_EVIDENCE = {
    "start": "The passages behind the score of the chosen candidate, with the places that hold it. "
    "Read them and judge with one key: the verdict is saved at once.",
    "running": "The evidence of the best candidate appears here as soon as it is verified.",
    "none": "There is no candidate, so there is no evidence. An answer that you add can be judged.",
    "ungathered": "Its evidence is not gathered. If the run was stopped, press Ask to run every stage.",
    "nothing": "No passage was gathered for this candidate.",
    "given": "The system showed no passage for this answer.",
}


def render_empty_evidence(why: str = "start") -> Markup:
    """The evidence column without a candidate: `why` is a key of `NO_EVIDENCE`."""
    return join([column_head("Evidence"), empty_state(NO_EVIDENCE[why])])


def render_evidence(
    trace: Trace,
    row: Row,
    settings: VerifierSettings,
    typed: str = "",
    opinions: Opinions = NO_OPINIONS,
) -> Markup:
    """What stands behind one candidate: its score for each k, and the evidence passages, best first.

    What language models said of it comes before the passages, what only they read after them. `typed` is
    what a person typed to get here; the page knows by it which answer this one is to. Raises ValueError for
    an answer that is no candidate: nothing was gathered for it.
    """
    if row.index is None:
        raise ValueError(f"{row.answer!r} is no candidate; use render_mentions")
    given = is_given(trace)
    state = states_of(trace, settings).get(row.index, "unverified")
    words = says_words(trace)
    head = _evidence_head(
        row, state, settings, typed, opinions.second, by_size=not given and not words, words=words
    )
    if row.index >= len(trace.evidence):
        return join([head, empty_state(NO_EVIDENCE["given" if given else "ungathered"])])
    passages = trace.evidence[row.index].passages
    if not passages:
        return join([head, empty_state(NO_EVIDENCE["given" if given else "nothing"])])
    weights = trace.verdicts[row.index].weights if row.index < len(trace.verdicts) else ()
    removable = can_take_away(trace, row)
    shown = [passage.hit.passage.id for passage in passages]
    others = [opinion for opinion in opinions.given if opinion.system]
    read_too = {p.hit.passage.id for opinion in others for p in opinion.evidence.passages}
    spellings = trace.candidates[row.index].spellings
    items = [
        _card(
            place,
            passage.hit,
            passage.covers,
            spellings,
            None if given else _similarity(passage),
            render_away(place) if removable else None,
            _weight(weights[place]) if place < len(weights) else None,
            recalled=passage.recalled,
            unused=place >= settings.k,
            retrieved=not is_fresh(passage, trace.hits),
            tags=(render_fresh(passage, trace.hits), _also_read(passage.hit.passage.id in read_too)),
        )
        for place, passage in enumerate(passages)
    ]
    caption = None
    if weights:
        text = "Bars: share of the verifier's attention at k = 10, "
        caption = tag("p", text, tag("b", "model behaviour, not a cause"), ".", class_="rtv-caption")
    tools = render_tools(trace, row, settings) if removable else None
    label = "Evidence passages, best first"
    listed = tag("ol", *items, class_="rtv-evidence", aria_label=label)
    said = [render_said(opinion, shown) for opinion in opinions.given]
    read = [_others_read(opinion, trace.hits, shown) for opinion in others]
    missing = _missing(unmentioned(trace.question.text, trace.candidates[row.index], passages))
    return join([head, missing, *said, _unjudged(opinions), caption, tools, listed, *read])


def _missing(unknown: Sequence[str]) -> Markup | None:
    """Which words of the question no passage that holds the answer has."""
    if not unknown:
        return None
    text = "Asked, but not named in a passage that holds it: "
    shown = ", ".join(word[:LONGEST_WORD] for word in unknown[:WORDS_SHOWN])
    return tag("p", text, tag("b", tag("bdi", escape(shown))), class_="rtv-caption")


def _unjudged(opinions: Opinions) -> Markup | None:
    """Why a second system says nothing of this answer, where it does say something of others."""
    if not opinions.second or any(opinion.system for opinion in opinions.given):
        return None
    asked = f"it is asked only about the {MOST_JUDGED} candidates with the best scores"
    why = asked if opinions.second == SECOND_VERIFIER else "it did not recall it"
    return tag("p", f"No verdict on this answer by the {opinions.second}: {why}.", class_="rtv-caption")


def render_mentions(
    row: Row,
    found: Sequence[tuple[Hit, tuple[str, ...]]],
    hits: Sequence[Hit],
    typed: str = "",
    opinions: Opinions = NO_OPINIONS,
) -> Markup:
    """The evidence column of an answer that is no candidate: which retrieved passages hold it."""
    head, retrieved = _evidence_head(row, "missed", None, typed, opinions.second), len(hits)
    said = [*(render_said(opinion, ()) for opinion in opinions.given), _unjudged(opinions)]
    read = [_others_read(opinion, hits, ()) for opinion in opinions.given]
    if not found:
        return join(
            [
                head,
                *said,
                empty_state(
                    f"None of the {retrieved} retrieved passages mentions it. More passages, "
                    "under Advanced, may hold it."
                ),
                *read,
            ]
        )
    spellings = (row.answer, *row.spellings)
    items = [_card(place, hit, rules, spellings) for place, (hit, rules) in enumerate(found[:10])]
    text = f"{len(found)} of {counted(retrieved, 'retrieved passage')} hold it."
    caption = tag("p", text, class_="rtv-caption")
    listed = tag("ol", *items, class_="rtv-evidence", aria_label="Passages that hold it")
    return join([head, *said, caption, listed, *read])


def _also_read(read: bool) -> Markup | None:
    title = "the second system read this passage, too"
    return tag("span", "✦ both read it", class_="tag both", title=title) if read else None


def _others_read(opinion: Opinion, hits: Sequence[Hit], shown: Sequence[str]) -> Markup | None:
    """What only the second system read of a candidate."""
    more = [p for p in opinion.evidence.passages if p.hit.passage.id not in shown]
    if not more:
        return None
    hits_by_id = {hit.passage.id: hit for hit in hits}
    items = [
        _card(
            len(shown) + place,
            hits_by_id.get(passage.hit.passage.id, passage.hit),
            passage.covers,
            opinion.evidence.candidate.spellings,
            recalled=passage.recalled,
            tags=(render_fresh(passage, opinion.hits),),
            own=False,
            retrieved=passage.hit.passage.id in hits_by_id,
        )
        for place, passage in enumerate(more)
    ]
    text = f"Read by {opinion.system[:LONGEST_ANSWER]} only"
    caption = tag("h3", escape(text, LONGEST_ANSWER), class_="rtv-caption only")
    return join([caption, tag("ol", *items, class_="rtv-evidence", aria_label=text)])


def _evidence_head(
    row: Row,
    state: str,
    settings: VerifierSettings | None,
    typed: str,
    second: str = "",
    by_size: bool = True,
    words: bool = False,
) -> Markup:
    score = by_k = None
    if settings is not None and row.p_right:
        at = EVIDENCE_SIZES.index(settings.k)
        title = "the verifier's word" if words else "validity score"
        score = tag("b", score_text(row.p_right[at], words), class_="score", title=title)
    if score and by_size:
        sizes = (
            tag("span", f"k {k} ", tag("b", f"{p:.2f}"), data_k=k, class_="chosen" if k == settings.k else "")
            for k, p in zip(EVIDENCE_SIZES, row.p_right, strict=True)
        )
        by_k = tag("span", *sizes, class_="by-k", title="the score from the first 1, 5 and 10 passages")
    states = (tag("span", word, class_=f"word {name}") for name, (_, word) in STATES.items())
    quoted = tag("q", tag("bdi", escape(row.answer, LONGEST_ANSWER)))
    return tag(
        "div",
        tag("h2", tag("span", "Evidence for ", class_="lead"), quoted),
        tag("p", score, *states, by_k, class_="line"),
        class_="rtv-head evidence",
        data_key=row.key,
        data_state=state,
        data_typed=typed,
        data_opinions=second or None,
        data_complete=int(bool(row.p_right) or row.index is None),
    )


def _similarity(passage: EvidencePassage) -> Markup:
    title = "similarity of the passage to question and candidate"
    return tag("span", "similarity ", tag("b", f"{passage.similarity:.2f}"), title=title)


def _weight(share: float) -> Markup:
    width = f"width:{100 * min(max(share, 0), 1):.1f}%"
    return tag(
        "span",
        spoken("attention share "),
        tag("span", tag("i", style=width), class_="bar", aria_hidden="true"),
        tag("b", f"{share:.2f}"),
        class_="weight",
        title="attention share at k = 10: model behaviour, not a cause",
    )


def _card(
    place: int,
    hit: Hit,
    rules: Sequence[str],
    spellings: Sequence[str],
    *scores: Markup | None,
    recalled: bool = False,
    unused: bool = False,
    tags: Sequence[Markup | None] = (),
    own: bool = True,
    retrieved: bool = True,
) -> Markup:
    """A passage. `own`: it is among the trace's own evidence; `retrieved`: the list of passages has it."""
    rule = "strict" if "strict" in rules else "official"
    title_spans, text_spans = (
        [span for spelling in spellings for span in find_answer(text, spelling, rule)]
        for text in (hit.passage.title[:LONGEST_ANSWER], hit.passage.text[:LONGEST_PASSAGE])
    )
    top = tag(
        "div",
        tag("span", str(place + 1), class_="no"),
        tag("span", passage_title(hit.passage, title_spans), class_="title"),
        _cover_badge(rules),
        tag("span", "↖ recalled", class_="tag recalled", title="the recaller took it from here")
        if recalled
        else None,
        *tags,
        tag("span", "not read at this k", class_="tag unread") if own else None,
        class_="top",
    )
    rank = tag(
        "button",
        f"rank {hit.rank}",
        type="button",
        data_show_rank=hit.rank,
        title="show it among the retrieved passages",
    )
    return tag(
        "li",
        top,
        tag("p", passage_text(hit.passage, text_spans), class_="text"),
        tag("div", rank if retrieved else None, *scores, class_="meta"),
        data_place=place if own else None,
        data_rank=hit.rank if retrieved else None,
        data_unused=unused,
    )


def _cover_badge(rules: Sequence[str]) -> Markup:
    if not rules:
        title = "the passage does not hold the candidate"
        return tag("span", "no cover", class_="tag", title=title)
    names = " + ".join(rules)
    title = f"the passage holds the candidate under the rules: {names}"
    return tag("span", f"covers · {names}", class_="tag covers", title=title)

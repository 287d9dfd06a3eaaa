"""What a language model was asked about a candidate, and what it said: the verdict, the prompts behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.evidence import is_fresh
from rtv_core.llm.exchanges import Exchange, Tally
from rtv_core.llm.fence import instructions_in
from rtv_core.llm.prompts import PROMPTS, load_prompt
from rtv_core.records import EvidencePassage, Hit, Passage
from rtv_core.ui.markup import Markup, escape, join, marked, spoken, tag
from rtv_core.ui.render.parts import LONGEST_ANSWER, LONGEST_MESSAGE, counted

__all__ = ["render_exchanges", "render_fresh", "render_opinion", "render_tally", "render_warning"]

LONGEST_PROMPT = 20_000
EXCHANGES_DRAWN = 20
INSTRUCTIONS_DRAWN = 5
AROUND = 60
"""Characters shown on each side of what looks like an instruction."""

METHODS = {
    "logprobs": "P(Yes) / (P(Yes) + P(No)), from the server's log-probabilities",
    "samples": "the share of Yes among samples; the server gives no log-probabilities",
    "word": "a word, not a confidence; the server gives no log-probabilities",
}
"""What a verdict's number is."""

STATUS_WORDS = {
    "ok": "understood",
    "cut": "cut off: read as far as it goes",
    "malformed": "not in the form asked for",
    "refused": "refused",
}

STAGE_WORDS = {"read": "Reading", "question": "Verification question", "judge": "Judgement"}


def render_opinion(exchanges: Sequence[Exchange], question: str = "") -> Markup:
    """The verdict on one candidate, what its number is, and the verification question.

    `exchanges` are those about the candidate (`exchanges.about`); `question` is the query of its evidence.
    """
    judged = [e for e in exchanges if e.stage == "judge" and e.sample == 0]
    parts = [_verdict(judged[-1]) if judged else tag("span", "not judged", class_="verdict none")]
    if question:
        asked = tag("q", tag("bdi", escape(question, LONGEST_MESSAGE)))
        parts.append(tag("p", tag("span", "It was asked ", class_="lead"), asked, class_="asked"))
    return tag("div", *parts, class_="rtv-opinion", role="status")


def render_exchanges(exchanges: Sequence[Exchange]) -> Markup:
    """Each prompt with its purpose and version beside its filled form and the raw reply, closed at first."""
    drawn = [_exchange(exchange) for exchange in exchanges[:EXCHANGES_DRAWN]]
    more = len(exchanges) - len(drawn)
    rest = tag("p", f"{counted(more, 'more exchange')} not shown", class_="cut") if more > 0 else None
    return tag("div", *drawn, rest, class_="rtv-exchanges")


def render_fresh(passage: EvidencePassage, hits: Sequence[Hit]) -> Markup | None:
    """The mark of an evidence passage that was sought anew; None for one that was retrieved at first."""
    if not is_fresh(passage, hits):
        return None
    title = "found in the whole corpus for the verification question; not among the retrieved passages"
    return tag("span", "✚ fresh", class_="tag fresh", title=title)


def render_warning(passages: Sequence[Passage]) -> Markup | None:
    """The passages that look like an instruction, with the words that do; None if none does."""
    found = [(p, text, spans) for p in passages if (spans := instructions_in(text := f"{p.title}\n{p.text}"))]
    if not found:
        return None
    items = [_instruction(*one) for one in found[:INSTRUCTIONS_DRAWN]]
    more = len(found) - len(items)
    head = f"{counted(len(found), 'passage')} here may be meant to instruct the reader. Read with care."
    rest = tag("li", f"and {more:,} more") if more > 0 else None
    sign = tag("span", "⚠ ", aria_hidden="true")
    return tag("div", tag("p", sign, head), tag("ul", *items, rest), class_="rtv-suspicious", role="note")


def render_tally(found: Tally) -> Markup:
    """How a question's exchanges went: calls, tokens, and what was not understood."""
    parts = [counted(found.exchanges, "exchange"), f"{found.tokens_in:,} tokens in, {found.tokens_out:,} out"]
    parts += [
        f"{found.of(status):,} {status}" for status in ("malformed", "refused", "cut") if found.of(status)
    ]
    if found.suspicious:
        parts.append(f"{counted(found.suspicious, 'passage')} that may instruct the reader")
    return tag("p", " · ".join(parts), class_="rtv-tally")


def _verdict(exchange: Exchange) -> Markup:
    if exchange.p_yes is None:
        words = f"no verdict: {STATUS_WORDS[exchange.status]}, so it counts as 0"
        return tag("span", words, class_="verdict none", title=exchange.why[:LONGEST_MESSAGE])
    yes = exchange.p_yes > 0.5
    method = METHODS[exchange.method]
    number = None if exchange.method == "word" else tag("b", f" {exchange.p_yes:.2f}")
    return tag(
        "span",
        "language model: ",
        tag("b", "Yes" if yes else "No"),
        number,
        tag("span", f" ({method})", class_="method"),
        class_=f"verdict {'yes' if yes else 'no'}",
    )


def _exchange(exchange: Exchange) -> Markup:
    name = exchange.prompt.partition(" ")[0]
    attempt = f", attempt {exchange.attempt}" if exchange.attempt > 1 else ""
    sample = f", sample {exchange.sample}" if exchange.sample else ""
    head = tag(
        "summary",
        f"{STAGE_WORDS.get(exchange.stage, exchange.stage)}{attempt}{sample}: ",
        tag("span", STATUS_WORDS.get(exchange.status, exchange.status), class_=f"status {exchange.status}"),
        tag("span", f" · {exchange.why}"[:LONGEST_MESSAGE]) if exchange.why else None,
    )
    cost = f"{exchange.tokens_in:,} tokens in, {exchange.tokens_out:,} out, {exchange.seconds:.1f} s"
    facts = f"prompt {exchange.prompt} · {exchange.model} · {cost}"
    return tag(
        "details",
        head,
        tag("p", escape(facts, LONGEST_MESSAGE), class_="facts"),
        tag("p", load_prompt(name).says, class_="says") if name in PROMPTS else None,
        _text("System", exchange.system),
        _text("Filled prompt", exchange.user),
        _text("Raw reply", exchange.reply),
        class_=f"exchange {exchange.stage}",
    )


def _text(title: str, text: str) -> Markup:
    return join(
        [tag("h4", title), tag("pre", escape(text, LONGEST_PROMPT), tabindex=0, aria_label=title, dir="auto")]
    )


def _instruction(passage: Passage, text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    start, end = spans[0]
    first, last = max(start - AROUND, 0), min(end + AROUND, len(text))
    words = marked(text[first:last], [(start - first, end - first)])
    title = tag("bdi", escape(passage.title or "without title", LONGEST_ANSWER))
    return tag("li", title, ": ", spoken("the words "), tag("q", tag("bdi", words)))

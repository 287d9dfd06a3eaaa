"""What was asked of the model and what it said, kept for people to read: the filled prompt, the raw reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["STATUSES", "Exchange", "Tally", "about", "tally"]

STATUSES = ("ok", "cut", "malformed", "refused")
"""Understood; understood as far as it went; not in the form asked for; the model declined."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One filled prompt and its reply.

    `stage` is "read", "question" or "judge". `subject` is the id of the passage that was read ("" for all
    together), or the candidate. `prompt` is name and version. `attempt` counts from 1; `sample` from 0, the
    first and others drawn with a temperature. `code` fenced the passages. `why` says what is wrong with a
    reply that is not "ok".

    A judgement has a `method`: "logprobs" (`p_yes` is P(Yes) / (P(Yes) + P(No))), "samples" (the share of
    Yes) or "word" (1 or 0: a word, not a confidence). `suspicious` are the ids of passages that look like an
    instruction, of those quoted in `passages`.
    """

    stage: str
    subject: str
    prompt: str
    model: str
    code: str
    system: str
    user: str
    reply: str
    status: str
    why: str = ""
    attempt: int = 1
    sample: int = 0
    method: str = ""
    p_yes: float | None = None
    passages: tuple[str, ...] = ()
    suspicious: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """How a question's exchanges went. `statuses` has a count for each of `STATUSES`."""

    exchanges: int
    statuses: tuple[int, ...]
    suspicious: int
    tokens_in: int
    tokens_out: int

    def of(self, status: str) -> int:
        """How many replies have that status."""
        return self.statuses[STATUSES.index(status)]


def about(exchanges: Iterable[Exchange], answer: str, passages: Sequence[str]) -> tuple[Exchange, ...]:
    """What was asked of one candidate whose evidence has these passage ids: its question and its judgement.

    Judgements on other evidence, as when a passage was taken away to see what changes, are left out. In a
    second attempt passages that look like an instruction may be missing.
    """
    found, left_out = [], set()
    for exchange in exchanges:
        if exchange.subject != answer or exchange.stage == "read":
            continue
        if exchange.stage == "judge":
            missing = set(passages) - set(exchange.passages)
            if not set(exchange.passages) <= set(passages) or missing - left_out:
                continue
            left_out = set(exchange.suspicious) if exchange.attempt == 1 else left_out
        found.append(exchange)
    return tuple(found)


def tally(exchanges: Iterable[Exchange]) -> Tally:
    """Count the exchanges, first and second attempts alike."""
    exchanges = list(exchanges)
    found = Counter(exchange.status for exchange in exchanges)
    return Tally(
        len(exchanges),
        tuple(found[status] for status in STATUSES),
        len({passage for exchange in exchanges for passage in exchange.suspicious}),
        sum(exchange.tokens_in for exchange in exchanges),
        sum(exchange.tokens_out for exchange in exchanges),
    )

"""Fill a prompt, ask, understand the reply, ask once more where that failed, and keep every exchange."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from rtv_core.llm.client import LLM
from rtv_core.llm.exchanges import Exchange, Tally, tally
from rtv_core.llm.fence import code_of, fence, instructions_in, one_line
from rtv_core.llm.messages import Reply, Request
from rtv_core.llm.prompts import load_prompt
from rtv_core.llm.replies import LONGEST_ANSWER, LONGEST_QUESTION, Malformed, Parsed, Refused
from rtv_core.records import Passage
from rtv_core.settings import LONGEST_QUESTION as LONGEST_ASKED

__all__ = ["Answered", "Ask", "Form", "Prompter"]

ATTEMPTS = 2

REMINDER = "\n\nA reply to this task did not have the form that is asked for. Keep to the form exactly."

LONGEST_VALUES = MappingProxyType(
    {"question": LONGEST_ASKED, "answer": LONGEST_ANSWER, "verification": LONGEST_QUESTION}
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to ask: `subject` is what it is about, `values` fill the prompt beside passages and code."""

    subject: str
    values: Mapping[str, str]
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """How replies look: who reads them, how long they are, and what the server may help with."""

    parse: Callable[[Reply, str], Parsed]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    logprobs: bool = False
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What was understood, None if nothing was, and the last exchange about it."""

    parsed: Parsed | None
    exchange: Exchange


@dataclass(frozen=True)
class Prompter:
    """Asks one model for one pipeline, whose `fingerprint` the exchanges are kept under."""

    llm: LLM
    fingerprint: str = ""
    attempts: int = field(default=ATTEMPTS)

    def ask_all(
        self, question: str, stage: str, prompt: str, asks: Sequence[Ask], form: Form, sample: int = 0
    ) -> list[Answered]:
        """One answer per ask, in order.

        A malformed reply is asked for once more: without the passages that look like an instruction, if there
        are others, else with a reminder of the form. Raises what `LLM.ask_all` raises.
        """
        answered: dict[int, Answered] = {}
        kept: list[Exchange] = []
        for attempt in range(1, self.attempts + 1):
            open_ = [i for i in range(len(asks)) if i not in answered or _again(answered[i])]
            filled = [self._filled(prompt, asks[i], form, attempt, sample) for i in open_]
            replies = self.llm.ask_all([request for request, _ in filled])
            for i, (request, exchange), reply in zip(open_, filled, replies, strict=True):
                exchange = replace(exchange, stage=stage, system=request.system, user=request.user)
                answered[i] = _understood(exchange, reply, form)
                kept.append(answered[i].exchange)
        self.keep(question, kept)
        return [answered[i] for i in range(len(asks))]

    def keep(self, question: str, exchanges: Sequence[Exchange]) -> None:
        """Keep exchanges for people to read; one of the same place replaces the older one."""
        self.llm.cache.keep_exchanges(self.fingerprint, question, exchanges)

    def tally(self, question: str) -> Tally:
        """How everything that was asked for a question went."""
        return tally(self.llm.cache.exchanges(self.fingerprint, question))

    def _filled(self, name: str, ask: Ask, form: Form, attempt: int, sample: int) -> tuple[Request, Exchange]:
        prompt = load_prompt(name)
        suspicious = {p.id for p in ask.passages if instructions_in(f"{p.title}\n{p.text}")}
        passages, reminder = ask.passages, ""
        if attempt > 1:
            passages = tuple(p for p in passages if p.id not in suspicious) or passages
            reminder = REMINDER
        values = {key: one_line(value, LONGEST_VALUES[key]) for key, value in ask.values.items()}
        quoted = (name, *values.values(), *(part for p in passages for part in (p.title, p.text)))
        code = code_of(self.llm.cache.secret, *quoted)
        fields = {**values, "code": code, "passages": fence(passages, code)}
        system, user = prompt.fill(fields)
        request = Request(
            system,
            user + reminder,
            form.max_tokens,
            temperature=form.temperature,
            logprobs=form.logprobs,
            schema=form.schema,
            sample=sample,
        )
        exchange = Exchange(
            stage="",
            subject=ask.subject,
            prompt=prompt.title,
            model=self.llm.model,
            code=code,
            system="",
            user="",
            reply="",
            status="ok",
            attempt=attempt,
            sample=sample,
            passages=tuple(p.id for p in passages),
            suspicious=tuple(sorted(suspicious & {p.id for p in passages})),
        )
        return request, exchange


def _again(answered: Answered) -> bool:
    return answered.exchange.status == "malformed"


def _understood(exchange: Exchange, reply: Reply, form: Form) -> Answered:
    exchange = replace(
        exchange,
        reply=reply.refusal or reply.text,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        seconds=reply.seconds,
        cached=reply.cached,
    )
    try:
        parsed = form.parse(reply, exchange.code)
    except (Malformed, Refused) as error:
        status = "malformed" if isinstance(error, Malformed) else "refused"
        log.info("%s reply for %r: %s", status, exchange.subject, error)
        return Answered(None, replace(exchange, status=status, why=str(error)))
    status = "cut" if parsed.cut else "ok"
    return Answered(parsed, replace(exchange, status=status, method=parsed.method, p_yes=parsed.p_yes))

"""A language model behind an OpenAI-compatible server, through the `openai` package."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rtv_core.errors import MissingError
from rtv_core.llm.environment import LLMAddress
from rtv_core.llm.messages import Busy, LLMError, Reply, Request, Token
from rtv_core.llm.spending import estimated_tokens

__all__ = ["ChatEndpoint"]

TOP_LOGPROBS = 10
"""Enough that Yes and No are both among them, in all their spellings."""

PASSING = frozenset((408, 409, 425, 429))

OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "response_format": ("response_format", "json_schema", "json schema", "structured", "grammar"),
        "logprobs": ("logprobs", "log probabilities"),
        "stream_options": ("stream_options", "include_usage"),
        "max_tokens": ("max_tokens",),
        "temperature": ("temperature",),
        "seed": ("seed",),
    }
)
"""What not every server takes, and the words by which a refusal names it."""


class ChatEndpoint:
    """Chat completions. An option that the server refuses by name is left out from then on.

    Raises MissingError if the `openai` package isn't installed.
    """

    def __init__(self, address: LLMAddress, stream: bool = False) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingError("The package `openai` isn't there. Run `pip install openai`.") from error
        self._openai, self._address, self._stream = openai, address, stream
        self._left_out: set[str] = set()
        self._client = openai.AsyncOpenAI(
            base_url=address.base_url,
            api_key=address.key,
            max_retries=0,  # the caller retries: it counts, and bounds the whole try
            default_headers={"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()},
        )

    @property
    def model(self) -> str:
        return self._address.model

    @property
    def place(self) -> str:
        return self._address.place

    @property
    def gives_logprobs(self) -> bool:
        return True  # unless it turns out otherwise: provenance must not change under way

    async def complete(self, request: Request) -> Reply:
        """Ask once (once more for each option that the server doesn't take)."""
        errors = self._openai
        while True:
            body = self._body(request)
            try:
                return await self._replied(request, body)
            except (errors.BadRequestError, errors.UnprocessableEntityError) as error:
                if (option := _refused(error.message, body)) is None:
                    raise self._for_good(error) from error
                self._left_out.add(option)
            except errors.APIStatusError as error:
                if error.status_code in PASSING or error.status_code >= 500:
                    raise Busy(f"status {error.status_code}", _asked_wait(error.response.headers)) from error
                raise self._for_good(error) from error
            except errors.APIConnectionError as error:
                raise Busy(f"no connection ({error})") from error
            except errors.APIError as error:
                raise Busy(f"a reply that isn't one ({error.message[:200]})") from error
            except ValueError as error:
                raise Busy("a reply that is no JSON") from error

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.user},
            ],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.sample,
        }
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if request.schema is not None:
            form = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if self._stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        for option in self._left_out & set(body):
            left = body.pop(option)
            if option == "logprobs":
                del body["top_logprobs"]
            if option == "max_tokens":
                body["max_completion_tokens"] = left
        return body

    async def _replied(self, request: Request, body: Mapping[str, Any]) -> Reply:
        answer = await self._client.chat.completions.create(**body)
        chunks = [answer]
        if self._stream:
            try:
                chunks = [chunk async for chunk in answer]
            except (self._openai.APIError, asyncio.CancelledError):
                raise
            except Exception as error:  # what a broken stream raises belongs to the transport, not to openai
                raise Busy(f"the stream broke off ({type(error).__name__})") from error
        return _reply(request, chunks)

    def _for_good(self, error: Any) -> LLMError:
        said = " ".join(str(error.message).split())[:300].replace(self._address.key, "***")
        where = f"{self.model!r} at {self.place}"
        if error.status_code in (401, 403):
            return LLMError(f"The server refused the key for {where}: {said} Set RTV_LLM_API_KEY.")
        if error.status_code == 404:
            return LLMError(f"There is no {where}: {said} Check RTV_LLM_MODEL and RTV_LLM_BASE_URL (.../v1).")
        return LLMError(
            f"The server refused a prompt for {where} (status {error.status_code}): {said} If it is too "
            "long, lower llm.fresh or retriever.passages, or give the server a longer context."
        )


def _refused(message: str, body: Mapping[str, Any]) -> str | None:
    """The option in the body that a refusal names, if it isn't that the prompt is too long."""
    message = message.lower()
    if "context" in message or "too long" in message:
        return None
    return next(
        (
            option
            for option, words in OPTIONS.items()
            if option in body and any(word in message for word in words)
        ),
        None,
    )


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) * unit, 0.0)
        except (KeyError, ValueError):
            continue
    return None


def _reply(request: Request, chunks: Sequence[Any]) -> Reply:
    """One reply of a whole answer, or of the pieces of a streamed one. Raises Busy for what is neither."""
    texts, refusals, tokens, finish, usage = [], [], [], "", None
    for chunk in chunks:
        usage = getattr(chunk, "usage", None) or usage
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            said = getattr(choice, "message", None) or getattr(choice, "delta", None)
            texts.append(getattr(said, "content", None) or "")
            refusals.append(getattr(said, "refusal", None) or "")
            tokens += _tokens(getattr(choice, "logprobs", None))
            finish = getattr(choice, "finish_reason", None) or finish
    text = "".join(texts)
    if not texts or not (finish or text):
        raise Busy("a reply without a message")
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    counted = all(isinstance(count, int) for count in counts)
    if not counted:
        counts = [estimated_tokens(request.system + request.user), estimated_tokens(text)]
    return Reply(text, finish or "stop", "".join(refusals), tuple(tokens), counts[0], counts[1], counted)


def _tokens(logprobs: Any) -> list[Token]:
    found = []
    for token in getattr(logprobs, "content", None) or ():
        choices = [*(getattr(token, "top_logprobs", None) or ()), token]
        finite = {c.token: c.logprob for c in choices if math.isfinite(c.logprob)}
        found.append(Token(token.token, MappingProxyType(finite)))
    return found

"""What is said to a language model and what comes back, whichever way it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from rtv_core.errors import RtvError

__all__ = ["BudgetSpent", "Busy", "Endpoint", "LLMError", "Reply", "Request", "Token"]


class LLMError(RtvError):
    """A language model that can't be asked, or whose server refuses or fails."""


class BudgetSpent(LLMError):
    """Another call would go over the budget. What was answered before is kept."""


class Busy(Exception):
    """A failure that may pass: too many calls, a fault of the server, a reply that isn't one.

    `wait` is the seconds that the server asked to wait, if it did.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt and the parameters that change its reply.

    `schema` is a JSON schema to keep to, where the server knows how. `sample` tells repeated draws apart when
    `temperature` is above 0.
    """

    system: str
    user: str
    max_tokens: int
    temperature: float = 0.0
    logprobs: bool = False
    schema: Mapping[str, Any] | None = None
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply, with the log-probabilities of the likeliest tokens in its place."""

    text: str
    choices: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `tokens` is empty where the server gives no log-probabilities.

    `finish` is "stop", "length" (cut off) or another word of the server's. `counted` is False where the
    server didn't count the tokens and they are estimated from the text. `cached`: nothing was asked now.
    """

    text: str
    finish: str = "stop"
    refusal: str = ""
    tokens: tuple[Token, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    counted: bool = True
    seconds: float = 0.0
    cached: bool = False


@runtime_checkable
class Endpoint(Protocol):
    """A language model that can be asked."""

    @property
    def model(self) -> str:
        """What the model is called; part of every cached reply's key."""
        ...

    @property
    def place(self) -> str:
        """Where it is, without any secret, for provenance and messages."""
        ...

    @property
    def gives_logprobs(self) -> bool:
        """Whether it may give log-probabilities; where not, a verdict is never more than a word."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Ask once. Raises Busy for what may pass, LLMError for what won't."""
        ...

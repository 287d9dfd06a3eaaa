"""What the calls cost: counted as they end, and refused before they begin where a budget would not hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rtv_core.llm.messages import BudgetSpent, Reply, Request
from rtv_core.settings import CallSettings

__all__ = ["Purse", "Usage", "estimated_tokens"]

BYTES_A_TOKEN = 3
"""Low for English, so that an estimate errs on the dear side."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: calls that were answered, replies from the cache, tries that failed and came again.

    `cost` is in the currency of the prices, 0 without prices.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def since(self, before: Usage) -> Usage:
        """What came on top of `before`."""
        return Usage(*(getattr(self, name) - getattr(before, name) for name in Usage.__slots__))


class Purse:
    """Counts, and holds back before a call what it may cost at most. For one thread."""

    def __init__(self, settings: CallSettings) -> None:
        self._settings = settings
        self._held: dict[int, Usage] = {}
        self._next = 0
        self.usage = Usage()

    def hold(self, request: Request) -> int:
        """Set aside what the call may cost; returns what to give back. Raises BudgetSpent."""
        most = self._counted(
            Usage(
                calls=1,
                tokens_in=estimated_tokens(request.system + request.user),
                tokens_out=request.max_tokens,
            )
        )
        limits = self._settings
        for name, limit, spent in (
            ("calls", limits.budget_calls, [u.calls for u in self._all(most)]),
            ("tokens", limits.budget_tokens, [u.tokens_in + u.tokens_out for u in self._all(most)]),
            ("cost", limits.budget_cost, [u.cost for u in self._all(most)]),
        ):
            if limit and sum(spent) > limit:
                raise BudgetSpent(
                    f"The budget of {limit:,} {name} leaves no room for another call ({spent[0]:,.6g} are "
                    f"spent). What was answered is kept: raise calls.budget_{name} and run the same again."
                )
        self._next += 1
        self._held[self._next] = most
        return self._next

    def release(self, held: int) -> None:
        """The call is over, answered or not."""
        self._held.pop(held, None)

    def pay(self, reply: Reply) -> None:
        """Count an answered call, or one that the cache answered."""
        if reply.cached:
            self.usage = replace(self.usage, cached=self.usage.cached + 1)
            return
        self._add(self._counted(Usage(calls=1, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out)))

    def retried(self) -> None:
        """Count a try that failed and comes again."""
        self._add(Usage(retries=1))

    def _all(self, more: Usage) -> tuple[Usage, ...]:
        return (self.usage, *self._held.values(), more)

    def _add(self, more: Usage) -> None:
        names = Usage.__slots__
        self.usage = Usage(*(getattr(self.usage, name) + getattr(more, name) for name in names))

    def _counted(self, usage: Usage) -> Usage:
        price = usage.tokens_in * self._settings.price_in + usage.tokens_out * self._settings.price_out
        return replace(usage, cost=price / 1e6)


def estimated_tokens(text: str) -> int:
    """How many tokens a text has at most, roughly, where nobody counted."""
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 1

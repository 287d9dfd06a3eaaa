"""Ask a language model many things at once: from the cache, else within bounds, with retries and a budget."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rtv_core.llm.cache import ReplyCache, request_key
from rtv_core.llm.messages import Busy, Endpoint, LLMError, Reply, Request
from rtv_core.llm.spending import Purse, Usage
from rtv_core.settings import CallSettings

__all__ = ["LLM"]

LONGEST_WAIT = 60.0

T = TypeVar("T")
log = logging.getLogger(__name__)


class LLM:
    """One language model, for any number of threads.

    The calls of all threads share the bounds, the budget and the cache, and run in a thread of their own. A
    reply is on disk before anybody gets it: after a kill the same questions ask for nothing again.
    """

    def __init__(self, endpoint: Endpoint, cache: ReplyCache, settings: CallSettings | None = None) -> None:
        self.endpoint, self.cache = endpoint, cache
        self._settings = settings or CallSettings()
        self._purse = Purse(self._settings)
        self._places = asyncio.Semaphore(self._settings.concurrency)
        self._flying: dict[str, asyncio.Task[Reply]] = {}
        self._loop = _LoopThread()

    @property
    def model(self) -> str:
        """What the model is called."""
        return self.endpoint.model

    @property
    def usage(self) -> Usage:
        """What this object has spent so far."""
        return self._purse.usage

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in order.

        Once a call fails for good or the budget is spent no further one begins; those under way end, are
        paid and kept, and then the first failure is raised: LLMError, BudgetSpent or StoreError.
        """
        return self._loop.run(self._ask_all(requests)) if requests else []

    async def _ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        failures: list[Exception] = []
        asked = (self._ask(request, failures) for request in requests)
        replies = await asyncio.gather(*asked, return_exceptions=True)
        if failures:
            raise failures[0]
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return replies

    async def _ask(self, request: Request, failures: list[Exception]) -> Reply:
        key = request_key(self.model, request)
        if (known := self.cache.reply(key)) is not None:
            self._purse.pay(known)
            return known
        if (flying := self._flying.get(key)) is None:
            flying = asyncio.ensure_future(self._call(key, request, failures))
            self._flying[key] = flying
            flying.add_done_callback(lambda _: self._flying.pop(key, None))
        try:
            return await flying
        except Exception as error:
            if error not in failures:  # another's call, that this one waited for too
                failures.append(error)
            raise

    async def _call(self, key: str, request: Request, failures: list[Exception]) -> Reply:
        async with self._places:
            if failures:
                raise failures[0]
            try:
                return await self._paid(key, request)
            except Exception as error:
                failures.append(error)  # before the next call gets this place
                raise

    async def _paid(self, key: str, request: Request) -> Reply:
        held = self._purse.hold(request)
        try:
            reply = await self._tried(request)
        finally:
            self._purse.release(held)
        self._purse.pay(reply)
        self.cache.keep(key, self.model, request, reply)
        return reply

    async def _tried(self, request: Request) -> Reply:
        """The reply, after as many tries as the settings allow."""
        clock = asyncio.get_running_loop().time
        for attempt in range(self._settings.retries + 1):
            start = clock()
            try:
                async with asyncio.timeout(self._settings.timeout):
                    reply = await self.endpoint.complete(request)
                return replace(reply, seconds=clock() - start)
            except TimeoutError:
                busy = Busy(f"no reply within {self._settings.timeout:g} s")
            except Busy as error:
                busy = error
            if attempt < self._settings.retries:
                log.info("%s: %s; once more", self.endpoint.place, busy)
                self._purse.retried()
                await asyncio.sleep(self._wait(attempt, busy))
        tries = f"{self._settings.retries + 1} tries" if self._settings.retries else "one try"
        raise LLMError(
            f"{self.model!r} at {self.endpoint.place} gave no reply after {tries}: {busy}. See that the "
            "server runs; fewer calls at a time (calls.concurrency) or a longer calls.timeout may help."
        )

    def _wait(self, attempt: int, busy: Busy) -> float:
        # Spread, so that calls which failed together don't come back together.
        wait = self._settings.backoff * 2**attempt * random.uniform(0.75, 1.25)
        return min(wait if busy.wait is None else busy.wait, LONGEST_WAIT)


class _LoopThread:
    """An event loop in a thread of its own, which ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="llm", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns; cancelled if the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

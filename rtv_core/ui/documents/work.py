"""One long piece of work at a time, in a thread: how far it is, how fast it goes, and Stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rtv_core.errors import InputError, RtvError

__all__ = ["Report", "Stopped", "Work", "Worker"]

UNEXPECTED = "Something failed that should not have; the server's log says what. Nothing is lost: try again."

Report = Callable[[str, int, int | None], None]
"""Tells the stage, what is done and of how much, if that is known. Raises Stopped once that is wanted."""

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The work was asked to stop."""


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work on the collection of an id and a name, as it is now.

    `kind` is "read" or "build", `stage` what it is at, in words.

    `rate` counts what is done in a second of this stage; None as long as that can't be told. Once `ended`,
    `said` tells what came of it, and `failed` whether it came to nothing.
    """

    serial: int
    kind: str
    collection: str
    name: str
    stage: str = ""
    done: int = 0
    total: int | None = None
    rate: float | None = None
    stopping: bool = False
    ended: bool = False
    failed: bool = False
    said: str = ""

    @property
    def seconds_left(self) -> float | None:
        """How long this stage may still take; None if that can't be told."""
        if not self.rate or self.total is None:
            return None
        return (self.total - self.done) / self.rate


class Worker:
    """Runs one piece of work after another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._work: Work | None = None
        self._thread: threading.Thread | None = None
        self._began = (0, 0.0)  # what was done when the stage began, and when that was

    def start(self, kind: str, collection: str, name: str, task: Callable[[Report], str]) -> Work:
        """Run `task` in a thread; what it returns is said at the end. Raises InputError if one still runs."""
        with self._lock:
            if self._work is not None and not self._work.ended:
                raise InputError("Something is being read or built already. Wait for it, or stop it.")
            serial = 1 if self._work is None else self._work.serial + 1
            self._work = work = Work(serial, kind, collection, name)
            self._thread = threading.Thread(
                target=self._run, args=(task,), name=f"{kind}-{serial}", daemon=True
            )
            self._thread.start()
        return work

    def stop(self, serial: object) -> None:
        """Ask the work of that number to end; it does at its next report."""
        with self._lock:
            if self._work is not None and self._work.serial == serial and not self._work.ended:
                self._work = replace(self._work, stopping=True)

    def now(self) -> Work | None:
        """The work that runs, or the last one; None before the first."""
        return self._work

    def wait(self, seconds: float) -> Work | None:
        """The work once it has ended, or after so many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._work

    def _run(self, task: Callable[[Report], str]) -> None:
        try:
            self._end(task(self._report))
        except Stopped:
            self._end("Stopped.", failed=True)
        except RtvError as error:
            self._end(str(error), failed=True)
        except Exception:
            log.exception("Reading or indexing documents failed.")
            self._end(UNEXPECTED, failed=True)

    def _report(self, stage: str, done: int, total: int | None) -> None:
        now = self._clock()
        with self._lock:
            if self._work.stopping:
                raise Stopped
            if stage != self._work.stage:
                self._began = (done, now)
            begun, at = self._began
            rate = (done - begun) / (now - at) if now > at and done > begun else None
            self._work = replace(self._work, stage=stage, done=done, total=total, rate=rate)

    def _end(self, said: str, failed: bool = False) -> None:
        with self._lock:
            self._work = replace(self._work, ended=True, failed=failed, said=said)

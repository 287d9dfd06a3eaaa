"""What the Admin page shows: claims, progress, backups and accounts as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rtv_core.accounts import Accounts
from rtv_core.records import Run
from rtv_core.store.backups import Backup, list_backups
from rtv_core.store.queues import Claim, Contribution, Queue
from rtv_core.ui.workbench import Workbench

__all__ = ["Account", "Board", "Held", "Work", "read_board"]

QUEUES_READ = 50


@dataclass(frozen=True, slots=True)
class Held:
    """An item that somebody holds without a verdict yet."""

    queue: Queue
    claim: Claim
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Work:
    """A queue, the name of its run, and what everyone did in it."""

    queue: Queue
    run: str
    people: tuple[Contribution, ...]

    @property
    def finished(self) -> int:
        """How many items have all the verdicts that the queue asks for."""
        return self.people[0].progress.finished if self.people else 0


@dataclass(frozen=True, slots=True)
class Account:
    """A name that can sign in."""

    name: str
    admin: bool


@dataclass(frozen=True, slots=True)
class Board:
    """Everything, claims by time; `accounts` is None where nobody signs in.

    `left_out` counts the older queues that are not here.
    """

    held: tuple[Held, ...]
    work: tuple[Work, ...]
    left_out: int
    store: Path
    backups: tuple[Backup, ...]
    accounts: tuple[Account, ...] | None
    accounts_file: Path | None


def read_board(workbench: Workbench, accounts: Accounts | None) -> Board:
    """What there is to show, of the newest queues. May raise StoreError, and InputError for the accounts."""
    runs = {run.id: run for run in workbench.runs.runs()}
    queues = workbench.queues.queues()[::-1]
    shown = queues[:QUEUES_READ]
    held = [held for queue in shown for held in _held(workbench, queue)]
    store = workbench.store.path
    return Board(
        tuple(sorted(held, key=lambda h: (h.claim.at, h.queue.id, h.claim.place, h.claim.annotator))),
        tuple(_work(workbench, queue, runs) for queue in shown),
        len(queues) - len(shown),
        store,
        tuple(list_backups(store)),
        _accounts(accounts),
        None if accounts is None else accounts.path,
    )


def _held(workbench: Workbench, queue: Queue) -> list[Held]:
    found = []
    for claim in workbench.queues.claims(queue.id):
        item = workbench.queues.item(queue.id, claim.place)
        asked = workbench.runs.question(queue.run_id, item.position).question
        found.append(Held(queue, claim, asked.text, item.answer))
    return found


def _work(workbench: Workbench, queue: Queue, runs: dict[str, Run]) -> Work:
    run = runs.get(queue.run_id)
    return Work(queue, run.name if run else "", tuple(workbench.queues.contributions(queue.id)))


def _accounts(accounts: Accounts | None) -> tuple[Account, ...] | None:
    if accounts is None:
        return None
    admins = accounts.admins()
    return tuple(Account(name, name in admins) for name in accounts.names())

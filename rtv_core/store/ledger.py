"""What the logs say of one queue, kept in memory and brought up to date by what was appended since.

Verdicts and claims are only ever appended, so that whoever read a log up to some entry needs only what comes
after it, and a queue of thousands of items needs no more time than a small one.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlite_utils import Database

from rtv_core.records import QueueItem

__all__ = ["JUDGED", "Claim", "Ledger"]

PACE_ITEMS = 20

JUDGED = """
    SELECT
        event.id, event.at, event.trace_id, event.annotator, event.answer_key, event.label, event.blind,
        item.place
    FROM queue_items AS item
    JOIN run_questions AS asked ON asked.run_id = :run AND asked.position = item.position
    JOIN events AS event ON event.trace_id = asked.trace_id AND event.answer_key = item.answer_key
    WHERE item.queue_id = :queue AND event.kind = 'judge'
"""
"""Every verdict ever given on a queue's items."""

_FIRST = f"""
    WITH judged AS ({JUDGED})
    SELECT id, 'judge' AS kind, at, trace_id, annotator, NULL AS target, answer_key, label, blind FROM judged
    UNION ALL
    SELECT step.id, step.kind, step.at, step.trace_id, step.annotator, step.target, NULL, NULL, NULL
    FROM judged JOIN events AS step ON step.target = judged.id
    ORDER BY id
"""

_SINCE = """
    SELECT id, kind, at, trace_id, annotator, target, answer_key, label, blind FROM events
    WHERE id > :seen ORDER BY id
"""

_CLAIMS = """
    SELECT id, place, annotator, kind, at FROM claims WHERE id > :seen AND +queue_id = :queue ORDER BY id
"""
"""The plus sign keeps SQLite to the few newest rows, where the index would bring all of the queue's."""

_NEWEST = """
    SELECT (SELECT max(id) FROM events), (SELECT max(id) FROM claims), (SELECT max(id) FROM reveals)
"""

_REVEALS = """
    SELECT id, trace_id, annotator, at FROM reveals WHERE id > :seen ORDER BY id
"""

_ITEMS = """
    SELECT
        item.position, asked.trace_id, item.kind, item.answer, item.inclusion, item.stratum, item.place,
        item.answer_key, trim(asked.gold_json, '[], ') <> ''
    FROM queue_items AS item
    JOIN run_questions AS asked ON asked.run_id = :run AND asked.position = item.position
    WHERE item.queue_id = :queue ORDER BY item.place
"""


_When = tuple[str, int]
"""Time and id of an event: what is later by time comes after, whenever it came into the log."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An item that an annotator holds since `at`, without a verdict yet."""

    place: int
    annotator: str
    at: str


@dataclass(frozen=True, slots=True)
class _Verdict:
    places: Sequence[int]
    annotator: str
    label: str
    blind: bool
    at: str


class Ledger:
    """Who judged, holds and put off which place of a queue. For one thread at a time.

    A place is judged by whoever has a verdict on it that was not taken back, or was restored. Times are
    ISO 8601; `since` is the time before which claims have ended.
    """

    def __init__(self, db: Database, queue_id: str, run_id: str, overlap: int) -> None:
        self._names = {"queue": queue_id, "run": run_id}
        self._overlap = overlap
        self.items: dict[int, QueueItem] = {}
        self.with_gold: set[int] = set()
        self._by_position: defaultdict[int, list[QueueItem]] = defaultdict(list)
        self._places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for *fields, key, has_gold in db.execute(_ITEMS, self._names):
            item = QueueItem(*fields)
            self.items[item.place] = item
            self._by_position[item.position].append(item)
            self._places[item.trace_id, key].append(item.place)
            if has_gold:
                self.with_gold.add(item.position)
        self._forget()

    def refresh(self, db: Database) -> None:
        """Read what was appended. Not after a write of one's own in the same transaction: it may fail yet."""
        newest, newest_claim, newest_reveal = (id_ or 0 for id_ in db.execute(_NEWEST).fetchone())
        seen = self._seen, self._seen_claim, self._seen_reveal
        if any(new < old for new, old in zip((newest, newest_claim, newest_reveal), seen, strict=True)):
            self._forget()  # another file has come to the place of this one
        # Before the verdicts: whether one was said in knowledge of the gold is settled when it is read.
        if newest_reveal > self._seen_reveal:
            for id_, trace_id, annotator, at in db.execute(_REVEALS, {"seen": self._seen_reveal}):
                self._seen_reveal = id_
                self._shown[trace_id, annotator] = min(at, self._shown.get((trace_id, annotator), at))
                for place in list(self._right[annotator]):
                    if self.items[place].trace_id == trace_id:
                        self._settle(place, annotator, self._live[place, annotator])
        if newest > self._seen:
            sql = _SINCE if self._seen else _FIRST
            for row in db.execute(sql, self._names | {"seen": self._seen}):
                self._take_event(*row)
                self._seen = row[0]
            self._seen = max(self._seen, newest)
        if newest_claim > self._seen_claim:
            for row in db.execute(_CLAIMS, self._names | {"seen": self._seen_claim}):
                self._take_claim(*row)
            self._seen_claim = max(self._seen_claim, newest_claim)

    def others(self, item: QueueItem) -> tuple[QueueItem, ...]:
        """The other items of an item's question, by place."""
        return tuple(other for other in self._by_position[item.position] if other.place != item.place)

    def judges(self, place: int) -> Set[str]:
        """Who judged a place."""
        return self._judges.get(place, frozenset())

    def judged_by(self, annotator: str) -> Set[int]:
        """The places that an annotator judged."""
        return self._judged.get(annotator, {}).keys()

    def full(self) -> Set[int]:
        """The places with all the verdicts that the overlap asks for."""
        return self._full

    def people(self) -> list[str]:
        """Everyone who judged a place, or ever claimed one, by name."""
        return sorted({*(name for name, places in self._judged.items() if places), *self._claimed})

    def last_at(self, annotator: str) -> str:
        """The time of an annotator's latest verdict; "" without one."""
        mine = self._judged.get(annotator, ())
        return max((at for place in mine for at, _ in self._live[place, annotator]), default="")

    def skipped_by(self, annotator: str) -> Set[int]:
        """The places that an annotator put off and has not judged."""
        return self._skips.get(annotator, {}).keys() - self.judged_by(annotator)

    def claims(self, since: str) -> list[Claim]:
        """What is held just now, by place and annotator."""
        held = (self.claim(*key, since) for key in sorted(self._claims))
        return [claim for claim in held if claim is not None]

    def claim(self, place: int, annotator: str, since: str) -> Claim | None:
        """An annotator's claim on a place, if it holds."""
        found = self._last_claim(place, annotator, since)
        return None if found is None else Claim(place, annotator, found[1])

    def next_for(self, annotator: str, since: str, besides: int | None = None) -> int | None:
        """The place that the annotator is to judge now, `besides` one.

        That is the one claimed last and still held, else the first open one, else the one put off longest
        ago.
        """
        done, put_off = self.judged_by(annotator), self._skips.get(annotator, {})
        mine = {}
        for place in self._claimed.get(annotator, set()) - done - {besides}:
            found = self._last_claim(place, annotator, since)
            if found is not None and self.is_free(place, annotator, since):
                mine[place] = found[0]
        if mine:
            return max(mine, key=mine.__getitem__)
        waiting = []
        for place in self.items:
            if place in done or place == besides or not self.is_free(place, annotator, since):
                continue
            if place not in put_off:
                return place
            waiting.append(place)
        return min(waiting, key=put_off.__getitem__, default=None)

    def is_free(self, place: int, annotator: str, since: str) -> bool:
        """Whether those who judged or hold it, the annotator aside, are fewer than the overlap."""
        if place not in self._claimants:
            return len(self.judges(place) - {annotator}) < self._overlap
        holders = {who for who in self._claimants[place] if self._last_claim(place, who, since)}
        return len((self.judges(place) | holders) - {annotator}) < self._overlap

    def may_come(self, place: int, annotator: str) -> bool:
        """Whether the annotator may still get it, be it that others let it go."""
        judges = self.judges(place)
        return annotator not in judges and len(judges) < self._overlap

    def is_unplaced(self, place: int, annotator: str) -> bool:
        """Whether the annotator said a blind "unlisted" of it last, before any gold was shown to them."""
        return place in self._right.get(annotator, {})

    def unplaced(self, annotator: str) -> list[QueueItem]:
        """The items for which that is so, their question has gold, and none of it may still come.

        The one judged last comes first.
        """
        right = self._right.get(annotator, {})
        items = [self.items[place] for place in sorted(right, key=right.__getitem__, reverse=True)]
        return [
            item
            for item in items
            if item.position in self.with_gold
            and not any(self.may_come(other.place, annotator) for other in self.others(item))
        ]

    def all_unplaced(self) -> int:
        """How many such verdicts on questions with gold there are, also where an item may still come."""
        places = (place for right in self._right.values() for place in right)
        return sum(self.items[place].position in self.with_gold for place in places)

    def shown(self, trace_id: str, annotator: str) -> str | None:
        """When the annotator was first shown gold or scores of a trace's question; None if never."""
        return self._shown.get((trace_id, annotator))

    def seconds_each(self, annotator: str) -> float | None:
        """The median seconds from when the annotator got an item, or judged the one before, to the verdict.

        Of the last 20 items; None before the first.
        """
        first = self._judged.get(annotator, {})
        last = heapq.nlargest(PACE_ITEMS + 1, first, key=first.__getitem__)
        spent, before = [], ""
        for place in reversed(last):
            at, _ = first[place]
            said = self._claims.get((place, annotator), ())
            claimed = max((then for _, kind, then in said if kind == "claim" and then <= at), default=None)
            if claimed is not None:
                began = datetime.fromisoformat(max(claimed, before))
                spent.append((datetime.fromisoformat(at) - began).total_seconds())
            before = at
        return median(spent[-PACE_ITEMS:]) if spent else None

    def _forget(self) -> None:
        self._seen = self._seen_claim = self._seen_reveal = 0
        self._shown: dict[tuple[str, str], str] = {}
        self._verdicts: dict[int, _Verdict] = {}
        self._steps: dict[int, _When] = {}  # of the last step about each verdict
        self._live: defaultdict[tuple[int, str], set[_When]] = defaultdict(set)
        self._judges: defaultdict[int, set[str]] = defaultdict(set)
        self._judged: defaultdict[str, dict[int, _When]] = defaultdict(dict)  # the first verdict that stands
        self._right: defaultdict[str, dict[int, _When]] = defaultdict(dict)
        self._full: set[int] = set()
        self._claims: defaultdict[tuple[int, str], list[tuple[int, str, str]]] = defaultdict(list)
        self._claimants: defaultdict[int, set[str]] = defaultdict(set)
        self._claimed: defaultdict[str, set[int]] = defaultdict(set)
        self._skips: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def _take_event(
        self,
        id_: int,
        kind: str,
        at: str,
        trace_id: str,
        annotator: str,
        target: int | None,
        key: str | None,
        label: str | None,
        blind: Any,
    ) -> None:
        if kind == "judge":
            if not (places := self._places.get((trace_id, key))):
                return
            self._verdicts[id_] = _Verdict(places, annotator, label, bool(blind), at)
        judged = id_ if kind == "judge" else target
        verdict = self._verdicts.get(judged)
        if verdict is None:
            return  # another queue's
        if kind != "judge":
            if (at, id_) < self._steps.get(judged, ("", 0)):
                return  # it was taken back or restored later by time than this tells
            self._steps[judged] = at, id_
        for place in verdict.places:
            live = self._live[place, verdict.annotator]
            if kind == "undo":
                live.discard((verdict.at, judged))
            else:
                live.add((verdict.at, judged))
            self._settle(place, verdict.annotator, live)

    def _settle(self, place: int, annotator: str, live: Set[_When]) -> None:
        """Bring all that follows from the verdicts of one annotator on one place up to date."""
        judges, mine, right = self._judges[place], self._judged[annotator], self._right[annotator]
        right.pop(place, None)
        if live:
            judges.add(annotator)
            mine[place] = first = min(live)
            at, last = max(live)
            verdict, shown = self._verdicts[last], self.shown(self.items[place].trace_id, annotator)
            if verdict.label == "unlisted" and verdict.blind and (shown is None or at < shown):
                right[place] = first
        else:
            judges.discard(annotator)
            mine.pop(place, None)
        if len(judges) >= self._overlap:
            self._full.add(place)
        else:
            self._full.discard(place)

    def _take_claim(self, id_: int, place: int, annotator: str, kind: str, at: str) -> None:
        self._claims[place, annotator].append((id_, kind, at))
        self._claimants[place].add(annotator)
        self._claimed[annotator].add(place)
        if kind == "skip":
            self._skips[annotator][place] = id_

    def _last_claim(self, place: int, annotator: str, since: str) -> tuple[int, str] | None:
        """Number and time of the claim, if it is the last that was said since then and no verdict came."""
        if annotator in self.judges(place):
            return None
        said: Iterable[tuple[int, str, str]] = reversed(self._claims.get((place, annotator), ()))
        id_, kind, at = next((entry for entry in said if entry[2] > since), (0, "", ""))
        return (id_, at) if kind == "claim" else None

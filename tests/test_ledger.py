"""A queue's state kept in memory: whatever came in between, it is what a first reading of the file gives."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rtv_core.errors import MissingError, StoreError
from rtv_core.records import (
    Candidate,
    Judgement,
    Question,
    QueueItem,
    QueuePlan,
    Run,
    RunAnswer,
    RunQuestion,
    Trace,
)
from rtv_core.store.database import connect, one_connection, transaction
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.merging import merge
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

PEOPLE = ("Ann", "Bob", "Cy")
ANSWERS = ("one", "two", "three")


class World:
    """Two queues over a run of four questions, and stores that look at them."""

    def __init__(self, path: Path, overlap: int = 2) -> None:
        self.path, self.now = path, datetime(2030, 1, 1, tzinfo=UTC)
        runs = RunStore(path)
        run = runs.create(Run("", "small", "fake", "", 0, False, None, 10)).id
        found = tuple(Candidate(text, (text,), 0.5, ()) for text in ANSWERS)
        given = tuple(RunAnswer(text, (text,), None, True, "") for text in ANSWERS)
        for position in range(4):
            gold = ((("gold",),),) if position else ()
            question = Question(f"q{position}", f"question {position}?", gold)
            runs.add_question(
                run, RunQuestion(run, position, question, "", given, ()), Trace(question, candidates=found)
            )
        items = [
            QueueItem(q.position, q.trace_id, "prediction", text, 0.5, "wrong prediction")
            for q in runs.questions(run)
            for text in ANSWERS
        ]
        self.judgements, self.live = JudgementStore(path), self.queues()
        self.ids = [
            self.live.create(run, QueuePlan("uniform", 12, overlap=overlap), items, "all"),
            self.live.create(run, QueuePlan("uniform", 5), items[::3] + items[1:2], "some"),
        ]
        self.items = items

    def queues(self) -> QueueStore:
        return QueueStore(self.path, clock=lambda: self.now)

    def judge(
        self, item: QueueItem, who: str, label: str, token: str, answer: str = "", blind: bool = True
    ) -> None:
        said = Judgement(
            item.trace_id, "", answer or item.answer, label, who, recalled=not answer, blind=blind
        )
        self.judgements.judge(said, token)


def looked_at(queues: QueueStore, queue: str) -> dict[str, object]:
    """All that can be read of a queue, without a claim being made."""
    seen: dict[str, object] = {"claims": queues.claims(queue), "all": queues.contributions(queue)}
    for who in PEOPLE:
        seen[who] = (
            queues.progress(queue, who),
            queues.unplaced(queue, who),
            [queues.standing(queue, item.place, who) for item in queues.items(queue)],
        )
    return seen


def steps(world: World, chance: random.Random) -> Iterator[None]:
    """Everything that people do, in any order, through one store or another."""
    for number in range(120):
        queue, who, item = chance.choice(world.ids), chance.choice(PEOPLE), chance.choice(world.items)
        store = world.live if chance.random() < 0.7 else world.queues()
        place = chance.randint(1, world.live.queue(queue).items)
        label, token = chance.choice(("invalid", "unlisted", "unlisted", "unsure")), f"t{number}"
        world.now += timedelta(minutes=chance.choice((0, 0, 1, 3, 20)))
        kind = chance.randrange(10)
        if kind < 3:
            world.judge(item, who, label, token, blind=chance.random() < 0.8)
        elif kind == 3:
            world.judge(item, who, label, token, answer="typed")
        elif kind == 4:
            store.undo(queue, who)
        elif kind == 5:
            store.redo(queue, who)
        elif kind == 6:
            (store.skip if chance.random() < 0.5 else store.release)(queue, place, who)
        elif kind == 7:
            (world.judgements.undo if chance.random() < 0.5 else world.judgements.redo)(item.trace_id, who)
        elif kind == 8:
            store.show(queue, place, who)
        elif (now := store.next(queue, who)) is not None:
            store.ahead(queue, now.place, who)
        yield


@pytest.mark.parametrize("seed", range(2))
def test_after_any_steps_the_state_in_memory_is_that_of_the_file(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path / "rtv.db", overlap=1 + seed % 2)
    chance = random.Random(seed)
    for number, _ in enumerate(steps(world, chance)):
        if number % 10 == 0:
            for queue in world.ids:
                assert looked_at(world.live, queue) == looked_at(world.queues(), queue)
    for queue in world.ids:
        for who in PEOPLE:
            given, fresh = world.live.next(queue, who), world.queues().next(queue, who)
            assert given == fresh


def test_verdicts_that_are_merged_in_count(tmp_path: Path) -> None:
    world = World(tmp_path / "one.db")
    shutil.copy(tmp_path / "one.db", tmp_path / "two.db")
    other = JudgementStore(tmp_path / "two.db")
    assert world.live.progress(world.ids[0], "Ann").done == 0
    item = world.items[0]
    other.judge(Judgement(item.trace_id, "", item.answer, "invalid", "Ann"), "t")
    merge(tmp_path / "two.db", tmp_path / "one.db")
    assert world.live.progress(world.ids[0], "Ann").done == 1


def test_a_verdict_that_was_taken_back_at_an_earlier_time_does_not_count(tmp_path: Path) -> None:
    world = World(tmp_path / "rtv.db")
    world.judge(world.items[0], "Ann", "invalid", "t")
    with connect(world.path) as db:
        ((id_, trace_id),) = db.execute("SELECT id, trace_id FROM events").fetchall()
        step = {"kind": "undo", "at": "2001-01-01T00:00:00.000+00:00", "target": id_}
        db.table("events").insert(step | {"trace_id": trace_id, "annotator": "Ann"})
        db.conn.commit()
    assert world.judgements.current() == []
    assert world.live.progress(world.ids[0], "Ann").done == 0


def test_a_write_that_fails_leaves_no_trace_in_memory(tmp_path: Path) -> None:
    world = World(tmp_path / "rtv.db")
    queue = world.ids[0]
    assert world.live.next(queue, "Ann").place == 1
    with closing(sqlite3.connect(world.path)) as db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON claims BEGIN SELECT RAISE(FAIL, 'full'); END")
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        world.live.skip(queue, 1, "Ann")
    with closing(sqlite3.connect(world.path)) as db:
        db.execute("DROP TRIGGER full")
    world.live.skip(queue, 2, "Ann")
    assert world.live.progress(queue, "Ann").skipped == 1
    assert world.live.next(queue, "Ann").place == 1


def test_another_file_in_the_same_place_is_read_anew(tmp_path: Path) -> None:
    world = World(tmp_path / "rtv.db")
    with closing(sqlite3.connect(world.path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = world.path.read_bytes()
    world.judge(world.items[0], "Ann", "invalid", "t")
    assert world.live.progress(world.ids[0], "Ann").done == 1
    for left in ("rtv.db", "rtv.db-wal", "rtv.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    world.path.write_bytes(before)
    assert world.live.progress(world.ids[0], "Ann").done == 0
    world.path.unlink()
    with pytest.raises(MissingError, match="There is no queue"):
        world.live.progress(world.ids[0], "Ann")


# One connection


def test_calls_inside_share_a_connection_and_others_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rtv.db"
    with one_connection(path):
        with connect(path) as first, connect(path) as second:
            assert first is second
        with transaction(path) as third:
            assert third is first
            third.execute("INSERT INTO traces VALUES ('t', 'q', 'q', '{}', x'00', 'now')")
        with connect(tmp_path / "other.db") as other:
            assert other is not first
    with connect(path) as later:
        assert later is not first
        assert later.execute("SELECT count(*) FROM traces").fetchone() == (1,)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")


def test_a_transaction_that_fails_inside_is_undone_and_the_connection_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "rtv.db"
    with one_connection(path):
        with pytest.raises(StoreError, match="stop"):
            _write_and_stop(path)
        with connect(path) as db:
            assert db.execute("SELECT count(*) FROM traces").fetchone() == (0,)


def _write_and_stop(path: Path) -> None:
    with transaction(path) as db:
        db.execute("INSERT INTO traces VALUES ('t', 'q', 'q', '{}', x'00', 'now')")
        raise StoreError("stop")

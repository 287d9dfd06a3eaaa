"""Who gets which item: never two annotators the same, whatever ends in between, unless it is asked for."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import rtv_core
from rtv_core.annotation.population import POPULATIONS
from rtv_core.annotation.queue import STRATEGIES, UNITS
from rtv_core.cli import main
from rtv_core.cli.queue import command
from rtv_core.errors import InputError, MissingError
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
from rtv_core.store.database import connect, transaction
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import Progress, QueueStore
from rtv_core.store.runs import RunStore

PLAN = QueuePlan("uniform", 6, seed=1)


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def pass_minutes(self, minutes: float) -> None:
        self.at += timedelta(minutes=minutes)


@dataclass
class Desk:
    """A run with a queue over it, and both stores."""

    path: Path
    run_id: str
    items: tuple[QueueItem, ...]
    clock: Clock

    def __post_init__(self) -> None:
        self.queues = QueueStore(self.path, clock=self.clock)
        self.judgements = JudgementStore(self.path)

    def queue(self, **changes: object) -> str:
        return self.queues.create(self.run_id, replace(PLAN, **changes), self.items, f"of {changes}")

    def judge(self, item: QueueItem, annotator: str, label: str = "invalid", token: str = "") -> None:
        judgement = Judgement(item.trace_id, "", item.answer, label, annotator)
        self.judgements.judge(
            judgement, token or f"{annotator} {item.place} {label} {time.perf_counter_ns()}"
        )


def add_run(path: Path, questions: int, answers: int = 2) -> tuple[str, tuple[QueueItem, ...]]:
    """A run of that many questions with that many wrong predictions each; all of them as items."""
    runs = RunStore(path)
    run = runs.create(Run("", "small", "fake", "", 0, False, None, 10)).id
    texts = [f"answer {number}" for number in range(answers)]
    candidates = tuple(Candidate(text, (text,), 0.5, ()) for text in texts)
    given = tuple(RunAnswer(text, (text,), None, True, "") for text in texts)
    rows = []
    for position in range(questions):
        question = Question(f"q{position}", f"question {position}?", ((("gold",),),))
        rows.append(
            (RunQuestion(run, position, question, "", given, ()), Trace(question, candidates=candidates))
        )
    runs.add_questions(run, rows)
    items = tuple(
        QueueItem(q.position, q.trace_id, "prediction", text, 0.5, "wrong prediction")
        for q in runs.questions(run)
        for text in texts
    )
    return run, items


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    path = tmp_path / "rtv.db"
    return Desk(path, *add_run(path, questions=3), Clock())


# Queues


def test_a_queue_comes_back_as_it_was_with_its_plan_and_probabilities(desk: Desk, tmp_path: Path) -> None:
    plan = QueuePlan("near tau", 6, 7, 0.25, 2, False, "all", "question")
    items = tuple(
        replace(item, inclusion=1 / (3 + i), kind=k)
        for i, (item, k) in enumerate(zip(desk.items, ("prediction", "gold", "candidate") * 2, strict=True))
    )
    queue_id = desk.queues.create(desk.run_id, plan, items, " my  queue ")
    again = QueueStore(tmp_path / "rtv.db")
    (queue,) = again.queues(desk.run_id)
    assert (queue.id, queue.name, queue.plan, queue.items) == (queue_id, "my queue", plan, 6)
    assert queue == again.queue(queue_id)
    assert again.items(queue_id) == [replace(item, place=i) for i, item in enumerate(items, start=1)]
    assert again.item(queue_id, 4) == replace(items[3], place=4)


def test_a_queue_made_twice_is_one_and_another_needs_another_name(desk: Desk) -> None:
    made = desk.queues.create(desk.run_id, PLAN, desk.items, "mine")
    assert desk.queues.create(desk.run_id, PLAN, desk.items, "mine") == made
    for plan, items in ((replace(PLAN, seed=2), desk.items), (PLAN, desk.items[::-1])):
        with pytest.raises(InputError, match="another queue 'mine'"):
            desk.queues.create(desk.run_id, plan, items, "mine")
    other = desk.queues.create(desk.run_id, PLAN, desk.items[::-1], "other")
    assert [queue.id for queue in desk.queues.queues()] == [made, other]
    assert desk.queues.queues("no run") == []


def test_what_is_no_queue_of_the_run_is_refused_and_leaves_nothing(desk: Desk) -> None:
    first, *rest = desk.items
    wrong = [
        ((), "has no items"),
        ((replace(first, trace_id="another"), *rest), "is not of this run"),
        ((replace(first, position=99), *rest), "is not of this run"),
        ((first, *desk.items), "not in order"),
        ((*rest, replace(first, inclusion=0.0)), "not in order"),
        ((*rest, replace(first, answer=" ")), "answer is empty"),
    ]
    for items, said in wrong:
        with pytest.raises(InputError, match=said):
            desk.queues.create(desk.run_id, PLAN, items, "mine")
    with pytest.raises(MissingError, match="no run"):
        desk.queues.create("elsewhere", PLAN, desk.items, "mine")
    with pytest.raises(InputError, match="name is empty"):
        desk.queues.create(desk.run_id, PLAN, desk.items, " ")
    assert desk.queues.queues() == []


def test_a_forged_queue_place_or_name_is_refused_and_writes_nothing(desk: Desk) -> None:
    queue = desk.queue()
    for place in (0, 7, -1, "1", 1.0, True, None, 10**30):
        with pytest.raises(MissingError, match="has no item"):
            desk.queues.skip(queue, place, "Ann")
    for unknown in ("", "' OR 1=1", "\ud800", None, 7):
        with pytest.raises(MissingError, match="There is no queue"):
            desk.queues.next(unknown, "Ann")
    for name in ("", "A\u200bnn", None):
        with pytest.raises(InputError, match="name"):
            desk.queues.next(queue, name)
    with connect(desk.path) as db:
        assert db.table("claims").count == 0


# Turns


def test_an_annotator_goes_through_a_queue_in_its_order(desk: Desk) -> None:
    queue, seen = desk.queue(), []
    while (item := desk.queues.next(queue, "Ann")) is not None:
        seen.append(item)
        desk.judge(item, "Ann")
    assert seen == desk.queues.items(queue)


def test_asking_twice_gives_the_same_item_and_one_claim(desk: Desk) -> None:
    queue = desk.queue()
    first = desk.queues.next(queue, "Ann")
    assert QueueStore(desk.path, clock=desk.clock).next(queue, " Ann ") == first
    assert [(claim.place, claim.annotator) for claim in desk.queues.claims(queue)] == [(1, "Ann")]
    with connect(desk.path) as db:
        assert db.table("claims").count == 1


def test_two_annotators_get_different_items_and_the_second_none_of_the_last(desk: Desk) -> None:
    queue = desk.queue()
    for _ in range(2):
        ann, bob = desk.queues.next(queue, "Ann"), desk.queues.next(queue, "Bob")
        assert ann.place != bob.place
        desk.judge(ann, "Ann")
        desk.judge(bob, "Bob")
    desk.judge(desk.queues.next(queue, "Ann"), "Ann")
    assert desk.queues.next(queue, "Ann").place == 6
    assert desk.queues.next(queue, "Bob") is None
    assert desk.queues.progress(queue, "Bob").left == 1


def test_with_an_overlap_of_two_each_item_gets_two_annotators_and_no_third(desk: Desk) -> None:
    queue = desk.queue(overlap=2)
    places = {name: desk.queues.next(queue, name).place for name in ("Ann", "Bob", "Cy", "Di", "Ed")}
    assert places == {"Ann": 1, "Bob": 1, "Cy": 2, "Di": 2, "Ed": 3}
    judged = []
    while any(todo := [(n, item) for n in places if (item := desk.queues.next(queue, n)) is not None]):
        for name, item in todo:
            desk.judge(item, name)
            judged.append((item.place, name))
    assert len(set(judged)) == len(judged) == 12
    assert sorted(place for place, _ in judged) == sorted([1, 2, 3, 4, 5, 6] * 2)


def test_a_verdict_given_elsewhere_counts(desk: Desk) -> None:
    queue = desk.queue()
    desk.judge(desk.items[0], "Bob")
    assert desk.queues.next(queue, "Ann").place == 2
    assert desk.queues.progress(queue, "Bob").done == 1


# Claims end


def test_a_claim_without_a_verdict_keeps_others_off_for_half_an_hour(desk: Desk) -> None:
    queue = desk.queue()
    assert desk.queues.next(queue, "Ann").place == 1
    desk.clock.pass_minutes(29.9)
    assert desk.queues.next(queue, "Bob").place == 2
    desk.clock.pass_minutes(0.2)
    assert desk.queues.next(queue, "Cy").place == 1
    assert desk.queues.next(queue, "Ann").place == 3


def test_a_verdict_after_the_claim_ended_is_kept_and_settles_the_item(desk: Desk) -> None:
    queue = desk.queue()
    late = desk.queues.next(queue, "Ann")
    desk.clock.pass_minutes(31)
    assert desk.queues.next(queue, "Bob") == late
    desk.judge(late, "Ann")
    assert desk.queues.next(queue, "Bob").place == 2
    assert desk.queues.progress(queue, "Ann").done == 1


def test_a_claim_lasts_while_the_annotator_comes_back(desk: Desk) -> None:
    queue = desk.queue()
    for _ in range(4):
        assert desk.queues.next(queue, "Ann").place == 1
        desk.clock.pass_minutes(20)
    assert desk.queues.next(queue, "Bob").place == 2


def test_a_released_item_goes_to_others_and_is_not_put_off(desk: Desk) -> None:
    queue = desk.queue()
    desk.queues.next(queue, "Ann")
    desk.queues.release(queue, 1, "Ann")
    assert desk.queues.claims(queue) == []
    assert desk.queues.next(queue, "Ann").place == 1
    desk.queues.release(queue, 1, "Ann")
    assert desk.queues.next(queue, "Bob").place == 1


# Skip and come back


def test_skipped_items_return_at_the_end_in_the_order_they_were_skipped(desk: Desk) -> None:
    queue, seen, skips = desk.queue(), [], {2: 2, 5: 1}
    while (item := desk.queues.next(queue, "Ann")) is not None:
        seen.append(item.place)
        if seen.count(item.place) <= skips.get(item.place, 0):
            desk.queues.skip(queue, item.place, "Ann")
        else:
            desk.judge(item, "Ann")
    assert seen == [1, 2, 3, 4, 5, 6, 2, 5, 2]


def test_a_skipped_item_is_free_for_another_annotator_at_once(desk: Desk) -> None:
    queue = desk.queue()
    desk.queues.skip(queue, desk.queues.next(queue, "Ann").place, "Ann")
    assert desk.queues.next(queue, "Bob").place == 1
    assert desk.queues.next(queue, "Ann").place == 2


def test_an_item_stays_put_off_after_a_restart(desk: Desk) -> None:
    queue = desk.queue()
    desk.queues.skip(queue, desk.queues.next(queue, "Ann").place, "Ann")
    desk.clock.pass_minutes(600)
    assert QueueStore(desk.path, clock=desk.clock).next(queue, "Ann").place == 2


# Undo and redo


def test_undo_gives_items_back_step_by_step_after_a_restart_and_redo_takes_them(desk: Desk) -> None:
    queue = desk.queue()
    for _ in range(3):
        desk.judge(desk.queues.next(queue, "Ann"), "Ann")
    assert desk.queues.next(queue, "Ann").place == 4

    again = QueueStore(desk.path, clock=desk.clock)
    assert [again.undo(queue, "Ann").item.place for _ in range(3)] == [3, 2, 1]
    assert again.undo(queue, "Ann") is None
    assert desk.judgements.current() == []
    assert again.next(queue, "Ann").place == 1
    assert again.next(queue, "Bob").place == 5

    later = QueueStore(desk.path, clock=desk.clock)
    assert [later.redo(queue, "Ann").item.place for _ in range(2)] == [1, 2]
    assert later.next(queue, "Ann").place == 3
    assert later.redo(queue, "Ann").item.place == 3
    assert later.redo(queue, "Ann") is None
    assert later.next(queue, "Ann").place == 4
    assert later.progress(queue, "Ann").done == 3


def test_the_item_undone_last_comes_first(desk: Desk) -> None:
    queue = desk.queue()
    desk.queues.skip(queue, desk.queues.next(queue, "Ann").place, "Ann")
    for _ in range(6):
        desk.clock.pass_minutes(1)
        desk.judge(desk.queues.next(queue, "Ann"), "Ann")
    assert desk.queues.undo(queue, "Ann").item.place == 1  # the skipped one was judged last
    desk.clock.pass_minutes(1)
    assert desk.queues.undo(queue, "Ann").item.place == 6
    assert desk.queues.next(queue, "Ann").place == 6


def test_undo_of_a_changed_verdict_brings_the_earlier_one_back(desk: Desk) -> None:
    queue = desk.queue()
    item = desk.queues.next(queue, "Ann")
    desk.judge(item, "Ann", "unlisted")
    desk.judge(item, "Ann", "invalid")
    assert desk.queues.undo(queue, "Ann").item == item
    assert [j.label for j in desk.judgements.current()] == ["unlisted"]
    assert desk.queues.undo(queue, "Ann").item == item
    assert desk.judgements.current() == []


def test_nothing_is_left_to_redo_after_a_new_verdict(desk: Desk) -> None:
    queue = desk.queue()
    item = desk.queues.next(queue, "Ann")
    desk.judge(item, "Ann")
    desk.queues.undo(queue, "Ann")
    desk.judge(item, "Ann", "unsure")
    assert desk.queues.redo(queue, "Ann") is None
    assert [j.label for j in desk.judgements.current()] == ["unsure"]


def test_an_undo_made_on_the_trace_opens_the_item_too(desk: Desk) -> None:
    queue = desk.queue()
    item = desk.queues.next(queue, "Ann")
    desk.judge(item, "Ann")
    assert desk.queues.progress(queue, "Ann").done == 1
    desk.judgements.undo(item.trace_id, "Ann")
    desk.clock.pass_minutes(60)
    assert QueueStore(desk.path, clock=desk.clock).next(queue, "Ann") == item


def test_undo_reaches_neither_another_annotator_nor_another_queue(desk: Desk) -> None:
    queue = desk.queue()
    other = desk.queues.create(desk.run_id, PLAN, desk.items[:1], "other")
    desk.judge(desk.items[3], "Ann")
    desk.judge(desk.items[0], "Bob")
    assert desk.queues.undo(other, "Ann") is None
    assert desk.queues.redo(queue, "Ann") is None
    assert len(desk.judgements.current()) == 2


# Progress


def test_progress_counts_what_is_done_and_left_and_tells_the_pace(desk: Desk) -> None:
    clock = Clock(datetime.now(UTC) - timedelta(seconds=12))
    queues, queue = QueueStore(desk.path, clock=clock), desk.queue()
    assert queues.progress(queue, "Ann") == Progress(0, 6, 0, 6, None)
    assert queues.progress(queue, "Ann").seconds_left is None
    desk.judge(queues.next(queue, "Ann"), "Ann")
    desk.judge(queues.next(queue, "Bob"), "Bob")
    progress = queues.progress(queue, "Ann")
    assert (progress.done, progress.left, progress.total, progress.finished, progress.items) == (
        1,
        4,
        5,
        2,
        6,
    )
    assert progress.seconds_each == pytest.approx(12, abs=5)
    assert progress.seconds_left == 4 * progress.seconds_each


def test_the_pace_runs_from_the_verdict_before_if_the_item_was_claimed_ahead(desk: Desk) -> None:
    queue = desk.queue()
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    claim = {"queue_id": queue, "annotator": "Ann", "kind": "claim", "at": an_hour_ago}
    with transaction(desk.path) as db:
        db.table("claims").insert_all(claim | {"place": place} for place in (1, 2, 3))
    for place in (1, 2, 3):
        desk.judge(desk.queues.item(queue, place), "Ann")
    assert desk.queues.progress(queue, "Ann").seconds_each < 60


# Many at once


def test_sixteen_threads_and_two_processes_never_meet(tmp_path: Path) -> None:
    path = tmp_path / "rtv.db"
    desk = Desk(path, *add_run(path, questions=12, answers=4), Clock())
    queue = desk.queue()
    workers = [_worker(path, queue, name) for name in ("one", "two")]
    said = [line for worker in workers for line in worker.communicate(timeout=300)[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(int(line.split()[0]) for line in said) == list(range(1, 49))
    assert len({line.split(maxsplit=1)[1] for line in said}) > 2
    with connect(path) as db:
        claims = db.execute("SELECT place, annotator FROM claims").fetchall()
    assert sorted(f"{place} {annotator}" for place, annotator in claims) == sorted(said)


WORKER = """
    import sys, threading
    from rtv_core.errors import StoreError
    from rtv_core.records import Judgement
    from rtv_core.store.judgements import JudgementStore
    from rtv_core.store.queues import QueueStore

    path, queue, name = sys.argv[1:]
    queues, judgements = QueueStore(path), JudgementStore(path)

    def patiently(call, *arguments):  # a machine under load may keep a writer waiting for too long
        for _ in range(20):
            try:
                return call(*arguments)
            except StoreError as error:
                busy = error
        raise busy

    def work(annotator):
        while (item := patiently(queues.next, queue, annotator)) is not None:
            verdict = Judgement(item.trace_id, "", item.answer, "invalid", annotator)
            patiently(judgements.judge, verdict, str(item.place))
            sys.stdout.write(f"{item.place} {annotator}\\n")  # in one piece, whatever other threads say

    threads = [threading.Thread(target=work, args=(f"{name} {i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def _worker(path: Path, queue: str, name: str) -> subprocess.Popen[str]:
    root = Path(rtv_core.__file__).resolve().parents[1]
    command = [sys.executable, "-c", textwrap.dedent(WORKER), str(path), queue, name]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def test_sixteen_clicks_at_once_claim_one_item_once(desk: Desk) -> None:
    queue, given = desk.queue(), []
    _in_threads(16, lambda: given.append(desk.queues.next(queue, "Ann")))
    assert len(given) == 16
    assert len(set(given)) == 1
    with connect(desk.path) as db:
        assert db.table("claims").count == 1


def _in_threads(count: int, work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_next_of_5000_items_comes_within_100_ms_when_almost_all_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "rtv.db"
    desk = Desk(path, *add_run(path, questions=1250, answers=4), Clock())
    queue = desk.queue()
    with transaction(path) as db:
        db.conn.executemany(
            """
            INSERT INTO events (kind, at, trace_id, annotator, token, answer_key, answer, label, evidence,
                gold, note, recalled, blind)
            VALUES ('judge', '2030-01-01', ?, ?, ?, ?, ?, 'invalid', '', '', '', 1, 1)
            """,
            [
                (item.trace_id, f"annotator {i % 5}", f"token {i}", item.answer, item.answer)
                for i, item in enumerate(desk.items[:-1])
            ],
        )
    spent = []
    for name in ("Ann", "annotator 1", "annotator 2"):
        start = time.thread_time()
        item = desk.queues.next(queue, name)
        spent.append(time.thread_time() - start)
        if item is not None:
            assert item.place == 5000
            desk.queues.release(queue, 5000, name)
    assert min(spent) < 0.1
    assert desk.queues.progress(queue, "annotator 1").done == 1000


# Ready ahead, and placed among the gold


def test_the_item_after_is_claimed_too_but_the_one_before_stays_the_next(desk: Desk) -> None:
    queue = desk.queue()
    first = desk.queues.next(queue, "Ann")
    ahead = desk.queues.ahead(queue, first.place, "Ann")
    assert (first.place, ahead.place) == (1, 2)
    assert desk.queues.ahead(queue, 1, "Ann") == ahead
    assert desk.queues.next(queue, "Ann") == first
    assert desk.queues.next(queue, "Bob").place == 3
    desk.judge(first, "Ann")
    assert desk.queues.next(queue, "Ann") == ahead
    assert desk.queues.ahead(queue, 2, "Ann").place == 4
    desk.queues.skip(queue, 2, "Ann")
    assert desk.queues.next(queue, "Ann").place == 4
    assert desk.queues.undo(queue, "Ann").item.place == desk.queues.next(queue, "Ann").place == 1


def test_nothing_lies_ahead_of_the_last_item(desk: Desk) -> None:
    queue = desk.queue()
    for place in range(1, 6):
        desk.queues.skip(queue, place, "Ann")
    last = desk.queues.next(queue, "Ann")
    assert last.place == 6
    for item in desk.items[:5]:
        desk.judge(item, "Bob")
    assert desk.queues.ahead(queue, 6, "Ann") is None


def test_a_standing_says_who_may_judge_and_what_else_is_asked_of_the_question(desk: Desk) -> None:
    queue = desk.queue()
    desk.queues.next(queue, "Ann")
    mine, theirs = (desk.queues.standing(queue, 1, name) for name in ("Ann", "Bob"))
    assert (mine.judged, mine.is_open, mine.waiting) == (False, True, True)
    assert [other.place for other in mine.others] == [2]
    assert not theirs.is_open
    desk.judge(mine.item, "Ann")
    assert desk.queues.standing(queue, 1, "Ann").judged
    assert not desk.queues.standing(queue, 2, "Ann").waiting


def test_what_was_called_right_blindly_is_to_be_placed_once_no_item_of_its_question_is_left(
    desk: Desk,
) -> None:
    queue = desk.queue()
    one, other = desk.items[:2]

    def judge(item: QueueItem, label: str, blind: bool = True) -> None:
        judgement = Judgement(item.trace_id, "", item.answer, label, "Ann", blind=blind)
        desk.judgements.judge(judgement, f"{time.perf_counter_ns()}")

    judge(one, "unlisted")
    assert desk.queues.unplaced(queue, "Ann") == []
    judge(other, "invalid")
    assert [item.place for item in desk.queues.unplaced(queue, "Ann")] == [1]
    assert desk.queues.standing(queue, 1, "Ann").unplaced
    assert desk.queues.unplaced(queue, "Bob") == []
    judge(one, "unlisted")  # once more without the gold, from another tab
    assert [item.place for item in desk.queues.unplaced(queue, "Ann")] == [1]
    desk.queues.show(queue, 1, "Ann")
    assert [item.place for item in desk.queues.unplaced(queue, "Ann")] == [1]
    judge(one, "unlisted")
    assert desk.queues.unplaced(queue, "Ann") == []
    desk.queues.undo(queue, "Ann")
    assert [item.place for item in desk.queues.unplaced(queue, "Ann")] == [1]
    judge(desk.items[2], "unlisted", blind=False)
    judge(desk.items[3], "invalid")
    assert [item.place for item in desk.queues.unplaced(queue, "Ann")] == [1]


# The command line


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    def run(*arguments: object) -> tuple[str, str]:
        with contextlib.suppress(SystemExit):
            main([str(argument) for argument in arguments])
        return capsys.readouterr()

    return run


def test_a_queue_is_drawn_from_a_run_and_listed(desk: Desk, run: Callable[..., tuple[str, str]]) -> None:
    arguments = ("queue", "draw", "--run", "small", "--count", 4, "--seed", 7, "--store", desk.path)
    said, _ = run(*arguments, "--overlap", 2, "--open")
    (queue,) = desk.queues.queues()
    assert queue.plan == QueuePlan("paper", 4, 7, overlap=2, blind=False)
    assert said == f"{queue.id}  paper, 4, seed 7: 4 items of the run small (4 × wrong prediction).\n"
    assert {item.inclusion for item in desk.queues.items(queue.id)} == {4 / 6}
    assert run(*arguments, "--overlap", 2, "--open").out == said
    assert "another queue 'paper, 4, seed 7'" in run(*arguments).err
    listed = f"4 items of the run small; paper, open, overlap 2, {queue.created_at[:10]}\n"
    assert run("queue", "list", "--store", desk.path).out == f"{queue.id}  paper, 4, seed 7: {listed}"


def test_what_can_not_be_drawn_is_said_in_a_line(desk: Desk, run: Callable[..., tuple[str, str]]) -> None:
    for arguments, said in (
        (["draw", "--run", "big"], "There is no run 'big'"),
        (["draw", "--run", "small", "--strategy", "near-tau"], "no scores to compare with tau"),
        (["draw", "--run", "small", "--strategy", "disagreement"], "No two annotators or systems differ"),
        (["draw", "--run", "small", "--unit", "question"], "leave population and unit as they are"),
        (["list", "--run", "big"], "There is no run 'big'"),
    ):
        out, err = run("queue", *arguments, "--store", desk.path)
        assert not out
        assert err.startswith("Error: ")
        assert said in err
    assert "no runs in absent.db" in run("queue", "list", "--store", "absent.db").err
    assert desk.queues.queues() == []


def test_the_command_knows_the_strategies_populations_and_units() -> None:
    options = {option.name: option.type for option in command.commands["draw"].params}
    assert [name.replace("-", " ") for name in options["strategy"].choices] == list(STRATEGIES)
    assert list(options["population"].choices) == list(POPULATIONS)
    assert list(options["unit"].choices) == list(UNITS)


def test_everyone_who_judged_or_claimed_contributes_with_their_own_progress(desk: Desk) -> None:
    queue = desk.queue(overlap=2)
    assert desk.queues.contributions(queue) == []
    desk.judge(desk.queues.next(queue, "Bo"), "Bo")
    desk.judge(desk.queues.next(queue, "Bo"), "Bo", "unlisted")
    desk.queues.next(queue, "Ann")
    ann, bo = desk.queues.contributions(queue)
    assert (ann.annotator, ann.progress, ann.last_at) == ("Ann", desk.queues.progress(queue, "Ann"), "")
    assert (bo.annotator, bo.progress) == ("Bo", desk.queues.progress(queue, "Bo"))
    assert bo.progress.done == 2
    assert bo.last_at == max(j.at for j in desk.judgements.current(annotator="Bo"))
    with pytest.raises(MissingError):
        desk.queues.contributions("elsewhere")

"""Runs in the store: whole questions, once, for many writers; opened and filtered without waiting."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.records import Candidate, Question, Run, RunAnswer, RunGold, RunQuestion, Trace
from rtv_core.store.database import connect
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.migrations import STEPS, version
from rtv_core.store.runs import RunStore, run_id

RUN = Run("", "dev", "RTV", "", 0, True, 0.5, 10, {"corpus": "demo", "settings": "{}"})
GOLD = ((("1995",), ("April 24, 2010", "2010")), (("1995", "in 1995"),))


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "folder" / "runs.db")


def test_a_question_comes_back_as_it_was_with_its_trace(store: RunStore, tmp_path: Path) -> None:
    run = store.create(RUN)
    question, trace = _question(0)
    store.add_question(run.id, question, trace)
    (kept,) = store.questions(run.id)
    assert replace(kept, trace_id="") == replace(question, run_id=run.id)
    assert store.question("dev", 0) == kept
    assert JudgementStore(tmp_path / "folder" / "runs.db").load_trace(kept.trace_id) == trace


def test_a_run_is_found_by_id_and_name_and_counts_its_questions(store: RunStore) -> None:
    run = store.create(RUN)
    store.add_questions(run.id, map(_question, range(3)))
    found = store.run("dev")
    assert found == store.run(run_id("dev")) == store.runs()[0]
    assert replace(found, at="") == replace(RUN, id=run_id("dev"), questions=3)
    assert found.at[:2] == "20"
    assert store.question_ids("dev") == {"q0", "q1", "q2"}


def test_an_unknown_run_is_missing_and_the_nearest_name_is_said(store: RunStore) -> None:
    store.create(RUN)
    with pytest.raises(MissingError, match=r"no run 'dv'.*Did you mean 'dev'"):
        store.questions("dv")
    with pytest.raises(MissingError, match="Known: dev"):
        store.add_question("0123456789abcdef", *_question(0))
    with pytest.raises(MissingError, match="has no question 7"):
        store.question("dev", 7)


def test_a_run_of_one_name_goes_on_only_with_the_same_provenance(store: RunStore) -> None:
    first = store.create(RUN)
    assert store.create(RUN) == first
    for other, said in (
        (replace(RUN, tau=0.6), "its tau is 0.5, now it would be 0.6"),
        (replace(RUN, system="JPR"), "its system is RTV, now it would be JPR"),
        (replace(RUN, provenance={"corpus": "wiki", "settings": "{}"}), "its corpus is demo"),
        (replace(RUN, provenance={"corpus": "demo"}), "its settings is {}, now it would be missing"),
    ):
        with pytest.raises(MismatchError, match="'dev' already") as error:
            store.create(other)
        assert said in str(error.value)
    assert store.runs() == [first]


@pytest.mark.parametrize("name", ["", " \u200b", "x" * 201, 7])
def test_a_run_without_a_proper_name_is_refused(store: RunStore, name: object) -> None:
    with pytest.raises(InputError, match="run's name"):
        store.create(replace(RUN, name=name))
    assert store.runs() == []


def test_a_question_added_twice_stays_as_it_was_first(store: RunStore) -> None:
    run = store.create(RUN)
    question, trace = _question(0)
    store.add_question(run.id, question, trace)
    before = store.questions(run.id)
    store.add_question(run.id, replace(question, answers=(), seconds=9.0), trace)
    assert store.questions(run.id) == before


def test_another_question_can_not_take_a_position(store: RunStore) -> None:
    run = store.create(RUN)
    store.add_question(run.id, *_question(0))
    question, trace = _question(1)
    with pytest.raises(MismatchError, match="Question 0 of the run is 'q0', not 'q1'"):
        store.add_question(run.id, replace(question, position=0), trace)


def test_questions_added_together_are_kept_together_or_not_at_all(store: RunStore) -> None:
    run = store.create(RUN)
    bad = replace(_question(2)[0], position=0)
    with pytest.raises(MismatchError):
        store.add_questions(run.id, [_question(0), _question(1), (bad, _question(2)[1])])
    assert store.questions(run.id) == []


def test_a_run_is_complete_once_it_is_said_to_be(store: RunStore) -> None:
    run = store.create(RUN)
    assert not store.is_complete(run.id)
    store.finish(run.id)
    assert store.is_complete("dev")


def test_half_characters_and_hostile_texts_are_kept_as_far_as_they_can_be(store: RunStore) -> None:
    run = store.create(RUN)
    question, trace = _question(0)
    answers = tuple(
        RunAnswer(text, (text, "b"), None, True, "")
        for text in ("a\ud800", "'); DROP TABLE runs; --", "\x00")
    )
    store.add_question(run.id, replace(question, answers=answers), trace)
    kept = store.question(run.id, 0).answers
    assert [answer.answer for answer in kept] == ["a?", "'); DROP TABLE runs; --", "\x00"]
    assert kept[0].spellings == ("a?", "b")


# Filters


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ({}, [0, 1, 2]),
        ({"text": "HOW MANY  1"}, [1]),
        ({"text": "beyonce 2"}, [2]),
        ({"text": "april 24, 20"}, [0, 1, 2]),
        ({"text": "100%"}, []),
        ({"text": "_"}, []),
        ({"text": "nothing of the kind"}, []),
        ({"lost": "predicted"}, [0, 1, 2]),
        ({"lost": "at or below tau"}, [1]),
        ({"lost": "not retrieved"}, [0, 2]),
        ({"predicted": True}, [0, 1, 2]),
        ({"predicted": True, "text": "rejected"}, []),
        ({"predicted": False, "text": "rejected"}, [0, 1, 2]),
        ({"lost": "not retrieved", "text": "how many 2"}, [2]),
        ({"limit": 1, "offset": 1}, [1]),
        ({"limit": 0}, []),
    ],
)
def test_questions_are_filtered_by_text_fate_and_prediction(
    store: RunStore, wanted: dict, positions: list[int]
) -> None:
    run = store.create(RUN)
    store.add_questions(run.id, map(_question, range(3)))
    store.add_question(store.create(replace(RUN, name="other")).id, *_question(3))
    assert [found.position for found in store.filter("dev", **wanted)] == positions
    if not {"limit", "offset"} & set(wanted):
        assert store.count(run.id, **wanted) == len(positions)


def test_an_unknown_fate_is_refused(store: RunStore) -> None:
    run = store.create(RUN)
    with pytest.raises(InputError, match="lost is 'stolen'; it must be one of not retrieved"):
        store.filter(run.id, lost="stolen")


@pytest.mark.slow
def test_a_run_of_2000_questions_with_50_candidates_opens_and_filters_at_once(
    store: RunStore, tmp_path: Path
) -> None:
    run = store.create(RUN)
    store.add_questions(run.id, (_question(i, candidates=50) for i in range(100)))
    _repeat_questions(tmp_path / "folder" / "runs.db", count=100, times=20)
    assert _cpu_seconds(lambda: store.questions(run.id)) < 1
    assert sum(len(question.answers) for question in store.questions(run.id)) == 2000 * 50
    for wanted in (
        {"text": "beyonce 34"},
        {"text": "nothing of the kind"},
        {"lost": "at or below tau"},
        {"predicted": False, "text": "rejected 1"},
    ):
        assert _cpu_seconds(lambda wanted=wanted: store.filter(run.id, offset=500, **wanted)) < 0.3, wanted
        assert _cpu_seconds(lambda wanted=wanted: store.count(run.id, **wanted)) < 0.3, wanted


def _repeat_questions(path: Path, count: int, times: int) -> None:
    """Writes the first `count` questions again behind themselves, until they are there `times` times."""
    columns = {
        "run_questions": "turn || question_id, question, question_key, gold_json, trace_id, seconds, sources",
        "run_answers": "number, answer, answer_key, spellings_json, p_right, predicted, gold, repeats",
        "run_gold": "number, answer, spellings_json, lost",
    }
    with connect(path) as db:
        for table, copied in columns.items():
            db.execute(
                "WITH turns (turn) AS "
                f"(SELECT 1 UNION ALL SELECT turn + 1 FROM turns WHERE turn < {times - 1}) "
                f"INSERT INTO {table} SELECT run_id, position + turn * {count}, {copied} FROM turns, {table}"
            )
        db.commit()


def _cpu_seconds(work: Callable[[], object]) -> float:
    """The better of two tries, in time of this process: a busy machine doesn't count."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


# Many writers


def test_sixteen_threads_write_every_question_once(store: RunStore) -> None:
    run = store.create(RUN)
    failures = []

    def write(thread: int) -> None:
        try:
            for i in range(6):
                store.add_question(run.id, *_question((thread + i) % 16))
        except Exception as error:  # a thread's failure is the test's
            failures.append(error)

    workers = [threading.Thread(target=write, args=(thread,)) for thread in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert [question.position for question in store.questions(run.id)] == list(range(16))
    assert all(len(question.answers) == 2 for question in store.questions(run.id))


# The schema


def test_a_file_of_version_1_takes_runs_and_keeps_its_judgements(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = (Path(__file__).parent / "data" / "judgements_v1.sql").read_text(encoding="utf-8")
    with sqlite3.connect(path) as old:
        old.executescript(script)
    old.close()
    runs = RunStore(path)
    run = runs.create(RUN)
    judgements = JudgementStore(path)
    trace = judgements.load_trace(judgements.current()[0].trace_id)
    runs.add_question(run.id, replace(_question(0)[0], question=trace.question), trace)
    assert [(j.annotator, j.answer, j.label) for j in judgements.current()] == [("Ann", "1995", "listed")]
    assert judgements.current(runs.question(run.id, 0).trace_id) == judgements.current()
    with connect(path) as db:
        assert version(db) == len(STEPS)


def test_claims_are_only_ever_added(store: RunStore, tmp_path: Path) -> None:
    run = store.create(RUN)
    with connect(tmp_path / "folder" / "runs.db") as db:
        db.execute(
            "INSERT INTO queues (id, run_id, name, strategy, seed, overlap, blind, settings, created_at) "
            "VALUES ('q', ?, 'first', 'paper', 0, 1, 1, '{}', '2026-11-30')",
            [run.id],
        )
        db.execute(
            "INSERT INTO queue_items "
            "(queue_id, place, position, kind, answer, answer_key, inclusion, stratum) "
            "VALUES ('q', 1, 0, 'prediction', 'a', 'a', 0.5, '')"
        )
        claim = (
            "INSERT INTO claims (queue_id, place, annotator, kind, at) VALUES ('q', ?, 'Ann', 'claim', 'now')"
        )
        db.execute(claim, [1])
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            db.execute(claim, [2])
        for change in ("UPDATE claims SET annotator = 'Bob'", "DELETE FROM claims"):
            with pytest.raises(sqlite3.IntegrityError, match="never rewritten"):
                db.execute(change)


def _question(number: int, candidates: int = 2) -> tuple[RunQuestion, Trace]:
    """A question with one predicted answer and others rejected; every second one is lost at another stage."""
    question = Question(f"q{number}", f"How many {number}?", GOLD)
    answers = [RunAnswer(f"Beyoncé {number}", (f"Beyoncé {number}", "B."), 0.9, True, "1995")]
    answers += [
        RunAnswer(f"rejected {number} {i}", (f"rejected {number} {i}",), 0.4 / i, False, "", repeats=i == 2)
        for i in range(1, candidates)
    ]
    lost = "at or below tau" if number % 2 else "not retrieved"
    gold = (RunGold("1995", ("1995",), "predicted"), RunGold("April 24, 2010", ("April 24, 2010",), lost))
    found = tuple(Candidate(answer.answer, answer.spellings, 0.5, ()) for answer in answers[:2])
    return RunQuestion("", number, question, "", tuple(answers), gold, 0.25), Trace(
        question, candidates=found
    )

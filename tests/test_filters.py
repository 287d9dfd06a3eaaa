"""Saved filters, counted sources, and the verdicts of an earlier day: what the Analyse page keeps."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from rtv_core.errors import InputError, MissingError, StoreError
from rtv_core.records import Hit, Judgement, Passage, Question, Run, RunQuestion, Trace
from rtv_core.store.filters import FilterStore
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.merging import merge
from rtv_core.store.runs import RunStore
from rtv_core.store.sources import SourceStore
from rtv_core.store.standing import standing_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rtv.db"


def names(path: Path, owner: str = "") -> list[tuple[str, tuple[str, ...]]]:
    """The filters that another process would find."""
    return [(own.name, own.conditions) for own in FilterStore(path).filters(owner)]


# Filters


def test_a_filter_is_found_again_and_is_its_owners_own(path: Path) -> None:
    store = FilterStore(path)
    saved = store.save("Ada", "  hard   ones ", ["gold >= 3", "lost = not recalled"])
    assert (saved.name, saved.conditions) == ("hard ones", ("gold >= 3", "lost = not recalled"))
    store.save("Bo", "hard ones", ["f1 = 0"])
    assert names(path, "Ada") == [("hard ones", ("gold >= 3", "lost = not recalled"))]
    assert names(path, "Bo") == [("hard ones", ("f1 = 0",))]
    assert names(path) == []


def test_a_name_stands_for_what_was_saved_last_and_the_same_twice_is_once(path: Path) -> None:
    store = FilterStore(path)
    for conditions in (["gold = 1"], ["gold = 2"], ["gold = 2"]):
        store.save("", "a", conditions)
    assert names(path) == [("a", ("gold = 2",))]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM filter_events").fetchone() == (2,)


def test_a_deleted_filter_can_be_brought_back_after_a_restart(path: Path) -> None:
    FilterStore(path).save("", "a", ["gold = 1"])
    FilterStore(path).save("", "b", ["gold = 2"])
    FilterStore(path).delete("", "a")
    assert names(path) == [("b", ("gold = 2",))]
    assert FilterStore(path).restore("", "a").conditions == ("gold = 1",)
    FilterStore(path).restore("", "a")
    assert names(path) == [("a", ("gold = 1",)), ("b", ("gold = 2",))]


def test_what_is_not_there_can_not_be_deleted_or_brought_back(path: Path) -> None:
    store = FilterStore(path)
    store.save("Ada", "a", ["gold = 1"])
    for call in (store.delete, store.restore):
        with pytest.raises(MissingError, match="filter 'a'"):
            call("Bo", "a")


@pytest.mark.parametrize(
    ("name", "conditions", "reason"),
    [
        (" ", ["gold = 1"], "is empty"),
        ("--", ["gold = 1"], "needs a name"),
        ("x" * 81, ["gold = 1"], "has 81 characters"),
        ("a", [], "no condition yet"),
        ("a", ["\ud800"], "half a character"),
    ],
)
def test_what_can_not_be_kept_is_refused(path: Path, name: str, conditions: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        FilterStore(path).save("", name, conditions)
    assert names(path) == []


def test_threads_that_save_at_once_lose_nothing(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: FilterStore(path).save("", f"f{i}", [f"gold = {i}"]), range(24)))
    assert len(names(path)) == 24


def test_the_log_of_filters_is_never_rewritten(path: Path) -> None:
    FilterStore(path).save("", "a", ["gold = 1"])
    with closing(sqlite3.connect(path)) as db:
        for change in ("UPDATE filter_events SET name = 'b'", "DELETE FROM filter_events"):
            with pytest.raises(sqlite3.DatabaseError, match="never rewritten"):
                db.execute(change)


def test_a_merge_brings_filters_that_nobody_had_here_once(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    FilterStore(path).save("", "mine", ["gold = 1"])
    FilterStore(path).save("", "gone", ["gold = 2"])
    FilterStore(path).delete("", "gone")
    for name in ("mine", "gone", "new"):
        FilterStore(other).save("", name, ["gold = 9"])
    for _ in range(2):
        merge(other, path)
    assert names(path) == [("mine", ("gold = 1",)), ("new", ("gold = 9",))]


# Sources


def kept_run(path: Path) -> list[RunQuestion]:
    """Three questions: of two passages, of one, and without any."""
    run = RunStore(path).create(Run("", "dev", "ours", "", 0, False, None, 10))
    for position, count in enumerate((2, 1, 0)):
        question = Question(f"q{position}", f"Question {position}?", (((f"a{position}",),),))
        hits = tuple(
            Hit(Passage(f"p{i}", f"title {i}", f"text {i}"), 0.5, 0.0, 1, None, 1) for i in range(count)
        )
        own = RunQuestion(run.id, position, question, "", (), ())
        RunStore(path).add_question(run.id, own, Trace(question, hits))
    return RunStore(path).questions(run.id)


def test_sources_are_counted_once_and_kept(path: Path) -> None:
    questions, seen = kept_run(path), []

    def count(question: Question, passages) -> int | None:
        seen.append((question.id, list(passages)))
        return len(passages) or None

    run = questions[0].run_id
    assert SourceStore(path, count).counts(run, questions[1:]) == {1: 1, 2: None}
    assert SourceStore(path, count).counts(run, questions) == {0: 2, 1: 1, 2: None}
    assert [id_ for id_, _ in seen] == ["q1", "q2", "q0"]
    assert seen[2][1] == [("title 0", "text 0"), ("title 1", "text 1")]


def test_a_damaged_trace_is_said(path: Path) -> None:
    questions = kept_run(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE traces SET body = 'x' WHERE id = ?", [questions[0].trace_id])
    with pytest.raises(StoreError, match="can't be read"):
        SourceStore(path, lambda question, passages: 0).counts(questions[0].run_id, questions)


# The verdicts of an earlier day


def test_what_was_changed_or_taken_back_later_stood_then(path: Path) -> None:
    store, question = JudgementStore(path), Question("q", "Who?")
    trace = store.save_trace(Trace(question))
    for label, answer, by in (
        ("invalid", "x", "Ada"),
        ("unlisted", "x", "Ada"),
        ("invalid", "y", "Ada"),
        ("invalid", "x", "Bo"),
    ):
        store.judge(Judgement(trace, "Who?", answer, label, by, recalled=False), f"{label}{answer}{by}")
    store.undo(trace, "Ada")
    store.redo(trace, "Ada")
    days = dict(enumerate(("01", "03", "02", "04", "05", "06"), start=1))  # of the events, in their order
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER events_no_update")
        for id_, day in days.items():
            db.execute("UPDATE events SET at = ? WHERE id = ?", [f"2026-01-{day}T12:00:00.000+00:00", id_])

    def stood(day: str) -> list[tuple[str, str, str]]:
        return sorted((j.annotator, j.answer, j.label) for j in standing_at(path, f"2026-01-{day}"))

    assert stood("01") == []
    assert stood("02") == [("Ada", "x", "invalid")]
    assert stood("03") == [("Ada", "x", "invalid"), ("Ada", "y", "invalid")]
    assert stood("05") == [("Ada", "x", "unlisted"), ("Ada", "y", "invalid"), ("Bo", "x", "invalid")]
    assert stood("06") == [("Ada", "x", "unlisted"), ("Bo", "x", "invalid")]  # y is taken back
    assert stood("07") == sorted((j.annotator, j.answer, j.label) for j in store.current())

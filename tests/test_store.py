"""The judgement store: what is acknowledged is kept, once, for good, whatever happens meanwhile."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from sqlite_utils import Database

import rtv_core
from rtv_core.errors import InputError, MissingError, StoreError
from rtv_core.records import (
    Candidate,
    Hit,
    Judgement,
    Passage,
    Question,
    Reading,
    Source,
    Span,
    Trace,
    Verdict,
    Wording,
)
from rtv_core.store.database import connect, plain_errors, transaction
from rtv_core.store.export import COLUMNS, export_csv, export_jsonl
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.merging import Merged, merge
from rtv_core.store.migrations import STEPS, migrate, version
from rtv_core.store.traces import check_trace, read_trace, trace_row
from rtv_core.store.validation import checked_judgement

QUESTION = "When did You Don't Know Jack come out?"
HOSTILE = [
    "=1+1",
    " =1+1",
    "\r=1+1",
    "\t=1+1",
    "\n@SUM(A1)",
    "\ufeff=1+1",
    "\u200b+1",
    "\x00=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(A1)",
    "\u22121",
    '=HYPERLINK("http://x.test")',
    '"><svg onload=alert(1)>',
    "</script><script>alert(1)</script>",
    "${7*7} {{7*7}} {{{ ` \\u \\x",
    "'); DROP TABLE events; --",
    "\u202eevil\u202c 👩‍👩‍👧 e\u0301 İ ß",
    'a,"b"\r\nc\u2028d',
]


@pytest.fixture
def store(tmp_path: Path) -> JudgementStore:
    return JudgementStore(tmp_path / "folder" / "judgements.db")


@pytest.fixture
def trace_id(store: JudgementStore) -> str:
    return store.save_trace(_trace())


# Traces


def test_a_trace_comes_back_as_it_was(store: JudgementStore) -> None:
    trace = _trace()
    assert store.load_trace(store.save_trace(trace)) == trace


def test_a_trace_saved_twice_is_one_row_whatever_time_it_took(store: JudgementStore) -> None:
    first = store.save_trace(_trace())
    assert store.save_trace(_trace().grown(seconds={"recall": 9.0})) == first
    assert store.traces(QUESTION) == [first]
    assert len(first) == 16
    assert set(first) <= set("0123456789abcdef")


def test_the_traces_of_a_question_are_newest_first_and_blind_to_case_and_spacing(
    store: JudgementStore,
) -> None:
    older = store.save_trace(_trace())
    newer = store.save_trace(_trace(model="two"))
    store.save_trace(_trace(question="Who sang Lost Boy?"))
    assert store.traces(f"  {QUESTION.upper()} ") == [newer, older]
    assert store.traces("never asked") == []
    assert dict(store.provenance(newer)) == {"model": "two"}


def test_a_trace_with_half_characters_from_a_broken_corpus_is_kept(store: JudgementStore) -> None:
    hit = Hit(Passage("1", "", "broken \ud83d here"), 0.5, 0.0, 1, None, 1)
    trace = _trace().grown(hits=(hit,))
    assert store.load_trace(store.save_trace(trace)) == trace


def test_a_trace_keeps_the_id_that_it_had_when_readings_had_no_wordings() -> None:
    reading = Reading("p", 0.75, (Span(0, 4, 0.5),))
    hit = Hit(Passage("p", "It", "Ruth sang it."), 0.5, 1.0, 1, 1, 1)
    trace = Trace(Question("q", "who sang it"), hits=(hit,), readings=(reading,), stage="recalled")
    assert trace_row(trace)["id"] == "2dcab723116c8461"
    worded = trace.grown(readings=(replace(reading, wordings=(Wording("Berhe", 0.5),)),))
    assert trace_row(worded)["id"] != trace_row(trace)["id"]
    for each in (trace, worded):
        check_trace(trace_row(each))
        assert read_trace(trace_row(each)) == each


def test_an_unknown_trace_is_missing(store: JudgementStore, trace_id: str) -> None:
    calls = (store.load_trace, store.provenance, lambda id_: store.judge(_judged(id_), "t"))
    for unknown in ("0" * 16, "", "' OR 1=1", "\ud800", None, 7):
        for call in calls:
            with pytest.raises(MissingError, match="There is no trace"):
                call(unknown)
        assert store.current(trace_id=unknown or "-") == store.history(unknown) == []
        assert store.undo(unknown, "Ann") is store.redo(unknown, "Ann") is None


# Judgements


def test_a_judgement_is_saved_with_time_and_the_traces_own_question(
    store: JudgementStore, trace_id: str
) -> None:
    given = Judgement(
        trace_id,
        "another question",
        "1995",
        "listed",
        " Ann  Lee ",
        evidence="supports",
        gold="1995",
        note="first game",
        p_right=0.93,
        tau=0.5,
        k=10,
    )
    saved = store.judge(given, "t1")
    assert saved == replace(given, question=QUESTION, annotator="Ann Lee", at=saved.at)
    assert saved.at.endswith("+00:00")
    assert store.current() == [saved]


def test_a_judgement_is_found_after_a_restart_and_on_another_run(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    first = store.judge(_judged(trace_id), "t1")
    again = JudgementStore(tmp_path / "folder" / "judgements.db")
    other_run = again.save_trace(_trace(model="two"))
    second = again.judge(_judged(other_run, annotator="Bob", label="invalid"), "t1")
    assert again.for_question(QUESTION.lower()) == [second, first]
    assert again.for_question(QUESTION, annotator="Ann") == [first]
    assert again.for_question("another question") == []


def test_the_same_token_writes_once(store: JudgementStore, trace_id: str) -> None:
    first = store.judge(_judged(trace_id), "click-1")
    assert store.judge(_judged(trace_id), "click-1") == first
    assert len(store.history(trace_id)) == 1


def test_a_token_can_not_carry_another_judgement(store: JudgementStore, trace_id: str) -> None:
    store.judge(_judged(trace_id), "click-1")
    with pytest.raises(InputError, match="used for another judgement"):
        store.judge(_judged(trace_id, label="invalid"), "click-1")
    assert [j.label for j in store.current()] == ["unlisted"]


def test_two_annotators_tokens_do_not_meet(store: JudgementStore, trace_id: str) -> None:
    store.judge(_judged(trace_id), "click-1")
    assert store.judge(_judged(trace_id, annotator="Bob"), "click-1").annotator == "Bob"
    assert len(store.current(trace_id)) == 2


def test_sixteen_clicks_at_once_with_one_token_write_once(store: JudgementStore, trace_id: str) -> None:
    saved = []
    _in_threads(16, lambda i: saved.append(store.judge(_judged(trace_id), "click-1")))
    assert len(saved) == 16
    assert len(set(saved)) == 1
    assert len(store.history(trace_id)) == 1


def test_a_changed_verdict_replaces_the_current_one_and_stays_in_history(
    store: JudgementStore, trace_id: str
) -> None:
    store.judge(_judged(trace_id, answer="24 April 2010", label="listed"), "t1")
    store.judge(_judged(trace_id, answer="April 24, 2010", label="invalid"), "t2")  # one key, one answer
    assert [(j.answer, j.label) for j in store.current()] == [("April 24, 2010", "invalid")]
    assert [e.judgement.label for e in store.history(trace_id)] == ["listed", "invalid"]


def test_each_annotator_and_answer_has_one_verdict(store: JudgementStore, trace_id: str) -> None:
    for token, (annotator, answer) in enumerate([("Ann", "1995"), ("Ann", "2012"), ("Bob", "1995")]):
        store.judge(_judged(trace_id, answer=answer, annotator=annotator), str(token))
    assert len(store.current()) == 3
    assert [j.answer for j in store.current(annotator="Ann")] == ["2012", "1995"]


def test_a_typed_answer_need_not_be_a_candidate(store: JudgementStore, trace_id: str) -> None:
    saved = store.judge(_judged(trace_id, answer="June 20, 2001", recalled=False), "t1")
    assert not saved.recalled


def test_a_typed_answer_that_is_a_candidate_counts_as_recalled(store: JudgementStore, trace_id: str) -> None:
    assert store.judge(_judged(trace_id, answer="april 24 2010", recalled=False), "t1").recalled


WRONG = [
    ({"label": "right"}, "The label is 'right'; it must be one of listed"),
    ({"label": ["listed"]}, "The label is"),
    ({"label": None}, "The label is None"),
    ({"evidence": "maybe"}, "The evidence is 'maybe'"),
    ({"evidence": None}, "The evidence is None"),
    ({"label": "variant"}, "say which gold answer"),
    ({"label": "variant", "gold": " "}, "say which gold answer"),
    ({"annotator": ""}, "name has 0 characters"),
    ({"annotator": " \u3000"}, "name has 0 characters"),
    ({"annotator": "x" * 81}, "name has 81 characters"),
    ({"annotator": "Ann\u200b"}, "invisible character U\\+200B"),
    ({"annotator": "A\u202enn"}, "invisible character U\\+202E"),
    ({"annotator": 7}, "it must be a text"),
    ({"answer": "", "recalled": False}, "The answer is empty"),
    ({"answer": "\u200b \x00", "recalled": False}, "The answer is empty"),
    ({"answer": "x" * 10_001, "recalled": False}, "The answer has 10,001 characters"),
    ({"answer": "\ud800x", "recalled": False}, "half a character"),
    ({"answer": None}, "The answer is None"),
    ({"note": "x" * 10_001}, "The note has 10,001 characters"),
    ({"gold": 3}, "The gold answer is 3"),
    ({"p_right": float("nan")}, "p_right is nan"),
    ({"p_right": 1.5}, "p_right is 1.5"),
    ({"p_right": True}, "p_right is True"),
    ({"tau": -0.1}, "tau is -0.1"),
    ({"tau": float("inf")}, "tau is inf"),
    ({"tau": "0.5"}, "tau is '0.5'"),
    ({"k": 7}, "k is 7"),
    ({"k": True}, "k is True"),
    ({"k": 10.0}, "k is 10.0"),
    ({"blind": 1}, "blind is 1"),
    ({"recalled": None}, "recalled is None"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_a_judgement_may_not_hold_is_refused(wrong: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_judgement(replace(_judged("0" * 16), **wrong))


def test_what_is_refused_is_not_written(store: JudgementStore, trace_id: str) -> None:
    for wrong, message in [*WRONG, ({"answer": "1996"}, "'1996' is no candidate")]:
        with pytest.raises(InputError, match=message):
            store.judge(replace(_judged(trace_id), **wrong), "t1")
    assert store.history(trace_id) == []


def test_a_judgement_without_a_proper_token_is_refused(store: JudgementStore, trace_id: str) -> None:
    for token in ("", " ", "x" * 201, None):
        with pytest.raises(InputError, match="client token"):
            store.judge(_judged(trace_id), token)
    assert store.history(trace_id) == []


def test_names_that_look_the_same_are_the_same(store: JudgementStore, trace_id: str) -> None:
    store.judge(_judged(trace_id, annotator="Zoe\u0308"), "t1")
    assert store.judge(_judged(trace_id, annotator="Zoë", label="unsure"), "t2").annotator == "Zoë"
    assert [j.label for j in store.current(annotator="Zoe\u0308")] == ["unsure"]
    assert store.undo(trace_id, "Zoë").label == "unsure"


# Undo and redo


def test_undo_and_redo_go_any_number_of_steps_and_over_a_reopening(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    labels = ["listed", "invalid", "unsure"]
    for token, label in enumerate(labels):
        store.judge(_judged(trace_id, label=label), str(token))
    assert [store.undo(trace_id, "Ann").label for _ in labels] == ["unsure", "invalid", "listed"]
    assert store.undo(trace_id, "Ann") is None
    assert store.current() == []

    again = JudgementStore(tmp_path / "folder" / "judgements.db")
    assert [again.redo(trace_id, "Ann").label for _ in labels] == labels
    assert again.redo(trace_id, "Ann") is None
    assert [j.label for j in again.current()] == ["unsure"]
    assert again.undo(trace_id, "Ann").label == "unsure"
    assert [j.label for j in again.current()] == ["invalid"]


def test_undo_goes_back_through_answers_in_the_order_they_were_judged(
    store: JudgementStore, trace_id: str
) -> None:
    store.judge(_judged(trace_id, answer="1995", label="listed"), "t1")
    store.judge(_judged(trace_id, answer="2012", label="invalid"), "t2")
    store.judge(_judged(trace_id, answer="1995", label="unsure"), "t3")
    store.undo(trace_id, "Ann")
    assert {j.answer: j.label for j in store.current()} == {"1995": "listed", "2012": "invalid"}
    store.undo(trace_id, "Ann")
    assert {j.answer: j.label for j in store.current()} == {"1995": "listed"}


def test_after_a_new_judgement_nothing_is_left_to_redo(store: JudgementStore, trace_id: str) -> None:
    store.judge(_judged(trace_id, label="listed"), "t1")
    store.undo(trace_id, "Ann")
    store.judge(_judged(trace_id, answer="2012"), "t2")
    assert store.redo(trace_id, "Ann") is None
    store.undo(trace_id, "Ann")
    assert store.redo(trace_id, "Ann").answer == "2012"
    assert store.redo(trace_id, "Ann") is None
    assert [j.answer for j in store.current()] == ["2012"]


def test_undo_reaches_no_other_annotator_and_no_other_trace(store: JudgementStore, trace_id: str) -> None:
    other = store.save_trace(_trace(model="two"))
    kept = [
        store.judge(_judged(trace_id, annotator="Bob"), "t1"),
        store.judge(_judged(other, annotator="Ann"), "t2"),
    ]
    assert store.undo(trace_id, "Ann") is store.redo(trace_id, "Ann") is None
    assert store.current() == kept[::-1]
    with pytest.raises(InputError, match="name"):
        store.undo(trace_id, "")


def test_undo_and_redo_are_events_and_history_is_never_rewritten(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    saved = store.judge(_judged(trace_id), "t1")
    store.undo(trace_id, "Ann")
    store.redo(trace_id, "Ann")
    events = store.history(trace_id)
    assert [e.kind for e in events] == ["judge", "undo", "redo"]
    assert {e.judgement for e in events} == {saved}
    assert events[0].at == saved.at <= events[1].at <= events[2].at
    with connect(tmp_path / "folder" / "judgements.db") as db:
        for change in ("UPDATE events SET label = 'invalid'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="never rewritten"):
                db.execute(change)
    assert store.history(trace_id) == events


# Many writers, and the end of one


WRITER = """
    import sys, threading
    from rtv_core.records import Judgement
    from rtv_core.store.judgements import JudgementStore

    path, trace_id, name, threads, count = sys.argv[1:]
    store = JudgementStore(path)

    def write(thread):
        for i in range(int(count)):
            judgement = Judgement(trace_id, "", f"answer {i}", "unlisted", f"{name} {thread}", recalled=False)
            saved = store.judge(judgement, f"{i}")
            print(f"{saved.annotator}/{saved.answer}\\n", end="", flush=True)

    workers = [threading.Thread(target=write, args=(thread,)) for thread in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def test_two_processes_of_sixteen_threads_lose_nothing(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "judgements.db"
    writers = [_writer(path, trace_id, name, threads=16, count=8) for name in ("one", "two")]
    said = [line for writer in writers for line in writer.communicate(timeout=60)[0].splitlines()]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(said) == len(set(said)) == 2 * 16 * 8
    assert {f"{j.annotator}/{j.answer}" for j in store.current()} == set(said)


def test_a_store_opened_by_many_at_once_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    ids = []
    _in_threads(16, lambda i: ids.append(JudgementStore(path).save_trace(_trace())))
    assert len(ids) == 16
    assert JudgementStore(path).traces(QUESTION) == [ids[0]]


def test_a_writer_killed_loses_no_acknowledged_judgement(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "judgements.db"
    writer = _writer(path, trace_id, "killed", threads=4, count=100_000)
    said = [writer.stdout.readline().strip() for _ in range(60)]
    writer.kill()
    said += [line.strip() for line in writer.stdout.readlines() if line.endswith("\n")]
    assert writer.wait(timeout=60) < 0
    with connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {f"{j.annotator}/{j.answer}" for j in store.current()} >= set(said)
    assert store.judge(_judged(trace_id), "after").annotator == "Ann"


# The file and its schema


def test_a_file_of_version_1_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = (Path(__file__).parent / "data" / "judgements_v1.sql").read_text(encoding="utf-8")
    with sqlite3.connect(path) as old:
        old.executescript(script)
    old.close()
    store = JudgementStore(path)
    (trace_id,) = store.traces(QUESTION)
    assert [(j.annotator, j.answer, j.label) for j in store.current()] == [("Ann", "1995", "listed")]
    assert [e.kind for e in store.history(trace_id)] == ["judge", "judge", "undo"]
    assert store.load_trace(trace_id) == _trace()
    assert store.redo(trace_id, "Ann").label == "invalid"
    with connect(path) as db:
        assert version(db) == len(STEPS)


def test_a_file_of_version_3_keeps_what_stood_where_its_clock_ran_back(tmp_path: Path) -> None:
    path, row = tmp_path / "old.db", trace_row(_trace())
    times = {"2012": ("05", "03"), "1995": ("01", "02"), "1999": ("01", "02"), "2001": ("05", "04")}
    undone = {"1999": 2, "2001": 2}  # of the latter, at a time before it was said
    with closing(sqlite3.connect(path)) as connection:
        db = Database(connection, execute_plugins=False)
        migrate(db, STEPS[:3])
        db.table("traces").insert(row)
        common = {"trace_id": row["id"], "annotator": "Ann", "evidence": "", "gold": "", "note": ""}
        for answer, seconds in times.items():
            for second, label in zip(seconds, ("invalid", "unlisted"), strict=True):
                at = f"2026-11-30T00:00:{second}.000+00:00"
                said = {"answer": answer, "answer_key": answer, "label": label, "token": f"{answer} {label}"}
                own = {"kind": "judge", "at": at, "recalled": 0, "blind": 1}
                event = db.table("events").insert(common | own | said).last_pk
            if answer in undone:
                step = {"kind": "undo", "at": "2026-11-30T00:00:03.000+00:00", "target": event}
                db.table("events").insert(step | {"trace_id": row["id"], "annotator": "Ann"})
        connection.commit()
        stood = db.execute("SELECT answer, label, gold, blind FROM current_judgements ORDER BY answer")
        before = stood.fetchall()
    new = tmp_path / "new.db"
    assert merge(path, new).judgements == 9
    assert merge(path, new) == Merged(0, 0, 0, 0, 0, 0, 0, ())  # what is said anew is the same each time
    store = JudgementStore(path)
    assert merge(path, new) == Merged(0, 0, 0, 0, 0, 0, 0, ())
    assert {j.at[:4] for j in store.current()} == {"2026"}
    after = [(j.answer, j.label, j.gold, j.blind) for j in store.current()]
    assert sorted(after) == [(answer, label, gold, bool(blind)) for answer, label, gold, blind in before]
    assert [label for _, label, *_ in before] == ["unlisted", "invalid", "invalid", "unlisted"]
    store.judge(_judged(row["id"], "2012", "unsure"), "new")
    assert store.current()[0].label == "unsure"


def test_of_a_file_of_version_3_whoever_placed_or_judged_openly_saw_the_gold(tmp_path: Path) -> None:
    path, row = tmp_path / "old.db", trace_row(_trace())
    said = {
        "Ann": (("1995", "unlisted", 1), ("1995", "variant", 1)),
        "Bob": (("1995", "unlisted", 1), ("1995", "invalid", 1)),
        "Cid": (("1995", "unlisted", 1), ("2012", "unlisted", 1), ("1995", "unlisted", 1)),
        "Dee": (("1995", "unsure", 0),),
    }
    with closing(sqlite3.connect(path)) as connection:
        db = Database(connection, execute_plugins=False)
        migrate(db, STEPS[:3])
        db.table("traces").insert(row)
        for annotator, verdicts in said.items():
            for number, (answer, label, blind) in enumerate(verdicts):
                own = {"kind": "judge", "trace_id": row["id"], "annotator": annotator, "recalled": 0}
                own |= {"answer": answer, "answer_key": answer, "label": label, "blind": blind}
                own |= {"evidence": "", "gold": "", "note": "", "token": f"t{number}"}
                db.table("events").insert(own | {"at": f"2026-11-30T00:00:0{number}.000+00:00"})
        connection.commit()
    JudgementStore(path)
    with connect(path) as db:
        shown = db.execute("SELECT annotator, at FROM reveals ORDER BY annotator").fetchall()
        assert [(annotator, at[18]) for annotator, at in shown] == [("Ann", "1"), ("Dee", "0")]
        with pytest.raises(sqlite3.IntegrityError, match="never rewritten"):
            db.execute("DELETE FROM reveals")


def test_what_stands_is_found_by_its_trace_and_not_among_all_that_an_annotator_said(tmp_path: Path) -> None:
    store = JudgementStore(tmp_path / "judgements.db")
    with connect(store.path) as db:
        plan = db.execute("EXPLAIN QUERY PLAN SELECT * FROM current_judgements").fetchall()
    steps = " ".join(step for *_, step in plan)
    assert "events_verdict (trace_id=?" in steps
    assert "events_annotator" not in steps


def test_a_verdict_dated_years_ahead_rules_its_own_answer_only(tmp_path: Path) -> None:
    store = JudgementStore(tmp_path / "judgements.db")
    trace_id = store.save_trace(_trace())
    with connect(store.path) as db:
        for answer, at in (("2012", "2099-01-01T00:00:00.000"), ("1999", "9999-12-31T23:59:59.999")):
            own = {"kind": "judge", "at": f"{at}+00:00", "trace_id": trace_id, "annotator": "Ann"}
            own |= {"answer": answer, "answer_key": answer, "label": "invalid", "token": answer}
            own |= {"evidence": "", "gold": "", "note": "", "recalled": 0, "blind": 0}
            db.table("events").insert(own)
        db.conn.commit()
    assert store.judge(_judged(trace_id, "1995", "unsure"), "t1").at < "2098"
    assert store.judge(_judged(trace_id, "2012", "unsure"), "t2").at == "2099-01-01T00:00:00.001+00:00"
    with pytest.raises(InputError, match="dated 9999"):
        store.judge(_judged(trace_id, "1999", "unsure", recalled=False), "t3")


def test_the_later_verdict_stands_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JudgementStore(tmp_path / "judgements.db")
    trace_id = store.save_trace(_trace())
    store.judge(_judged(trace_id, "2012", "invalid"), "t1")
    ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    for module in ("events", "judgements"):
        monkeypatch.setattr(f"rtv_core.store.{module}.now", lambda: ago)
    store.judge(_judged(trace_id, "2012", "unsure"), "t2")
    assert [j.label for j in store.current()] == ["unsure"]
    assert store.undo(trace_id, "Ann").label == "unsure"
    assert [j.label for j in store.current()] == ["invalid"]
    assert store.redo(trace_id, "Ann").label == "unsure"
    assert [j.label for j in store.current()] == ["unsure"]
    assert store.redo(trace_id, "Ann") is None
    store.judge(_judged(trace_id, "1995", "invalid"), "t3")
    assert store.undo(trace_id, "Ann").answer == "1995"
    assert store.undo(trace_id, "Ann").answer == "2012"
    assert store.redo(trace_id, "Ann").answer == "2012"
    assert store.redo(trace_id, "Ann").answer == "1995"


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreError, match="written by a newer version"):
        JudgementStore(path)
    with sqlite3.connect(path) as newer:
        assert newer.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    newer.close()


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE cookies (id)")
    other.close()
    with pytest.raises(StoreError, match="another program's tables"):
        JudgementStore(path)


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    def failing(db) -> None:
        db.execute("CREATE TABLE half_done (id)")
        raise RuntimeError("power cut")

    with connect(tmp_path / "judgements.db") as db:
        before = version(db)
        with pytest.raises(RuntimeError):
            migrate(db, (*STEPS, failing))
        assert version(db) == before
        assert "half_done" not in db.table_names()
        migrate(db, (*STEPS, lambda db: db.execute("CREATE TABLE done (id)")))
        assert (version(db), "done" in db.table_names()) == (before + 1, True)


def test_every_connection_waits_checks_references_and_logs_ahead(tmp_path: Path) -> None:
    with connect(tmp_path / "judgements.db") as db:
        pragmas = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS]
    assert dict(zip(PRAGMAS, pragmas, strict=True)) == PRAGMAS


PRAGMAS = {"busy_timeout": 5000, "foreign_keys": 1, "journal_mode": "wal", "user_version": len(STEPS)}


def test_a_backup_holds_everything_and_is_not_written_over(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    saved = store.judge(_judged(trace_id), "t1")
    with transaction(tmp_path / "folder" / "judgements.db"):  # another writer at work
        store.backup(tmp_path / "copy.db")
    copy = JudgementStore(tmp_path / "copy.db")
    assert copy.current() == [saved]
    assert copy.load_trace(trace_id) == store.load_trace(trace_id)
    with pytest.raises(StoreError, match="there already"):
        store.backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="can't be opened"):
        store.backup(tmp_path / "nowhere" / "copy.db")


# What goes wrong, in plain words


def test_a_disk_that_takes_no_more_is_said_and_nothing_half_is_kept(
    store: JudgementStore, trace_id: str
) -> None:
    saved = store.judge(_judged(trace_id), "t1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(StoreError, match="disk can't be read or written"):
            store.judge(replace(_judged(trace_id, answer="2012"), note="n" * 10_000), "t2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.current() == [saved]
    assert store.judge(_judged(trace_id, answer="2012"), "t2").answer == "2012"


def test_a_full_disk_is_called_full(tmp_path: Path) -> None:
    path = tmp_path / "judgements.db"
    with connect(path) as db:
        db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match="the disk is full"), plain_errors(path):
            db.execute("CREATE TABLE big AS SELECT randomblob(100000) AS blob")


def test_a_read_only_store_is_called_read_only(store: JudgementStore, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "judgements.db"
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(StoreError, match="is read-only"), plain_errors(path):
        db.execute("INSERT INTO traces VALUES ('', '', '', '', '', '')")
    db.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_without_write_permission_is_called_read_only(
    store: JudgementStore, trace_id: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "judgements.db"
    path.chmod(0o444)
    with pytest.raises(StoreError, match="is read-only"):
        store.judge(_judged(trace_id), "t1")


def test_a_place_that_can_not_hold_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Choose another place"):
        JudgementStore(tmp_path / "file" / "judgements.db")
    with pytest.raises(StoreError, match="can't be opened"):
        JudgementStore(tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk, eggs\n" * 100)
    with pytest.raises(StoreError, match="no SQLite database"):
        JudgementStore(path)
    assert path.read_text() == "milk, eggs\n" * 100


def test_a_store_held_by_another_is_called_busy(
    store: JudgementStore, trace_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtv_core.store.database.BUSY_SECONDS", 0.05)
    with (
        transaction(tmp_path / "folder" / "judgements.db"),
        pytest.raises(StoreError, match="another program has held it"),
    ):
        store.judge(_judged(trace_id), "t1")


def test_a_fault_in_the_sql_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="syntax"), connect(tmp_path / "judgements.db") as db:
        db.execute("SELEC 1")


# Export


def test_hostile_strings_survive_the_store_and_both_exports(store: JudgementStore, trace_id: str) -> None:
    for i, text in enumerate(HOSTILE):
        judgement = _judged(trace_id, f"{text}x", annotator=f"=Ann {i}", recalled=False)
        store.judge(replace(judgement, gold=text, note=text, label="variant"), str(i))
    assert [(j.answer, j.note, j.gold) for j in reversed(store.current())] == [
        (f"{text}x", text, text) for text in HOSTILE
    ]
    lines = [json.loads(line) for line in export_jsonl(store)]
    assert [line["note"] for line in lines] == HOSTILE
    rows = list(csv.DictReader(io.StringIO("".join(export_csv(store)), newline="")))
    assert [row["note"].removeprefix("'") for row in rows] == [text.removeprefix("'") for text in HOSTILE]


def test_jsonl_holds_every_field_and_the_provenance(store: JudgementStore, trace_id: str) -> None:
    saved = store.judge(replace(_judged(trace_id), p_right=0.1, tau=0.5, k=5), "t1")
    (line,) = export_jsonl(store)
    assert line.endswith("}\n")
    record = json.loads(line)
    assert set(record) == set(COLUMNS)
    assert record.pop("provenance") == {"model": "one"}
    assert record.pop("schema") == 2
    assert Judgement(**record) == saved


def test_exports_hold_the_verdicts_that_stand_oldest_first(store: JudgementStore, trace_id: str) -> None:
    store.judge(_judged(trace_id, answer="1995", label="listed"), "t1")
    store.judge(_judged(trace_id, answer="2012"), "t2")
    store.judge(_judged(trace_id, answer="1995", label="invalid"), "t3")
    store.judge(_judged(trace_id, answer="24 April 2010"), "t4")
    store.undo(trace_id, "Ann")
    records = [json.loads(line) for line in export_jsonl(store)]
    assert [(r["answer"], r["label"]) for r in records] == [("2012", "unlisted"), ("1995", "invalid")]


def test_csv_has_a_header_and_plain_values(store: JudgementStore, trace_id: str) -> None:
    saved = store.judge(replace(_judged(trace_id), p_right=0.25, k=5, blind=True), "t1")
    header, row = csv.reader(io.StringIO("".join(export_csv(store)), newline=""))
    assert tuple(header) == COLUMNS
    assert dict(zip(header, row, strict=True)) == {
        "question": QUESTION,
        "answer": "1995",
        "label": "unlisted",
        "evidence": "",
        "gold": "",
        "note": "",
        "support": "",
        "annotator": "Ann",
        "at": saved.at,
        "blind": "true",
        "recalled": "true",
        "p_right": "0.25",
        "tau": "",
        "k": "5",
        "trace_id": trace_id,
        "provenance": '{"model": "one"}',
        "schema": "2",
    }


def test_csv_cells_that_could_run_get_an_apostrophe(store: JudgementStore, trace_id: str) -> None:
    risky = [*HOSTILE[:14], "\ttext", "\rtext"]
    assert _csv_notes(store, trace_id, risky) == [f"'{text}" for text in risky]


def test_csv_cells_that_can_not_run_stay_as_they_are(store: JudgementStore, trace_id: str) -> None:
    harmless = ["1995", "C++", "a=b", "e-mail", "'quoted'", " 1 + 1", "\u00e9=1", ""]
    assert _csv_notes(store, trace_id, harmless) == harmless


def _csv_notes(store: JudgementStore, trace_id: str, notes: list[str]) -> list[str]:
    for i, note in enumerate(notes):
        store.judge(replace(_judged(trace_id, annotator=f"Ann {i}"), note=note), str(i))
    rows = csv.DictReader(io.StringIO("".join(export_csv(store)), newline=""))
    return [row["note"] for row in rows]


def _trace(question: str = QUESTION, model: str = "one") -> Trace:
    hit = Hit(Passage("p1", "Jack", "Out in 1995."), 0.71, 3.2, 1, None, 1)
    source = Source("p1", 1, Span(7, 11, 0.9), 0.8)
    return Trace(
        Question("", question, ((("1995",),),)),
        hits=(hit,),
        candidates=(
            Candidate("1995", ("1995",), 0.9, (source,)),
            Candidate("April 24, 2010", ("April 24, 2010", "24 April 2010"), 0.8, ()),
            Candidate("2012", ("2012",), 0.3, ()),
        ),
        verdicts=(Verdict((0.9, 0.8, 0.93), (1.0,)),),
        seconds=MappingProxyType({"recall": 0.5}),
        provenance=MappingProxyType({"model": model}),
        stage="verified",
    )


def _judged(
    trace_id: str,
    answer: str = "1995",
    label: str = "unlisted",
    annotator: str = "Ann",
    recalled: bool = True,
) -> Judgement:
    return Judgement(trace_id, QUESTION, answer, label, annotator, recalled=recalled)


def _in_threads(count: int, work) -> None:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _writer(path: Path, trace_id: str, name: str, threads: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path), trace_id, name, str(threads), str(count)],
        env=os.environ | {"PYTHONPATH": str(Path(rtv_core.__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )

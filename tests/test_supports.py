"""Where an answer stands: kept, exported, imported, merged, and taken out of notes that held it before."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlite_utils import Database

from rtv_core.annotation.support import find_support, passages_of, support_at
from rtv_core.errors import InputError
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    Support,
    Trace,
)
from rtv_core.store.database import connect
from rtv_core.store.export import COLUMNS, export_csv, export_jsonl
from rtv_core.store.importing import Imported, import_judgements
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.merging import merge
from rtv_core.store.migrations import STEPS, migrate, version
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.store.supports import out_of_note, quoted
from rtv_core.store.traces import trace_row

ASKED = "When was the bridge built?"
TEXT = 'It was built in 1805 by "Mary"\nSmith, İ ß 😀.'
PASSAGES = (Passage("p 1", "Bridge", TEXT), Passage("p2", "Flood", "Built again in 1912."))
WHERE = Support("p 1", 16, 20, "1805")
LINE = 'supported by passage p\\u00201, characters 16 to 20: "1805"'
"""As versions of schema 2 wrote it at the end of a note."""


def a_trace() -> Trace:
    first, second = (Hit(passage, 0.5, 0.0, i, None, i) for i, passage in enumerate(PASSAGES, 1))
    found = Candidate("1912", ("1912",), 0.5, ())
    gathered = Evidence(found, ASKED, (EvidencePassage(second, ("strict",), 0.5, True),))
    return Trace(Question("b", ASKED), hits=(first,), candidates=(found,), evidence=(gathered,))


def added(trace_id: str, support: Support | None = WHERE, answer: str = "1805", **more) -> Judgement:
    own = {"recalled": False, "evidence": "supports", "support": support} | more
    return Judgement(trace_id, ASKED, answer, "unlisted", "Ann", **own)


@pytest.fixture
def store(tmp_path: Path) -> JudgementStore:
    return JudgementStore(tmp_path / "one.db")


@pytest.fixture
def trace_id(store: JudgementStore) -> str:
    return store.save_trace(a_trace())


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def written(path: Path, lines) -> Path:
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return path


# Kept


def test_a_support_is_kept_with_its_judgement(store: JudgementStore, trace_id: str, tmp_path: Path) -> None:
    saved = store.judge(added(trace_id), "t")
    assert saved.support == WHERE
    assert JudgementStore(tmp_path / "one.db").current() == [saved]
    assert store.history(trace_id)[0].judgement == saved
    assert store.undo(trace_id, "Ann") == saved
    assert store.redo(trace_id, "Ann") == saved


def test_a_passage_that_was_gathered_but_not_retrieved_supports_too(
    store: JudgementStore, trace_id: str
) -> None:
    support = support_at(PASSAGES[1], 15, 19)
    assert support.words == "1912"
    assert store.judge(added(trace_id, support, "1912"), "t").support == support


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (replace(WHERE, passage_id="p3"), "the passage 'p3', which the trace doesn't hold"),
        (replace(WHERE, words="1806"), "words '1806' don't stand at the characters 16 to 20"),
        (replace(WHERE, start=15), "don't stand"),
        (Support("p 1", 40, 400, TEXT[40:]), "don't stand"),
        (replace(WHERE, start=-4), "characters are -4 to 20"),
        (replace(WHERE, start=20), "characters are 20 to 20"),
        (replace(WHERE, start=True), "characters are True"),
        (replace(WHERE, end="20"), "characters are 16 to '20'"),
        (replace(WHERE, words=""), "support's words is empty"),
        (replace(WHERE, words="x" * 301), "support's words has 301 characters"),
        (replace(WHERE, words=7), "support's words is 7"),
        (replace(WHERE, passage_id=None), "support's passage is None"),
        ({"passage_id": "p 1"}, "it must name a passage"),
        ("p 1", "it must name a passage"),
    ],
)
def test_a_support_that_points_nowhere_is_refused(
    store: JudgementStore, trace_id: str, wrong: object, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        store.judge(added(trace_id, wrong), "t")
    assert store.current() == []


def test_of_very_many_words_the_first_are_kept(store: JudgementStore) -> None:
    long = Passage("p", "", "word " * 500)
    trace_id = store.save_trace(Trace(Question("q", ASKED), hits=(Hit(long, 0.1, 0.0, 1, None, 1),)))
    support = support_at(long, 5, 2400)
    assert (len(support.words), support.end) == (300, 2400)
    assert store.judge(added(trace_id, support), "t").support == support


def test_half_a_character_in_a_passage_is_kept_as_a_question_mark(store: JudgementStore) -> None:
    broken = Passage("p", "", "broken \ud83d here")
    trace_id = store.save_trace(Trace(Question("q", ASKED), hits=(Hit(broken, 0.1, 0.0, 1, None, 1),)))
    support = support_at(broken, 0, 13)
    assert support.words == "broken ? here"
    assert store.judge(added(trace_id, support), "t").support == support


def test_the_first_passage_that_holds_an_answer_supports_it() -> None:
    passages = passages_of(a_trace())
    assert list(passages) == ["p 1", "p2"]
    assert find_support(passages.values(), "built again") == Support("p2", 0, 11, "Built again")
    assert find_support(passages.values(), "nowhere") is None


# To files and back


@pytest.mark.parametrize("export", [export_jsonl, export_csv])
def test_supports_survive_the_round_trip_and_twice_is_once(
    store: JudgementStore, trace_id: str, tmp_path: Path, export: Callable
) -> None:
    store.judge(added(trace_id), "t1")
    store.judge(added(trace_id, support_at(PASSAGES[0], 24, 37), "Mary Smith"), "t2")
    store.judge(added(trace_id, None, "nobody knows", evidence=""), "t3")
    file, other = written(tmp_path / "file", export(store)), JudgementStore(tmp_path / "two.db")
    other.save_trace(a_trace())
    assert import_judgements(file, tmp_path / "two.db") == Imported(3, 0, 0)
    assert other.current() == store.current()
    assert [j.support is None for j in other.current()] == [True, False, False]
    before = dump(tmp_path / "two.db")
    assert import_judgements(file, tmp_path / "two.db") == Imported(0, 3, 0)
    assert dump(tmp_path / "two.db") == before
    assert list(export(other)) == list(export(store))


def test_a_support_is_an_object_in_jsonl_and_in_csv(store: JudgementStore, trace_id: str) -> None:
    store.judge(added(trace_id), "t")
    wanted = {"passage_id": "p 1", "start": 16, "end": 20, "words": "1805"}
    assert json.loads(next(export_jsonl(store)))["support"] == wanted
    (row,) = csv.DictReader(io.StringIO("".join(export_csv(store)), newline=""))
    assert json.loads(row["support"]) == wanted


@pytest.mark.parametrize(
    ("support", "said"),
    [
        ({"passage_id": "p 1"}, "field 'support' is no support"),
        ({"passage_id": "p 1", "start": 16, "end": 20, "words": "1805", "more": 1}, "no field 'more'"),
        ({"passage_id": "p 1", "start": 16, "end": 20, "words": "1806"}, "don't stand"),
        ({"passage_id": "p9", "start": 16, "end": 20, "words": "1805"}, "doesn't hold"),
        ({"passage_id": "p 1", "start": "16", "end": 20, "words": "1805"}, "characters are '16'"),
        ("p 1", "must be an object"),
        (7, "must be an object"),
    ],
)
def test_a_row_whose_support_is_wrong_is_named_and_nothing_is_written(
    store: JudgementStore, trace_id: str, tmp_path: Path, support: object, said: str
) -> None:
    store.judge(added(trace_id), "t")
    row = json.loads(next(export_jsonl(store))) | {"support": support, "note": "new"}
    before = dump(tmp_path / "one.db")
    with pytest.raises(InputError, match=f"file, line 1: .*{said}"):
        import_judgements(written(tmp_path / "file", [json.dumps(row)]), tmp_path / "one.db")
    assert dump(tmp_path / "one.db") == before


# From versions that kept it in the note

NOTES = (
    f"a note\n{LINE}",
    LINE,
    f"two\nlines\n{LINE}",
    LINE.replace("1805", "1806"),
    "a note",
    f"{LINE} and more",
)
WITHOUT = ("a note", "", "two\nlines", NOTES[3], "a note", NOTES[5])
"""What is left of each note: a line that names no place in the trace is the annotator's own."""


def an_old_database(path: Path) -> Path:
    """A file of schema 2 in which each note is on an answer of its own, and the second was taken back."""
    row = trace_row(a_trace())
    with closing(sqlite3.connect(path)) as connection:
        db = Database(connection, execute_plugins=False)
        migrate(db, STEPS[:2])
        db.table("traces").insert(row)
        common = {"kind": "judge", "trace_id": row["id"], "annotator": "Ann", "label": "unlisted"}
        common |= {"evidence": "supports", "gold": "", "recalled": 0, "blind": 1}
        for i, note in enumerate((*NOTES, LINE)):
            at = f"2026-11-30T00:00:0{i}.000+00:00"
            own = {"at": at, "token": f"t{i}", "answer_key": f"answer {i}", "answer": f"answer {i}"}
            last = {"recalled": 1, "answer": "1912", "answer_key": "1912"} if i == len(NOTES) else {}
            db.table("events").insert(common | own | {"note": note} | last)
        undo = {"kind": "undo", "at": "2026-11-30T00:00:09.000+00:00", "trace_id": row["id"], "target": 2}
        db.table("events").insert(undo | {"annotator": "Ann"})
        connection.commit()
    return path


def an_old_export(path: Path, out: Path, form: str) -> Path:
    """What a version of that schema exported: rows without `support`."""
    columns = [name for name in COLUMNS if name != "support"]
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute("SELECT * FROM current_judgements ORDER BY id").fetchall()
    plain = []
    for row in rows:
        known = {name: row[name] for name in columns if name in set(row.keys())}
        flags = {name: bool(row[name]) for name in ("blind", "recalled")}
        plain.append(known | flags | {"provenance": {}, "schema": 1})
    if form == "jsonl":
        return written(out, [json.dumps(row) + "\n" for row in plain])
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    for row in plain:
        row |= {name: str(row[name]).lower() for name in ("blind", "recalled")} | {"provenance": "{}"}
        writer.writerow({name: "" if value is None else value for name, value in row.items()})
    return written(out, [text.getvalue()])


def test_a_note_gives_its_support_to_the_new_column_and_nothing_is_lost(tmp_path: Path) -> None:
    path = an_old_database(tmp_path / "old.db")
    store = JudgementStore(path)
    events = [event.judgement for event in store.history(trace_row(a_trace())["id"])]
    assert [j.note for j in events] == [*WITHOUT, LINE, ""]
    assert [j.support for j in events] == [WHERE] * 3 + [None] * 4 + [WHERE]
    assert [j.at[17:19] for j in events] == ["00", "01", "02", "03", "04", "05", "06", "01"]
    assert [j.answer for j in store.current()] == ["1912", *(f"answer {i}" for i in (5, 4, 3, 2, 0))]
    with connect(path) as db:
        assert version(db) == len(STEPS)
        with pytest.raises(sqlite3.IntegrityError, match="never rewritten"):
            db.execute("UPDATE events SET note = ''")


def test_a_migration_that_is_cut_off_leaves_the_old_file(tmp_path: Path) -> None:
    def stop(db: Database) -> None:
        raise RuntimeError("the power failed")

    path = an_old_database(tmp_path / "old.db")
    before = dump(path)
    with closing(sqlite3.connect(path)) as db, pytest.raises(RuntimeError, match="power"):
        migrate(Database(db, execute_plugins=False), (*STEPS, stop))
    assert dump(path) == before


def test_a_file_of_version_2_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = (Path(__file__).parent / "data" / "judgements_v2.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(path)) as old:
        old.executescript(script)
    queues, store = QueueStore(path), JudgementStore(path)
    (queue,), (run,) = queues.queues(), RunStore(path).runs()
    assert (queue.run_id, queue.plan.count, run.name, run.questions) == (run.id, 2, "first", 1)
    typed, listed = store.current()
    assert (typed.answer, typed.note) == ("June 20, 2001", "seen")
    assert typed.support == Support("p1", 20, 33, "June 20, 2001")
    assert (listed.answer, listed.gold, listed.support) == ("1995", "1995", None)
    progress = queues.progress(queue.id, "Ann")
    assert (progress.done, progress.left, progress.skipped, progress.seconds_each) == (1, 1, 1, 1)
    assert queues.next(queue.id, "Ann").answer == "2012"
    assert queues.undo(queue.id, "Ann").answer == "June 20, 2001"
    assert queues.redo(queue.id, "Ann").answer == "June 20, 2001"
    assert store.load_trace(typed.trace_id).question.text == typed.question


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_old_export_becomes_what_the_old_database_became(tmp_path: Path, form: str) -> None:
    path = an_old_database(tmp_path / "old.db")
    file = an_old_export(path, tmp_path / "file", form)
    new = JudgementStore(tmp_path / "new.db")
    new.save_trace(a_trace())
    assert import_judgements(file, tmp_path / "new.db") == Imported(6, 0, 0)
    migrated = JudgementStore(path)
    assert new.current() == migrated.current()
    for store in (tmp_path / "new.db", path):
        before = dump(store)
        assert import_judgements(file, store) == Imported(0, 6, 0)
        assert dump(store) == before


def test_an_old_database_is_merged_as_it_would_be_opened_and_twice_is_once(tmp_path: Path) -> None:
    path = an_old_database(tmp_path / "old.db")
    untouched = dump(path)
    assert merge(path, tmp_path / "new.db").judgements == 7
    assert dump(path) == untouched
    before = dump(tmp_path / "new.db")
    assert merge(path, tmp_path / "new.db").judgements == 0
    assert dump(tmp_path / "new.db") == before
    assert JudgementStore(tmp_path / "new.db").current() == JudgementStore(path).current()


@pytest.mark.parametrize("note", ["", "a note", 'supported by passage x, characters 1 to 2: "', LINE + "\n"])
def test_a_note_that_names_no_support_stays(note: str) -> None:
    assert out_of_note(note, {"p 1": TEXT}) == (note, None)


def test_words_of_any_kind_come_out_of_a_note() -> None:
    start = TEXT.index('"Mary"')
    words = json.dumps(quoted(TEXT, start, len(TEXT)), ensure_ascii=False)
    line = f"supported by passage p\\u00201, characters {start} to {len(TEXT)}: {words}"
    found = Support("p 1", start, len(TEXT), TEXT[start:])
    assert out_of_note(f"so\n{line}", {"p 1": TEXT}) == ("so", found)

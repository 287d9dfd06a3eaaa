"""Judgements brought in from files and databases: nothing lost, nothing twice, all of a file or nothing."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlite_utils import Database

from rtv_core.cli import main
from rtv_core.errors import InputError, MissingError, StoreError
from rtv_core.records import (
    Candidate,
    Hit,
    Judgement,
    Passage,
    Question,
    QueueItem,
    QueuePlan,
    Run,
    RunAnswer,
    RunQuestion,
    Trace,
    Verdict,
)
from rtv_core.store.copies import opened_copy, restore
from rtv_core.store.database import connect
from rtv_core.store.export import COLUMNS, SCHEMA, export_csv, export_jsonl, guarded, unguarded
from rtv_core.store.importing import Imported, import_judgements
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.merging import TABLES, Merged, merge
from rtv_core.store.migrations import STEPS, migrate
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

QUESTION = "When did You Don't Know Jack come out?"
HOSTILE = [
    "=1+1",
    "\r=1",
    " =1",
    "＝1",
    "'=1",
    "''=1",
    "'",
    "''",
    "'quoted'",
    "'\t'",
    "\t'=1",
    "-1",
    "@x",
    'a,"b"\r\nc\u2028d\x85e',
    "\ufeff=1",
    "\x00",
    "",
    " ",
    "<b>&amp;",
    "\u202eevil\u202c e\u0301",
]


@pytest.fixture
def store(tmp_path: Path) -> JudgementStore:
    return a_store(tmp_path / "one.db")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing may change."""
    path = tmp_path_factory.mktemp("kept") / "one.db"
    a_store(path)
    return path


def a_store(path: Path) -> JudgementStore:
    """Three verdicts by two people, one of them changed, and one taken back."""
    store = JudgementStore(path)
    trace_id = store.save_trace(a_trace())
    store.judge(a_judgement(trace_id, "1995", "listed", gold="1995", p_right=0.93, tau=0.5, k=10), "t1")
    store.judge(a_judgement(trace_id, "2012", "invalid"), "t2")
    store.judge(a_judgement(trace_id, "2012", "unlisted", blind=True, evidence="supports"), "t3")
    store.judge(a_judgement(trace_id, "born 1995", "variant", "Bob", gold="1995", recalled=False), "t1")
    store.judge(a_judgement(trace_id, "1995", "unsure", "Bob"), "t2")
    store.undo(trace_id, "Bob")
    return store


def a_trace(question: str = QUESTION, model: str = "one", text: str = "Out in 1995.") -> Trace:
    return Trace(
        Question("", question, ((("1995",),),)),
        hits=(Hit(Passage("p1", "Jack", text), 0.71, 3.2, 1, None, 1),),
        candidates=(Candidate("1995", ("1995", "in 1995"), 0.9, ()), Candidate("2012", ("2012",), 0.3, ())),
        verdicts=(Verdict((0.9, 0.8, 0.93), (1.0,)),),
        seconds={"recall": 0.5},
        provenance={"model": model},
        stage="verified",
    )


def a_judgement(trace_id: str, answer: str, label: str, annotator: str = "Ann", **more) -> Judgement:
    return Judgement(trace_id, QUESTION, answer, label, annotator, **more)


def written(path: Path, lines) -> Path:
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return path


def events(path: Path) -> list[tuple]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM events ORDER BY id").fetchall()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


# From files


def test_a_file_with_traces_makes_an_empty_database_whole(store: JudgementStore, tmp_path: Path) -> None:
    file = written(tmp_path / "all.jsonl", export_jsonl(store, with_traces=True))
    assert import_judgements(file, tmp_path / "new.db") == Imported(3, 0, 1)
    new = JudgementStore(tmp_path / "new.db")
    assert new.current() == store.current()
    assert new.load_trace(store.current()[0].trace_id) == a_trace()
    assert list(export_jsonl(new, with_traces=True)) == list(export_jsonl(store, with_traces=True))


@pytest.mark.parametrize("export", [export_jsonl, export_csv])
def test_verdicts_come_to_a_store_that_has_the_trace(
    store: JudgementStore, tmp_path: Path, export: Callable
) -> None:
    file = written(tmp_path / "file", export(store))
    other = JudgementStore(tmp_path / "other.db")
    other.save_trace(a_trace())
    assert import_judgements(file, tmp_path / "other.db") == Imported(3, 0, 0)
    assert other.current() == store.current()
    assert list(export(other)) == list(export(store))


@pytest.mark.parametrize("export", [export_jsonl, export_csv])
def test_the_same_file_twice_changes_nothing(store: JudgementStore, tmp_path: Path, export: Callable) -> None:
    file, other = written(tmp_path / "file", export(store)), tmp_path / "other.db"
    JudgementStore(other).save_trace(a_trace())
    import_judgements(file, other)
    before = dump(other)
    assert import_judgements(file, other) == Imported(0, 3, 0)
    assert dump(other) == before


def test_a_file_changes_nothing_where_it_came_from(store: JudgementStore, tmp_path: Path) -> None:
    file = written(tmp_path / "file", export_jsonl(store, with_traces=True))
    store.undo(store.current()[0].trace_id, "Ann")
    store.judge(a_judgement(store.current()[0].trace_id, "1995", "invalid"), "t9")
    before = dump(tmp_path / "one.db")
    assert import_judgements(file, tmp_path / "one.db") == Imported(0, 3, 0)
    assert dump(tmp_path / "one.db") == before


def test_a_file_in_jsonl_and_in_csv_is_the_same_file(store: JudgementStore, tmp_path: Path) -> None:
    JudgementStore(tmp_path / "other.db").save_trace(a_trace())
    import_judgements(written(tmp_path / "a.csv", export_csv(store)), tmp_path / "other.db")
    file = written(tmp_path / "a.jsonl", export_jsonl(store))
    assert import_judgements(file, tmp_path / "other.db").judgements == 0


@pytest.mark.parametrize("text", [*HOSTILE, *map(guarded, HOSTILE), "'''=1", "'a=1"])
def test_the_guard_against_formulas_is_undone_exactly(text: str) -> None:
    assert unguarded(guarded(text)) == text


def test_a_text_that_begins_as_a_formula_never_stands_bare() -> None:
    assert [guarded(text) for text in ("=1", "\r=1", " =1", "＝1", "'=1")] == [
        "'=1",
        "'\r=1",
        "' =1",
        "'＝1",
        "''=1",
    ]


@pytest.mark.parametrize("export", [export_jsonl, export_csv])
def test_hostile_strings_survive_the_round_trip(tmp_path: Path, export: Callable) -> None:
    one, two = JudgementStore(tmp_path / "one.db"), JudgementStore(tmp_path / "two.db")
    trace_id = one.save_trace(a_trace())
    two.save_trace(a_trace())
    for i, text in enumerate(HOSTILE):
        own = a_judgement(trace_id, f"{text}x", "variant", f"=Ann{i}", gold=f"{text}y", recalled=False)
        one.judge(replace(own, note=text), "t")
    import_judgements(written(tmp_path / "file", export(one)), tmp_path / "two.db")
    assert two.current() == one.current()
    assert [judgement.note for judgement in reversed(two.current())] == HOSTILE


def test_a_trace_with_half_a_character_goes_through_a_file(tmp_path: Path) -> None:
    one, trace = JudgementStore(tmp_path / "one.db"), a_trace(text="broken \ud83d here")
    trace_id = one.save_trace(trace)
    one.judge(a_judgement(trace_id, "1995", "listed"), "t")
    file = written(tmp_path / "file", export_jsonl(one, with_traces=True))
    import_judgements(file, tmp_path / "two.db")
    assert JudgementStore(tmp_path / "two.db").load_trace(trace_id) == trace


def test_what_a_spreadsheet_saved_again_is_read(store: JudgementStore, tmp_path: Path) -> None:
    text = "\ufeff" + "".join(export_csv(store)).replace("true", "TRUE").replace("false", "FALSE")
    JudgementStore(tmp_path / "other.db").save_trace(a_trace())
    import_judgements(written(tmp_path / "a.csv", text), tmp_path / "other.db")
    assert JudgementStore(tmp_path / "other.db").current() == store.current()


def test_an_older_verdict_does_not_replace_a_newer_one(store: JudgementStore, tmp_path: Path) -> None:
    trace_id = store.current()[0].trace_id
    file = written(tmp_path / "file", export_jsonl(store))
    other = JudgementStore(tmp_path / "other.db")
    other.save_trace(a_trace())
    newest = other.judge(a_judgement(trace_id, "2012", "invalid", note="later"), "t")
    import_judgements(file, tmp_path / "other.db")
    assert newest in other.current()
    assert [j.label for j in other.current(annotator="Ann") if j.answer == "2012"] == ["invalid"]
    before = dump(tmp_path / "other.db")
    import_judgements(file, tmp_path / "other.db")
    assert dump(tmp_path / "other.db") == before
    other.undo(trace_id, "Ann")
    assert [j.label for j in other.current(annotator="Ann") if j.answer == "2012"] == ["unlisted"]
    other.undo(trace_id, "Ann")
    other.undo(trace_id, "Ann")
    assert other.current(annotator="Ann") == []


def test_an_unknown_trace_is_named_and_nothing_is_written(store: JudgementStore, tmp_path: Path) -> None:
    file = written(tmp_path / "file", export_jsonl(store))
    with pytest.raises(MissingError, match=r"file, line 1: field 'trace_id': .*new\.db has no trace"):
        import_judgements(file, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    JudgementStore(tmp_path / "new.db")
    with pytest.raises(MissingError, match=r"line 1: field 'trace_id'.*--with-traces"):
        import_judgements(file, tmp_path / "new.db")


def test_a_time_in_another_zone_is_the_same_time(store: JudgementStore, tmp_path: Path) -> None:
    row = json.loads(next(export_jsonl(store))) | {"at": "2026-11-30T02:00:00+02:00"}
    import_judgements(written(tmp_path / "file", [json.dumps(row)]), tmp_path / "one.db")
    assert "2026-11-30T00:00:00.000+00:00" in {event[2] for event in events(tmp_path / "one.db")}


def test_a_verdict_without_a_time_is_written_once(store: JudgementStore, tmp_path: Path) -> None:
    row = json.loads(next(export_jsonl(store))) | {"at": "", "note": "found on paper"}
    file = written(tmp_path / "file", [json.dumps(row)])
    assert [import_judgements(file, tmp_path / "one.db").judgements for _ in range(2)] == [1, 0]
    assert store.current(annotator=row["annotator"])[0].note == "found on paper"


BROKEN = [
    ({"label": "right"}, "The label is 'right'"),
    ({"label": ["invalid"]}, "The label is"),
    ({"evidence": "good"}, "The evidence is 'good'"),
    ({"answer": " "}, "The answer is empty"),
    ({"answer": None}, "The answer is None"),
    ({"answer": "x" * 10_001}, "The answer has 10,001 characters"),
    ({"gold": 5}, "The gold answer is 5"),
    ({"label": "variant", "gold": ""}, "say which gold answer"),
    ({"note": "\ud800"}, "The note holds half a character"),
    ({"annotator": ""}, "The annotator's name has 0"),
    ({"at": "yesterday"}, "field 'at' is 'yesterday'"),
    ({"at": "2026-11-30T02:00:00"}, "field 'at' is"),
    ({"at": 5}, "field 'at' is 5"),
    ({"at": "2999-11-30T02:00:00+00:00"}, "which is still to come"),
    ({"blind": 1}, "blind is 1"),
    ({"recalled": "yes"}, "recalled is 'yes'"),
    ({"answer": "never recalled", "recalled": True}, "field 'recalled' is true"),
    ({"p_right": 1.5}, "p_right is 1.5"),
    ({"tau": True}, "tau is True"),
    ({"k": 7}, "k is 7"),
    ({"trace_id": 12}, "The trace_id is 12"),
    ({"question": "Who?"}, "field 'question' is 'Who\\?'"),
    ({"provenance": "x"}, "field 'provenance' is 'x'"),
    ({"more": 1}, "field 'more' is unknown"),
    ({"schema": 0}, "field 'schema' is 0"),
]


@pytest.mark.parametrize(("change", "said"), BROKEN, ids=lambda value: str(value)[:40])
def test_a_broken_row_is_named_and_the_whole_file_left_out(
    kept: Path, tmp_path: Path, change: dict, said: str
) -> None:
    good = json.loads(next(export_jsonl(JudgementStore(kept)))) | {"note": "new"}
    file = written(tmp_path / "file", [json.dumps(good), "\n", json.dumps(good | change), "\n"])
    before = dump(kept)
    with pytest.raises(InputError, match=rf"file, line 2: .*{said}"):
        import_judgements(file, kept)
    assert dump(kept) == before


def test_each_missing_field_is_named(store: JudgementStore, tmp_path: Path) -> None:
    good = json.loads(next(export_jsonl(store)))
    for name in sorted(set(COLUMNS) - {"schema"}):
        row = {key: value for key, value in good.items() if key != name}
        with pytest.raises(InputError, match=f"line 1: field '{name}' is missing"):
            import_judgements(written(tmp_path / "file", [json.dumps(row)]), tmp_path / "one.db")
        cells = csv.DictReader(io.StringIO("".join(export_csv(store)), newline=""))
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, [c for c in COLUMNS if c != name], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(cells)
        with pytest.raises(InputError, match=f"line 1: the column '{name}' is missing"):
            import_judgements(written(tmp_path / "file", [out.getvalue()]), tmp_path / "one.db")


@pytest.mark.parametrize("export", [lambda s: export_jsonl(s, with_traces=True), export_csv])
def test_a_file_cut_off_anywhere_leaves_the_store_alone(
    store: JudgementStore, tmp_path: Path, export: Callable
) -> None:
    whole = "".join(export(store)).encode()
    other = tmp_path / "other.db"
    JudgementStore(other).save_trace(a_trace())
    before = dump(other)
    last = whole.rstrip().rfind(b"\n") + 1
    for end in range(last + 1, len(whole.rstrip()), 29):
        (tmp_path / "file").write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"file, line \d+: "):
            import_judgements(tmp_path / "file", other)
    assert dump(other) == before


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    for content, said in (
        (b'{"a": NaN}', "line 1: not valid JSON"),
        (b'{"a": 1}\n[1]', "line 1: field"),
        (b"{" * 100_000, "line 1: not valid JSON"),
        (b"a,b\r\n1,2\r\n", "line 1: the column 'question' is missing"),
        (b"\xff\xfe", "line 1: not UTF-8"),
        (b'"open', "line 1: not valid CSV"),
        (b'{"a": "\xff"}', "line 1: not valid JSON"),
    ):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InputError, match=said):
            import_judgements(tmp_path / "file", tmp_path / "new.db")
    with pytest.raises(InputError, match="can't be read"):
        import_judgements(tmp_path / "nowhere", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_newer_schema_is_refused(store: JudgementStore, tmp_path: Path) -> None:
    row = json.loads(next(export_jsonl(store))) | {"schema": SCHEMA + 1, "mood": "good"}
    with pytest.raises(InputError, match=r"line 1: written by a newer version \(schema 3; this one reads up"):
        import_judgements(written(tmp_path / "file", [json.dumps(row)]), tmp_path / "one.db")
    newer = "schema,mood\r\n3,good\r\n"
    with pytest.raises(InputError, match=r"newer version \(schema 3"):
        import_judgements(written(tmp_path / "file", [newer]), tmp_path / "one.db")


def test_a_trace_that_was_changed_or_is_none_is_refused(store: JudgementStore, tmp_path: Path) -> None:
    good = json.loads(next(export_jsonl(store, with_traces=True)))
    reading = {"passage_id": "1", "relevance": 0, "spans": []}
    for change, said in (
        ({"trace": good["trace"] | {"stage": "asked"}}, "the trace was changed"),
        ({"trace": good["trace"] | {"stage": "lost"}}, "its stage is 'lost'"),
        ({"trace": good["trace"] | {"candidates": 5}}, "field 'trace' is no trace"),
        ({"trace": good["trace"] | {"mood": 5}}, "has no field 'mood'"),
        (
            {"trace": good["trace"] | {"seconds": {"recall": "long"}}},
            r"field 'trace\.seconds\.recall' is 'lo",
        ),
        ({"trace": good["trace"] | {"readings": [reading] * 2}}, "more readings than hits"),
        ({"trace": good["trace"] | {"verdicts": [{"p_right": [0.5], "weights": []}]}}, "has not 3 scores"),
        ({"trace": None}, "no trace"),
        ({"trace_id": "0" * 16}, "the trace was changed"),
    ):
        file = written(tmp_path / "file", [json.dumps(good | change)])
        with pytest.raises(InputError, match=rf"file, line 1: .*{said}"):
            import_judgements(file, tmp_path / "new.db")


# From databases


def a_workplace(path: Path, name: str = "dev", model: str = "one", count: int = 2) -> str:
    """A store with a run and a queue; returns the queue's id."""
    runs = RunStore(path)
    run = runs.create(Run("", name, "RTV", "", 0, True, 0.5, 10, {"model": model}))
    for position in range(count):
        trace = a_trace(f"Question {position}?", model)
        answers = (
            RunAnswer("1995", ("1995",), 0.9, True, "1995"),
            RunAnswer("2012", ("2012",), 0.3, True, ""),
        )
        asked = replace(trace.question, id=f"q{position}")
        runs.add_question(run.id, RunQuestion(run.id, position, asked, "", answers, ()), trace)
    runs.finish(run.id)
    items = [
        QueueItem(q.position, q.trace_id, "prediction", "2012", 0.5, "wrong prediction")
        for q in runs.questions(run.id)
    ]
    return QueueStore(path).create(run.id, QueuePlan(count=count), items, "paper")


def judge_next(path: Path, queue: str, annotator: str, label: str, token: str) -> Judgement:
    item = QueueStore(path).next(queue, annotator)
    own = Judgement(item.trace_id, "", item.answer, label, annotator, blind=True)
    return JudgementStore(path).judge(own, token)


def test_two_databases_become_one_and_twice_is_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    queue = a_workplace(one)
    assert a_workplace(two) == queue
    a_workplace(two, "other", "two", 3)
    first = judge_next(one, queue, "Ann", "invalid", "t")
    second = judge_next(two, queue, "Bob", "unlisted", "t")
    JudgementStore(two).undo(second.trace_id, "Bob")
    JudgementStore(two).redo(second.trace_id, "Bob")
    done = merge(two, one)
    assert (done.runs, done.questions, done.queues, done.traces) == (1, 3, 1, 3)
    assert (done.judgements, done.steps, done.claims, done.renamed) == (1, 2, 1, ())
    assert {j.annotator for j in JudgementStore(one).current()} == {"Ann", "Bob"}
    assert JudgementStore(one).history(second.trace_id)[-3:] == JudgementStore(two).history(second.trace_id)
    assert first in JudgementStore(one).current()
    assert RunStore(one).questions("other") == RunStore(two).questions("other")
    assert RunStore(one).is_complete("other")
    assert len(QueueStore(one).queues()) == 2
    assert QueueStore(one).progress(queue, "Bob").done == 1
    before = dump(one)
    assert merge(two, one) == Merged(0, 0, 0, 0, 0, 0, 0, ())
    assert dump(one) == before


def test_the_other_database_is_only_read(tmp_path: Path) -> None:
    a_workplace(tmp_path / "two.db")
    content = (tmp_path / "two.db").read_bytes()
    merge(tmp_path / "two.db", tmp_path / "one.db")
    assert (tmp_path / "two.db").read_bytes() == content
    assert dump(tmp_path / "one.db")


def test_merging_into_a_new_file_copies_everything(store: JudgementStore, tmp_path: Path) -> None:
    merge(tmp_path / "one.db", tmp_path / "new.db")
    assert events(tmp_path / "new.db") == events(tmp_path / "one.db")
    trace_id = store.current()[0].trace_id
    new = JudgementStore(tmp_path / "new.db")
    assert new.history(trace_id) == store.history(trace_id)
    assert new.redo(trace_id, "Bob") == store.redo(trace_id, "Bob") is not None


def test_merging_both_ways_gives_both_the_same_verdicts(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    here, there = JudgementStore(one), JudgementStore(two)
    trace_id = here.save_trace(a_trace())
    there.save_trace(a_trace())
    for number, (store, label) in enumerate([(here, "invalid"), (there, "unsure"), (here, "unlisted")]):
        store.judge(a_judgement(trace_id, "2012", label), f"t{number}")
    for _ in range(3):
        merge(two, one)
        merge(one, two)
        assert here.current() == there.current()
        assert [judgement.label for judgement in here.current()] == ["unlisted"]
    before = len(events(one)), len(events(two))
    merge(two, one)
    assert (len(events(one)), len(events(two))) == before


def test_an_undo_counts_after_the_merge_if_it_came_last(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    here = JudgementStore(one)
    trace_id = here.save_trace(a_trace())
    here.judge(a_judgement(trace_id, "2012", "invalid"), "t")
    merge(one, two)
    there = JudgementStore(two)
    there.undo(trace_id, "Ann")
    here.undo(trace_id, "Ann")
    here.redo(trace_id, "Ann")
    there.redo(trace_id, "Ann")
    there.undo(trace_id, "Ann")
    merge(two, one)
    assert here.current() == []
    here.judge(a_judgement(trace_id, "2012", "unsure"), "t2")
    merge(two, one)
    assert [judgement.label for judgement in here.current()] == ["unsure"]


def test_an_undo_elsewhere_counts_though_an_older_verdict_was_merged_in_before(tmp_path: Path) -> None:
    one, two, old = (tmp_path / f"{name}.db" for name in ("one", "two", "old"))
    here, older = JudgementStore(one), JudgementStore(old)
    trace_id = here.save_trace(a_trace())
    older.save_trace(a_trace())
    older.judge(a_judgement(trace_id, "2012", "unsure"), "first")
    time.sleep(0.002)
    here.judge(a_judgement(trace_id, "2012", "invalid"), "second")
    merge(one, two)
    merge(old, one)
    assert [judgement.label for judgement in here.current()] == ["invalid"]
    there = JudgementStore(two)
    there.undo(trace_id, "Ann")
    merge(two, one)
    merge(one, two)
    assert [judgement.label for judgement in here.current()] == ["unsure"]
    assert there.current() == here.current()


def test_one_token_for_two_verdicts_loses_neither(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for path, label in ((one, "invalid"), (two, "unlisted")):
        store = JudgementStore(path)
        trace_id = store.save_trace(a_trace())
        store.judge(a_judgement(trace_id, "2012", label), "t1")
    merge(two, one)
    assert [event[9] for event in events(one)] == ["invalid", "unlisted"]
    merge(two, one)
    assert len(events(one)) == 2


def test_what_came_by_file_and_by_database_is_one_verdict(store: JudgementStore, tmp_path: Path) -> None:
    file = written(tmp_path / "file", export_jsonl(store, with_traces=True))
    import_judgements(file, tmp_path / "two.db")
    done = merge(tmp_path / "one.db", tmp_path / "two.db")
    assert (done.judgements, done.steps) == (2, 1)  # the one that was changed, and the one taken back
    assert JudgementStore(tmp_path / "two.db").current() != []
    assert sorted(map(str, JudgementStore(tmp_path / "two.db").current())) == sorted(
        map(str, store.current())
    )


def test_another_run_of_one_name_is_kept_under_a_longer_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    a_workplace(one)
    queue = a_workplace(two, model="two")
    judge_next(two, queue, "Bob", "unlisted", "t")
    ((name, longer),) = merge(two, one).renamed
    assert (name, longer[:5]) == ("dev", "dev [")
    assert [run.provenance["model"] for run in map(RunStore(one).run, ("dev", longer))] == ["one", "two"]
    moved = next(q for q in QueueStore(one).queues(RunStore(one).run(longer).id))
    assert QueueStore(one).progress(moved.id, "Bob").done == 1
    before = dump(one)
    assert merge(two, one).renamed == ((name, longer),)
    assert dump(one) == before


@pytest.mark.parametrize("name", ["dev", "d" * 195])
def test_runs_and_queues_of_one_name_that_are_merged_both_ways_are_kept_once(
    tmp_path: Path, name: str
) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    a_workplace(one, name)
    queue = a_workplace(two, name, model="two")
    judge_next(two, queue, "Bob", "unlisted", "t")
    for _ in range(2):
        merge(two, one)
        merge(one, two)
        for path, own in ((one, "one"), (two, "two")):
            runs = RunStore(path).runs()
            assert sorted(run.provenance["model"] for run in runs) == ["one", "two"]
            assert RunStore(path).run(name).provenance["model"] == own
            assert len(QueueStore(path).queues()) == 2
    assert merge(two, one) == merge(two, one)
    judged = [QueueStore(two).progress(queue.id, "Bob").done for queue in QueueStore(two).queues()]
    assert sorted(judged) == [0, 1]


def test_who_was_shown_the_gold_is_merged_too(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    queue = a_workplace(one)
    a_workplace(two)
    judge_next(one, queue, "Ann", "unlisted", "t")
    QueueStore(one).show(queue, 1, "Ann")
    judge_next(one, queue, "Ann", "unlisted", "t2")
    QueueStore(two).show(queue, 1, "Ann")
    QueueStore(two).show(queue, 1, "Cid")
    before = QueueStore(one).unplaced(queue, "Ann")
    for source, target in ((two, one), (one, two)):
        merge(source, target)
        assert QueueStore(target).standing(queue, 1, "Ann").shown
        assert QueueStore(target).standing(queue, 1, "Cid").shown
        assert not QueueStore(target).standing(queue, 1, "Bob").shown
        assert QueueStore(target).unplaced(queue, "Ann") == before


def test_a_run_that_stopped_is_completed_by_the_other(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    a_workplace(one, count=3)
    runs = RunStore(two)
    run = runs.create(Run("", "dev", "RTV", "", 0, True, 0.5, 10, {"model": "one"}))
    (first, *_) = RunStore(one).questions("dev")
    runs.add_question(run.id, first, JudgementStore(one).load_trace(first.trace_id))
    assert merge(one, two).questions == 2
    assert RunStore(two).questions("dev") == RunStore(one).questions("dev")
    assert RunStore(two).is_complete("dev")


def test_a_trace_that_was_tampered_with_is_refused(store: JudgementStore, tmp_path: Path) -> None:
    with connect(tmp_path / "one.db") as db:
        db.execute("UPDATE traces SET body = (SELECT zeroblob(9))")
        db.conn.commit()
    with pytest.raises(StoreError, match="not as it was saved"):
        merge(tmp_path / "one.db", tmp_path / "new.db")
    assert events(tmp_path / "new.db") == []


def test_only_whole_databases_of_ours_are_merged(tmp_path: Path) -> None:
    a_workplace(tmp_path / "one.db")
    before = dump(tmp_path / "one.db")
    (tmp_path / "text.db").write_text("no database " * 99, encoding="utf-8")
    (tmp_path / "empty.db").write_bytes(b"")
    for name, version in (("newer.db", 99), ("foreign.db", len(STEPS)), ("unversioned.db", 0)):
        with closing(sqlite3.connect(tmp_path / name)) as db:
            db.execute("CREATE TABLE events (id INTEGER)")
            db.execute(f"PRAGMA user_version = {version}")
    for name, said in (
        ("text.db", "no SQLite database"),
        ("empty.db", "holds no judgements"),
        ("newer.db", r"newer version \(schema 99"),
        ("foreign.db", "another program's tables"),
        ("unversioned.db", "holds no judgements"),
        ("nowhere.db", "There is no file"),
    ):
        with pytest.raises((StoreError, MissingError), match=said):
            merge(tmp_path / name, tmp_path / "one.db")
    with pytest.raises(InputError, match="are one file"):
        merge(tmp_path / "one.db", tmp_path / "one.db")
    assert dump(tmp_path / "one.db") == before


def test_a_database_of_the_first_schema_is_merged(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db:
        migrate(Database(db, execute_plugins=False), STEPS[:1])
    assert merge(path, tmp_path / "one.db").judgements == 0
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)


def test_every_table_takes_part_in_a_merge(store: JudgementStore, tmp_path: Path) -> None:
    with connect(tmp_path / "one.db") as db:
        assert {name for name in db.table_names() if not name.startswith("sqlite_")} == set(TABLES)


# Backups


def test_a_backup_is_restored_as_it_was_and_nothing_is_overwritten(
    store: JudgementStore, tmp_path: Path
) -> None:
    store.backup(tmp_path / "backup.db")
    restore(tmp_path / "backup.db", tmp_path / "folder" / "new.db")
    assert dump(tmp_path / "folder" / "new.db") == dump(tmp_path / "one.db")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["new.db"]
    for taken in ("new.db", "other.db-wal"):
        (tmp_path / "folder" / taken).touch()
        with pytest.raises(StoreError, match=f"{taken} is there already"):
            restore(tmp_path / "backup.db", tmp_path / "folder" / taken.removesuffix("-wal"))


def test_a_damaged_backup_is_not_restored(store: JudgementStore, tmp_path: Path) -> None:
    store.backup(tmp_path / "backup.db")
    content = bytearray((tmp_path / "backup.db").read_bytes())
    content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
    (tmp_path / "backup.db").write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        restore(tmp_path / "backup.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_backup_in_a_folder_that_can_not_be_written_is_read(store: JudgementStore, tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    store.backup(folder / "backup.db")
    folder.chmod(0o555)
    try:
        with opened_copy(folder / "backup.db") as db:
            assert db.table("events").count == 6
    finally:
        folder.chmod(0o755)


# The commands


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs `judgements ...` in an own folder; what it says, or the complaint."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> str:
        try:
            main(["judgements", *arguments])
        except SystemExit:
            return capsys.readouterr().err.strip()
        return capsys.readouterr().out.strip()

    return command


@pytest.mark.usefixtures("store")
def test_the_commands_carry_judgements_from_place_to_place(run: Callable) -> None:
    assert run("export", "--store", "one.db", "--with-traces", "--out", "a.jsonl") == "a.jsonl: 3 judgements."
    assert run("import", "a.jsonl") == "rtv.db: 3 new judgements, 1 new trace."
    assert run("import", "a.jsonl") == "rtv.db: 0 new judgements, 3 known already."
    assert run("merge", "one.db") == "rtv.db: 2 verdicts, 1 undo or redo step added."
    assert run("merge", "one.db") == "rtv.db: nothing was new."
    assert run("backup", "copy.db").startswith("copy.db: a backup of rtv.db, ")
    assert run("restore", "copy.db", "--store", "new.db") == "new.db: restored, 3 judgements."
    lines = [set(run("export", "--store", name).splitlines()) for name in ("new.db", "one.db")]
    assert lines[0] == lines[1]


@pytest.mark.usefixtures("store")
def test_the_commands_say_what_can_not_be_done(run: Callable) -> None:
    assert "CSV has no room for traces" in run(
        "export", "--store", "one.db", "--format", "csv", "--with-traces"
    )
    assert "can't be read" in run("import", "nowhere.jsonl")
    assert "There is no file nowhere.db" in run("merge", "nowhere.db")
    assert "one.db is there already" in run("restore", "one.db", "--store", "one.db")
    assert "There are no judgements in rtv.db" in run("backup", "copy.db")
    assert run("backup", "one.db", "--store", "one.db").endswith("Give the backup a new name.")
    assert not Path("rtv.db").exists()

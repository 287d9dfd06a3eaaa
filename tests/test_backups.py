"""Backups: whole though others write, under a name that nothing had, restored as they were."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rtv_core.errors import StoreError
from rtv_core.records import Candidate, Judgement, Question, Trace
from rtv_core.store.backups import backup_folder, list_backups, make_backup
from rtv_core.store.copies import restore
from rtv_core.store.judgements import JudgementStore

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TRACE = Trace(Question("q", "Who?"), candidates=(Candidate("Ann", ("Ann",), 0.5, ()),))


@pytest.fixture
def store(tmp_path: Path) -> JudgementStore:
    return JudgementStore(tmp_path / "rtv.db")


@dataclass
class Broken:
    """A store whose copy fails, or isn't one."""

    path: Path
    copied: bytes | None = None

    def backup(self, path: Path) -> None:
        if self.copied is None:
            raise StoreError("The disk is full.")
        path.write_bytes(self.copied)


def judge(store: JudgementStore, annotator: str) -> None:
    trace_id = store.save_trace(TRACE)
    store.judge(Judgement(trace_id, "", "Ann", "invalid", annotator), annotator)


def names_in(path: Path) -> set[str]:
    """Who judged, read as any program would read the file, which must be whole."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {name for (name,) in db.execute("SELECT annotator FROM events")}


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_backup_made_while_others_write_is_whole_and_has_all_that_was_saved_before(
    store: JudgementStore,
) -> None:
    saved: list[str] = []
    ended = threading.Event()

    def write(writer: int) -> None:
        for number in range(1000):
            if ended.is_set():
                return
            judge(store, f"writer {writer} {number}")
            saved.append(f"writer {writer} {number}")

    writers = [threading.Thread(target=write, args=[writer]) for writer in range(2)]
    for thread in writers:
        thread.start()
    try:
        for _ in range(3):
            before = set(saved)
            assert before <= names_in(make_backup(store).path)
    finally:
        ended.set()
        for thread in writers:
            thread.join()
    assert saved
    assert len(list_backups(store.path)) == 3


def test_a_backup_made_while_others_write_is_restored_with_all_that_was_saved_and_goes_on(
    store: JudgementStore, tmp_path: Path
) -> None:
    saved: list[str] = []
    ended = threading.Event()

    def write() -> None:
        for number in range(1000):
            if ended.is_set():
                return
            judge(store, f"writer {number}")
            saved.append(f"writer {number}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not saved:
            ended.wait(0.005)
        before = set(saved)
        made = make_backup(store)
    finally:
        ended.set()
        writer.join()
    restore(made.path, tmp_path / "again.db")
    again = JudgementStore(tmp_path / "again.db")
    restored = {judgement.annotator for judgement in again.current()}
    assert before <= restored <= set(saved)
    assert again.load_trace(again.traces("Who?")[0]) == TRACE
    judge(again, "afterwards")
    assert again.undo(again.traces("Who?")[0], "afterwards").annotator == "afterwards"


def test_two_backups_of_one_second_have_two_names_and_the_first_stays(store: JudgementStore) -> None:
    judge(store, "Ann")
    first = make_backup(store, lambda: NOON)
    before = first.path.read_bytes()
    judge(store, "Bo")
    second = make_backup(store, lambda: NOON)
    assert [first.path.name, second.path.name] == ["rtv-20300101-120000Z.db", "rtv-20300101-120000Z-2.db"]
    assert first.path.read_bytes() == before
    assert (names_in(first.path), names_in(second.path)) == ({"Ann"}, {"Ann", "Bo"})
    assert list_backups(store.path) == [second, first]


def test_backups_at_the_same_moment_do_not_get_in_each_others_way(store: JudgementStore) -> None:
    judge(store, "Ann")
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(make_backup(store, lambda: NOON))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({backup.path for backup in made}) == 4
    assert all(names_in(backup.path) == {"Ann"} for backup in made)


def test_a_file_of_the_backups_name_is_not_overwritten(store: JudgementStore) -> None:
    folder = backup_folder(store.path)
    folder.mkdir()
    taken = folder / "rtv-20300101-120000Z.db"
    taken.write_bytes(b"mine")
    assert make_backup(store, lambda: NOON).path != taken
    assert taken.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "copied", [None, b"", b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 4096]
)
def test_of_a_backup_that_failed_nothing_is_left(tmp_path: Path, copied: bytes | None) -> None:
    broken = Broken(tmp_path / "rtv.db", copied)
    with pytest.raises(StoreError):
        make_backup(broken)
    assert left_in(backup_folder(broken.path)) == []


def test_where_no_folder_can_be_made_the_error_says_where(store: JudgementStore) -> None:
    backup_folder(store.path).write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match=r"rtv\.db-backups"):
        make_backup(store)


def test_only_whole_files_are_listed_and_links_are_not(store: JudgementStore, tmp_path: Path) -> None:
    assert list_backups(store.path) == []
    made = make_backup(store)
    folder = backup_folder(store.path)
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    (folder / ".making-1").mkdir()
    (tmp_path / "secret.db").write_text("x", encoding="utf-8")
    (folder / "link.db").symlink_to(tmp_path / "secret.db")
    assert list_backups(store.path) == [made]
    assert made.size == made.path.stat().st_size


def test_others_on_the_machine_may_not_look_into_the_folder(store: JudgementStore) -> None:
    make_backup(store)
    assert backup_folder(store.path).stat().st_mode & 0o077 == 0


def test_a_restored_backup_holds_what_was_said(store: JudgementStore, tmp_path: Path) -> None:
    judge(store, "Ann")
    made = make_backup(store)
    judge(store, "Bo")
    restore(made.path, tmp_path / "again.db")
    assert [j.annotator for j in JudgementStore(tmp_path / "again.db").current()] == ["Ann"]


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_backup_beside_what_another_database_left_is_refused(tmp_path, end):
    store = JudgementStore(tmp_path / "rtv.db")
    left = tmp_path / f"copy.db{end}"
    left.write_bytes(b"old")
    with pytest.raises(StoreError, match="is there already"):
        store.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    left.unlink()
    store.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").is_file()

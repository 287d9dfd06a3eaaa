"""Two databases made one: traces, runs, queues, claims and the whole history of verdicts; twice is once.

What is there stays as it is. A run or queue that has the name of another one is kept under a longer name.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import InputError, MismatchError, StoreError
from rtv_core.store.copies import opened_copy
from rtv_core.store.database import transaction
from rtv_core.store.events import read_judgement
from rtv_core.store.graft import Graft
from rtv_core.store.queues import id_of_queue
from rtv_core.store.runs import run_id
from rtv_core.store.traces import check_trace, insert_trace
from rtv_core.store.validation import checked_judgement
from rtv_core.wire import to_json

__all__ = ["TABLES", "Merged", "merge"]

TABLES = (
    "traces",
    "runs",
    "run_questions",
    "run_answers",
    "run_gold",
    "queues",
    "queue_items",
    "claims",
    "events",
    "reveals",
    "filter_events",
)
"""All that a database holds, in the order in which it is merged."""

LONGEST_NAME = 190

RUN_HEADER = ("system", "scored", "tau", "k")
QUEUE_HEADER = ("strategy", "seed", "overlap", "blind", "settings")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Merged:
    """How much was new. `steps` are undos and redos; `renamed` pairs a name with the longer one."""

    traces: int
    runs: int
    questions: int
    queues: int
    claims: int
    judgements: int
    steps: int
    renamed: tuple[tuple[str, str], ...]


def merge(other: Path | str, store: Path | str) -> Merged:
    """Bring all of another database into the store, or nothing; the other one is only read.

    For each annotator and answer the verdict that is latest by time stands. Raises InputError if both are
    one file, and StoreError or MissingError where the other can't be used (see `copies.opened_copy`).
    """
    other, store = Path(other), Path(store)
    if store.exists() and other.exists() and other.samefile(store):
        raise InputError(f"{other} and {store} are one file. Name another database.")
    with opened_copy(other) as source, transaction(store) as db:
        count: Counter[str] = Counter()
        renamed: dict[str, str] = {}
        _merge_traces(source, db, count)
        runs = _merge_runs(source, db, count, renamed)
        queues = _merge_queues(source, db, runs, count, renamed)
        _merge_claims(source, db, queues, count)
        _merge_events(source, db, count)
        _merge_reveals(source, db)
        _merge_filters(source, db)
        names = ("traces", "runs", "questions", "queues", "claims", "judgements", "steps")
        return Merged(*(count[name] for name in names), tuple(renamed.items()))


def _merge_traces(source: Database, db: Database, count: Counter[str]) -> None:
    known = {id_ for (id_,) in db.execute("SELECT id FROM traces")}
    for row in source.query("SELECT * FROM traces ORDER BY rowid"):
        if row["id"] not in known:
            check_trace(row)
            insert_trace(db, row)
            count["traces"] += 1


def _merge_runs(
    source: Database, db: Database, count: Counter[str], renamed: dict[str, str]
) -> dict[str, str]:
    """The id that each run has here."""
    ids = {}
    for run in source.query("SELECT * FROM runs ORDER BY rowid"):
        questions = _rows(source, "run_questions", "run_id", run["id"])
        header = [run[name] for name in (*RUN_HEADER, "provenance", "at")]

        def is_it(name: str, run: Row = run, questions: Sequence[Row] = questions) -> bool:
            (here,) = _rows(db, "runs", "id", run_id(name))
            return _is_same_run(here, run, _rows(db, "run_questions", "run_id", here["id"]), questions)

        taken = [name for (name,) in db.execute("SELECT name FROM runs")]
        name, is_here = _named("run", run["name"], header, taken, is_it)
        id_ = run_id(name)
        if len(name) > len(run["name"]):
            renamed[run["name"]] = name
        if not is_here:
            _insert(db, "runs", [{**run, "id": id_, "name": name, "complete": 0}])
            count["runs"] += 1
        count["questions"] += _add_questions(source, db, run["id"], id_)
        if run["complete"]:
            db.execute("UPDATE runs SET complete = 1 WHERE id = ? AND NOT complete", [id_])
        ids[run["id"]] = id_
    return ids


def _is_same_run(here: Row, run: Row, own: Sequence[Row], questions: Sequence[Row]) -> bool:
    """Whether both were made alike, and made the same of every question that both have."""
    if any(here[name] != run[name] for name in RUN_HEADER):
        return False
    if json.loads(here["provenance"]) != json.loads(run["provenance"]):
        return False
    positions = {row["position"]: (row["question_id"], row["trace_id"]) for row in own}
    places = {row["question_id"]: row["position"] for row in own}
    return all(
        positions.get(row["position"], (row["question_id"], row["trace_id"]))
        == (row["question_id"], row["trace_id"])
        and places.get(row["question_id"], row["position"]) == row["position"]
        for row in questions
    )


def _add_questions(source: Database, db: Database, run: str, here: str) -> int:
    sql = "SELECT position FROM run_questions WHERE run_id = ?"
    known = {position for (position,) in db.execute(sql, [here])}
    added = 0
    for table in ("run_questions", "run_answers", "run_gold"):
        rows = [row for row in _rows(source, table, "run_id", run) if row["position"] not in known]
        _insert(db, table, [{**row, "run_id": here} for row in rows])
        added = added or len(rows)
    return added


def _merge_queues(
    source: Database, db: Database, runs: Mapping[str, str], count: Counter[str], renamed: dict[str, str]
) -> dict[str, str]:
    """The id that each queue has here."""
    ids = {}
    for queue in source.query("SELECT * FROM queues ORDER BY rowid"):
        items = _items(source, queue["id"])
        content = [[queue[name] for name in QUEUE_HEADER], items]
        run = runs[queue["run_id"]]

        def is_it(name: str, run: str = run, content: Any = content) -> bool:
            (here,) = _rows(db, "queues", "id", id_of_queue(run, name))
            return [[here[name] for name in QUEUE_HEADER], _items(db, here["id"])] == content

        taken = [name for (name,) in db.execute("SELECT name FROM queues WHERE run_id = ?", [run])]
        name, is_here = _named("queue", queue["name"], content, taken, is_it)
        id_ = id_of_queue(run, name)
        if len(name) > len(queue["name"]):
            renamed[queue["name"]] = name
        if not is_here:
            _insert(db, "queues", [{**queue, "id": id_, "run_id": run, "name": name}])
            _insert(db, "queue_items", [{**item, "queue_id": id_} for item in items])
            count["queues"] += 1
        ids[queue["id"]] = id_
    return ids


def _items(db: Database, queue_id: str) -> list[dict[str, Any]]:
    rows = _rows(db, "queue_items", "queue_id", queue_id)
    return [{name: value for name, value in row.items() if name != "queue_id"} for row in rows]


def _merge_claims(source: Database, db: Database, queues: Mapping[str, str], count: Counter[str]) -> None:
    columns = "queue_id, place, annotator, kind, at"
    here = Counter(db.execute(f"SELECT {columns} FROM claims"))
    for queue, *claim in source.execute(f"SELECT {columns} FROM claims ORDER BY id"):
        row = (queues[queue], *claim)
        if here[row]:
            here[row] -= 1
        else:
            db.execute(f"INSERT INTO claims ({columns}) VALUES (?, ?, ?, ?, ?)", row)
            count["claims"] += 1


def _merge_events(source: Database, db: Database, count: Counter[str]) -> None:
    sql = """
        SELECT events.*, traces.question FROM events JOIN traces ON traces.id = events.trace_id
        ORDER BY events.id
    """
    graft, ids = Graft(db), {}
    for event in source.query(sql):
        if event["kind"] == "judge":
            try:
                judgement = checked_judgement(read_judgement(event))
            except InputError as error:
                raise StoreError(f"Verdict {event['id']} of the other database: {error}") from error
            ids[event["id"]], is_new = graft.judge(judgement, event["token"])
            count["judgements"] += is_new
        else:
            count["steps"] += graft.step(event["kind"], event["at"], ids[event["target"]])


def _merge_reveals(source: Database, db: Database) -> None:
    sql = "INSERT OR IGNORE INTO reveals (trace_id, annotator, at) VALUES (?, ?, ?)"
    db.conn.executemany(sql, source.execute("SELECT trace_id, annotator, at FROM reveals ORDER BY id"))


def _merge_filters(source: Database, db: Database) -> None:
    """A saved filter comes with its history where its owner never had one of its name."""
    here = set(db.execute("SELECT owner, name FROM filter_events"))
    rows = source.query("SELECT owner, name, conditions, at FROM filter_events ORDER BY id")
    _insert(db, "filter_events", [row for row in rows if (row["owner"], row["name"]) not in here])


def _named(
    kind: str, name: str, content: Any, taken: Sequence[str], is_it: Callable[[str], bool]
) -> tuple[str, bool]:
    """The name that a run or queue has here or gets, and whether it is here.

    `is_it(name)`: whether what has one of the `taken` names is the same. What was given a longer name on
    another machine, for the name was taken there, may be here under its own.
    """
    mark = f" [{hashlib.sha256(to_json(content).encode()).hexdigest()[:6]}]"

    def longer(short: str) -> str:
        return f"{short[:LONGEST_NAME].rstrip()}{mark}"

    own = [known for known in taken if longer(known) == name]
    for known in (*own, name, longer(name)):
        if known in taken and is_it(known):
            return known, True
    for free in (name, longer(name)):
        if free not in taken:
            return free, False
    raise MismatchError(f"There is another {kind} {name!r} already. Merge into a new file.")


def _rows(db: Database, table: str, column: str, value: str) -> list[dict[str, Any]]:
    order = {"run_questions": "position", "queue_items": "place"}.get(table, "1")
    if table in ("run_answers", "run_gold"):
        order = "position, number"
    return list(db.query(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY {order}", [value]))


def _insert(db: Database, table: str, rows: Sequence[Row]) -> None:
    if rows:
        names = list(rows[0])
        values = ", ".join(f":{name}" for name in names)
        db.conn.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})", rows)

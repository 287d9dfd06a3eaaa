"""Runs: one system's answers to a question set, kept question by question beside the traces they came from.

A question is written whole or not at all, and once: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.records import LOST, Question, Run, RunAnswer, RunGold, RunQuestion, Trace
from rtv_core.store.database import connect, transaction
from rtv_core.store.traces import bindable, insert_trace, now, question_key, trace_row
from rtv_core.store.validation import checked_text
from rtv_core.text import answer_key
from rtv_core.wire import to_json

__all__ = ["RunStore", "run_id"]

PAGE = 50
LONGEST_RUN_NAME = 200

_RUNS = """
    SELECT runs.*, (SELECT count(*) FROM run_questions WHERE run_id = runs.id) AS questions FROM runs
"""


def run_id(name: str) -> str:
    """The id of the run of this name: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]


class RunStore:
    """The runs in one SQLite file, for any number of threads and processes.

    The file is made if it isn't there. Every method opens its own connection, and raises StoreError where
    the file can't be read or written.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        with connect(self._path):
            pass

    def create(self, run: Run) -> Run:
        """Begin a run, or go on with the one of its name; returns it as kept.

        `id`, `at` and `questions` are the store's own: what they are in `run` doesn't matter. Raises
        MismatchError if a run of this name was made otherwise: by another system, or with other provenance.
        """
        name = checked_text("run's name", run.name, LONGEST_RUN_NAME, visible=True).strip()
        row = {
            "id": run_id(name),
            "name": name,
            "system": checked_text("system's name", run.system, LONGEST_RUN_NAME, visible=True),
            "at": now(),
            "scored": run.scored,
            "tau": run.tau,
            "k": run.k,
            "provenance": bindable(to_json(run.provenance)),
        }
        with transaction(self._path) as db:
            if (kept := next(iter(db.query("SELECT * FROM runs WHERE id = ?", [row["id"]])), None)) is None:
                db.table("runs").insert(row)
            else:
                _check_same(kept, row)
        return self.run(row["id"])

    def add_question(self, run: str, question: RunQuestion, trace: Trace) -> None:
        """Keep what a run made of one question, and its trace. Twice is once: the first stays."""
        self.add_questions(run, [(question, trace)])

    def add_questions(self, run: str, items: Iterable[tuple[RunQuestion, Trace]]) -> None:
        """Several questions in one transaction: all are kept or none.

        `run` is a run's id. The questions' `run_id` and `trace_id` are the store's own. Raises MissingError
        for an unknown run and MismatchError if another question has a position already.
        """
        rows = [(question, trace_row(trace)) for question, trace in items]
        with transaction(self._path) as db:
            known = _run_row(db, run)["id"]
            for question, trace in rows:
                if not _is_there(db, known, question):
                    insert_trace(db, trace)
                    _insert(db, known, question, trace["id"])

    def finish(self, run: str) -> None:
        """Mark a run as complete. Raises MissingError for an unknown run."""
        with transaction(self._path) as db:
            db.execute("UPDATE runs SET complete = 1 WHERE id = ?", [_run_row(db, run)["id"]])

    def is_complete(self, run: str) -> bool:
        """Whether every question of the run was answered."""
        with connect(self._path) as db:
            return bool(_run_row(db, run)["complete"])

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        with connect(self._path) as db:
            return [_run(row) for row in db.query(f"{_RUNS} ORDER BY runs.at DESC, runs.name")]

    def run(self, run: str) -> Run:
        """The run of this id or name. Raises MissingError if there is none."""
        with connect(self._path) as db:
            return _run(_run_row(db, run))

    def question_ids(self, run: str) -> frozenset[str]:
        """The ids of the questions that the run has."""
        with connect(self._path) as db:
            sql = "SELECT question_id FROM run_questions WHERE run_id = ?"
            return frozenset(row[0] for row in db.execute(sql, [_run_row(db, run)["id"]]))

    def positions(self, run: str) -> list[int]:
        """The positions at which the run has a question, in order."""
        with connect(self._path) as db:
            sql = "SELECT position FROM run_questions WHERE run_id = ? ORDER BY position"
            return [row[0] for row in db.execute(sql, [_run_row(db, run)["id"]])]

    def questions(self, run: str) -> list[RunQuestion]:
        """Every question of a run, by position."""
        with connect(self._path) as db:
            return _questions(db, _run_row(db, run)["id"])

    def question(self, run: str, position: int) -> RunQuestion:
        """The question at a position, counted from 0. Raises MissingError if there is none."""
        with connect(self._path) as db:
            found = _questions(db, _run_row(db, run)["id"], [position])
        if not found:
            raise MissingError(f"The run {run!r} has no question {position}. Choose another one.")
        return found[0]

    def filter(
        self,
        run: str,
        text: str = "",
        lost: str | None = None,
        predicted: bool | None = None,
        limit: int = PAGE,
        offset: int = 0,
    ) -> list[RunQuestion]:
        """The questions that meet every condition, by position: `limit` of them, after the first `offset`.

        `text` occurs in the question, a gold answer or a candidate; case doesn't matter, nor do accents in
        candidates. `lost` is what became of at least one gold answer (see `records.LOST`). `predicted` True
        keeps questions with a predicted answer, False those with a rejected candidate; beside a text, it is
        that answer, or the question, that the text must occur in.
        """
        with connect(self._path) as db:
            known = _run_row(db, run)["id"]
            where, names = _condition(known, text, lost, predicted)
            names |= {"limit": max(limit, 0), "offset": max(offset, 0)}
            sql = f"SELECT position FROM run_questions AS q WHERE {where} ORDER BY position"
            positions = [row[0] for row in db.execute(f"{sql} LIMIT :limit OFFSET :offset", names)]
            return _questions(db, known, positions)

    def count(self, run: str, text: str = "", lost: str | None = None, predicted: bool | None = None) -> int:
        """How many questions `filter` finds in all."""
        with connect(self._path) as db:
            where, names = _condition(_run_row(db, run)["id"], text, lost, predicted)
            return db.execute(f"SELECT count(*) FROM run_questions AS q WHERE {where}", names).fetchone()[0]


def _check_same(kept: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    """Raises MismatchError, with the first difference, unless both rows are of one run."""
    had, has = json.loads(kept["provenance"]), json.loads(row["provenance"])
    differences = [
        (name, kept[name], row[name]) for name in ("system", "scored", "tau", "k") if kept[name] != row[name]
    ]
    differences += [
        (name, had.get(name), has.get(name))
        for name in sorted(had.keys() | has.keys())
        if had.get(name) != has.get(name)
    ]
    if differences:
        name, before, after = differences[0]
        raise MismatchError(
            f"There is a run {kept['name']!r} already, and it was made otherwise: its {name} is "
            f"{_shown(before)}, now it would be {_shown(after)}. Choose another name, or give what it was "
            "made with to go on with it."
        )


def _shown(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _run_row(db: Database, run: str) -> dict[str, Any]:
    sql = f"{_RUNS} WHERE runs.id = :run OR runs.name = :run ORDER BY runs.id = :run DESC"
    row = next(iter(db.query(sql, {"run": bindable(run)})), None)
    if row is None:
        names = [name for (name,) in db.execute("SELECT name FROM runs ORDER BY name")]
        close = difflib.get_close_matches(str(run), names, 1)
        hint = f" Did you mean {close[0]!r}?" if close else f" Known: {', '.join(names[:20]) or 'none'}."
        raise MissingError(f"There is no run {str(run)[:80]!r}.{hint}")
    return row


def _run(row: Mapping[str, Any]) -> Run:
    provenance = MappingProxyType(json.loads(row["provenance"]))
    return Run(
        row["id"],
        row["name"],
        row["system"],
        row["at"],
        row["questions"],
        bool(row["scored"]),
        row["tau"],
        row["k"],
        provenance,
    )


def _is_there(db: Database, run: str, question: RunQuestion) -> bool:
    sql = "SELECT question_id FROM run_questions WHERE run_id = ? AND (position = ? OR question_id = ?)"
    own = bindable(question.question.id)
    found = [row[0] for row in db.execute(sql, [run, question.position, own])]
    if found and own not in found:
        raise MismatchError(
            f"Question {question.position} of the run is {found[0]!r}, not {own!r}. Give the run the "
            "questions that it was begun with."
        )
    return bool(found)


def _insert(db: Database, run: str, question: RunQuestion, trace_id: str) -> None:
    place, asked = {"run_id": run, "position": question.position}, question.question
    of_question = place | {
        "question_id": bindable(asked.id),
        "question": asked.text,
        "question_key": question_key(asked.text),
        "gold_json": bindable(to_json(asked.answers)),
        "trace_id": trace_id,
        "seconds": question.seconds,
    }
    of_answers = [
        place
        | {
            "number": number,
            "answer": bindable(answer.answer),
            "answer_key": bindable(answer_key(answer.answer) or answer.answer),
            "spellings_json": bindable(to_json(answer.spellings)),
            "p_right": answer.p_right,
            "predicted": answer.predicted,
            "gold": bindable(answer.gold),
            "repeats": answer.repeats,
        }
        for number, answer in enumerate(question.answers)
    ]
    of_gold = [
        place
        | {
            "number": number,
            "answer": bindable(gold.answer),
            "spellings_json": bindable(to_json(gold.spellings)),
            "lost": gold.lost,
        }
        for number, gold in enumerate(question.gold)
    ]
    _insert_rows(db, "run_questions", [of_question])
    _insert_rows(db, "run_answers", of_answers)
    _insert_rows(db, "run_gold", of_gold)


def _insert_rows(db: Database, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        columns = list(rows[0])
        values = ", ".join(f":{column}" for column in columns)
        db.conn.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", rows)


def _questions(db: Database, run: str, positions: Sequence[int] | None = None) -> list[RunQuestion]:
    """The questions of a run, or those at some positions, all as of one moment."""
    where, values = "run_id = ?", [run]
    if positions is not None:
        where += " AND position IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(positions)))
    db.execute("BEGIN")
    try:
        answers, gold = _answers(db, where, values), _gold(db, where, values)
        columns = "position, question_id, question, gold_json, trace_id, seconds"
        rows = db.execute(f"SELECT {columns} FROM run_questions WHERE {where} ORDER BY position", values)
        return [
            RunQuestion(
                run,
                position,
                Question(id_, text, _annotations(known)),
                trace_id,
                tuple(answers[position]),
                tuple(gold[position]),
                seconds,
            )
            for position, id_, text, known, trace_id, seconds in rows
        ]
    finally:
        db.rollback()


def _answers(db: Database, where: str, values: Sequence[str]) -> Mapping[int, list[RunAnswer]]:
    columns = "position, spellings_json, answer, p_right, predicted, gold, repeats"
    rows = db.execute(
        f"SELECT {columns} FROM run_answers WHERE {where} ORDER BY position, number", values
    ).fetchall()
    found = defaultdict(list)
    for (position, _, answer, p_right, predicted, gold, repeats), spellings in zip(
        rows, _spellings(rows), strict=True
    ):
        found[position].append(
            RunAnswer(answer, tuple(spellings), p_right, bool(predicted), gold, bool(repeats))
        )
    return found


def _gold(db: Database, where: str, values: Sequence[str]) -> Mapping[int, list[RunGold]]:
    columns = "position, spellings_json, answer, lost"
    rows = db.execute(
        f"SELECT {columns} FROM run_gold WHERE {where} ORDER BY position, number", values
    ).fetchall()
    found = defaultdict(list)
    for (position, _, answer, lost), spellings in zip(rows, _spellings(rows), strict=True):
        found[position].append(RunGold(answer, tuple(spellings), lost))
    return found


def _spellings(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """The second column of all rows, read at once: a call for each would take most of the time."""
    return json.loads(f"[{','.join(row[1] for row in rows)}]")


def _annotations(text: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(tuple(tuple(answer) for answer in annotation) for annotation in json.loads(text))


def _condition(run: str, text: str, lost: str | None, predicted: bool | None) -> tuple[str, dict[str, Any]]:
    """The SQL condition on `run_questions AS q` that `filter` describes, and its values."""
    if lost is not None and lost not in LOST:
        raise InputError(f"lost is {lost!r}; it must be one of {', '.join(LOST)}.")
    text = " ".join(bindable(text).split())
    names: dict[str, Any] = {"run": run, "lost": lost, "predicted": predicted}
    parts, of_answer = ["q.run_id = :run"], "a.run_id = q.run_id AND a.position = q.position"
    if lost is not None:
        parts.append(
            "EXISTS (SELECT 1 FROM run_gold AS g WHERE g.run_id = q.run_id AND g.position = q.position "
            "AND g.lost = :lost)"
        )
    if predicted is not None:
        of_answer += " AND a.predicted = :predicted"
        parts.append(f"EXISTS (SELECT 1 FROM run_answers AS a WHERE {of_answer})")
    if text:
        names |= {"folded": text.casefold(), "key": answer_key(text), "like": _pattern(text)}
        places = [
            "instr(q.question_key, :folded) > 0",
            f"EXISTS (SELECT 1 FROM run_answers AS a WHERE {of_answer} AND (a.answer LIKE :like ESCAPE '~' "
            "OR (:key <> '' AND instr(a.answer_key, :key) > 0)))",
        ]
        if predicted is None:
            places.append(
                "EXISTS (SELECT 1 FROM run_gold AS g WHERE g.run_id = q.run_id AND g.position = q.position "
                "AND g.spellings_json LIKE :like ESCAPE '~')"
            )
        parts.append(f"({' OR '.join(places)})")
    return " AND ".join(parts), names


def _pattern(text: str) -> str:
    """A LIKE pattern that finds the text anywhere; its own wildcards stand for themselves."""
    for sign in "~%_":
        text = text.replace(sign, f"~{sign}")
    return f"%{text}%"

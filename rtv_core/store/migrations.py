"""The schema, one numbered step after another; `PRAGMA user_version` says how many a file has had.

A released step is never changed: a new one is added below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlite_utils import Database

from rtv_core.errors import StoreError

__all__ = ["STEPS", "migrate", "version"]


def step_1(db: Database) -> None:
    """Traces, the log of events about them, and what the log amounts to.

    A "judge" event holds a judgement; an "undo" or "redo" event names one as its target. A judgement is live
    unless the last event about it is an undo, and the last live one of a trace, annotator and answer is
    current.
    """
    db.execute(
        """
        CREATE TABLE traces (
            id TEXT PRIMARY KEY,
            question TEXT NOT NULL,
            question_key TEXT NOT NULL,
            provenance TEXT NOT NULL,
            body BLOB NOT NULL,
            created_at TEXT NOT NULL
        )
        """
    )
    db.execute("CREATE INDEX traces_question ON traces (question_key)")
    db.execute(
        """
        CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK (kind IN ('judge', 'undo', 'redo')),
            at TEXT NOT NULL,
            trace_id TEXT NOT NULL REFERENCES traces (id),
            annotator TEXT NOT NULL,
            target INTEGER REFERENCES events (id),
            token TEXT,
            answer_key TEXT,
            answer TEXT,
            label TEXT,
            evidence TEXT,
            gold TEXT,
            note TEXT,
            recalled INTEGER,
            blind INTEGER,
            p_right REAL,
            tau REAL,
            k INTEGER,
            UNIQUE (annotator, token),
            CHECK ((kind = 'judge') = (target IS NULL)),
            CHECK ((kind = 'judge') = (token IS NOT NULL AND answer_key IS NOT NULL AND label IS NOT NULL))
        )
        """
    )
    db.execute("CREATE INDEX events_verdict ON events (trace_id, annotator, answer_key)")
    db.execute("CREATE INDEX events_target ON events (target)")
    for change in ("UPDATE", "DELETE"):
        db.execute(
            f"""
            CREATE TRIGGER events_no_{change.lower()} BEFORE {change} ON events
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END
            """
        )
    db.execute(
        """
        CREATE VIEW live_judgements AS
        SELECT events.*, traces.question, traces.question_key
        FROM events JOIN traces ON traces.id = events.trace_id
        WHERE events.kind = 'judge' AND coalesce(
            (
                SELECT step.kind FROM events AS step WHERE step.target = events.id
                ORDER BY step.id DESC LIMIT 1
            ),
            'redo'
        ) = 'redo'
        """
    )
    db.execute(
        """
        CREATE VIEW current_judgements AS
        SELECT * FROM live_judgements AS it
        WHERE it.id = (
            SELECT max(live.id) FROM live_judgements AS live
            WHERE live.trace_id = it.trace_id AND live.annotator = it.annotator
                AND live.answer_key = it.answer_key
        )
        """
    )


STEPS: tuple[Callable[[Database], None], ...] = (step_1,)


def version(db: Database) -> int:
    """How many steps the file has had."""
    return db.execute("PRAGMA user_version").fetchone()[0]


def migrate(db: Database, steps: Sequence[Callable[[Database], None]] = STEPS) -> None:
    """Bring the file to the newest schema, all steps or none.

    Raises StoreError for a file of a newer version, or one that belongs to another program.
    """
    if (had := version(db)) == len(steps):
        return
    if had > len(steps):
        raise StoreError(
            f"The judgements were written by a newer version (schema {had}; this one reads up to "
            f"{len(steps)}). Update this program, or choose another file."
        )
    db.execute("BEGIN IMMEDIATE")
    try:
        had = version(db)  # another process may have been faster
        if not had and db.table_names():
            raise StoreError("The file holds another program's tables. Choose another file for judgements.")
        for step in steps[had:]:
            step(db)
        db.execute(f"PRAGMA user_version = {len(steps)}")
        db.commit()
    finally:
        db.rollback()

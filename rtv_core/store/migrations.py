"""The schema, one numbered step after another; `PRAGMA user_version` says how many a file has had.

A released step is never changed: a new one is added below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlite_utils import Database

from rtv_core.errors import StoreError
from rtv_core.store.supports import out_of_note, passage_texts, write_support
from rtv_core.store.traces import moved

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


def step_2(db: Database) -> None:
    """Runs (a system's answers to a question set), the queues drawn from them, and who claimed what.

    A queue's items name answers of its run's questions; claims are events, as judgements are.
    """
    db.execute(
        """
        CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            system TEXT NOT NULL,
            at TEXT NOT NULL,
            scored INTEGER NOT NULL,
            tau REAL,
            k INTEGER NOT NULL,
            provenance TEXT NOT NULL,
            complete INTEGER NOT NULL DEFAULT 0
        )
        """
    )
    db.execute(
        """
        CREATE TABLE run_questions (
            run_id TEXT NOT NULL REFERENCES runs (id),
            position INTEGER NOT NULL,
            question_id TEXT NOT NULL,
            question TEXT NOT NULL,
            question_key TEXT NOT NULL,
            gold_json TEXT NOT NULL,
            trace_id TEXT NOT NULL REFERENCES traces (id),
            seconds REAL,
            PRIMARY KEY (run_id, position),
            UNIQUE (run_id, question_id)
        )
        """
    )
    db.execute("CREATE INDEX run_questions_trace ON run_questions (trace_id)")
    db.execute(
        """
        CREATE TABLE run_answers (
            run_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            number INTEGER NOT NULL,
            answer TEXT NOT NULL,
            answer_key TEXT NOT NULL,
            spellings_json TEXT NOT NULL,
            p_right REAL,
            predicted INTEGER NOT NULL,
            gold TEXT NOT NULL,
            repeats INTEGER NOT NULL,
            PRIMARY KEY (run_id, position, number),
            FOREIGN KEY (run_id, position) REFERENCES run_questions (run_id, position)
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX run_answers_predicted ON run_answers (run_id, predicted, position, answer_key)")
    db.execute(
        """
        CREATE TABLE run_gold (
            run_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            number INTEGER NOT NULL,
            answer TEXT NOT NULL,
            spellings_json TEXT NOT NULL,
            lost TEXT NOT NULL,
            PRIMARY KEY (run_id, position, number),
            FOREIGN KEY (run_id, position) REFERENCES run_questions (run_id, position)
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX run_gold_lost ON run_gold (run_id, lost, position)")
    db.execute(
        """
        CREATE TABLE queues (
            id TEXT PRIMARY KEY,
            run_id TEXT NOT NULL REFERENCES runs (id),
            name TEXT NOT NULL,
            strategy TEXT NOT NULL,
            seed INTEGER NOT NULL,
            overlap INTEGER NOT NULL CHECK (overlap >= 1),
            blind INTEGER NOT NULL,
            settings TEXT NOT NULL,
            created_at TEXT NOT NULL,
            UNIQUE (run_id, name)
        )
        """
    )
    db.execute(
        """
        CREATE TABLE queue_items (
            queue_id TEXT NOT NULL REFERENCES queues (id),
            place INTEGER NOT NULL,
            position INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('prediction', 'gold', 'candidate')),
            answer TEXT NOT NULL,
            answer_key TEXT NOT NULL,
            inclusion REAL NOT NULL CHECK (inclusion > 0 AND inclusion <= 1),
            stratum TEXT NOT NULL,
            PRIMARY KEY (queue_id, place),
            UNIQUE (queue_id, position, answer_key)
        )
        """
    )
    db.execute(
        """
        CREATE TABLE claims (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            queue_id TEXT NOT NULL,
            place INTEGER NOT NULL,
            annotator TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('claim', 'skip', 'release')),
            at TEXT NOT NULL,
            FOREIGN KEY (queue_id, place) REFERENCES queue_items (queue_id, place)
        )
        """
    )
    db.execute("CREATE INDEX claims_item ON claims (queue_id, place, annotator)")
    db.execute("CREATE INDEX claims_annotator ON claims (queue_id, annotator)")
    for change in ("UPDATE", "DELETE"):
        db.execute(
            f"""
            CREATE TRIGGER claims_no_{change.lower()} BEFORE {change} ON claims
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END
            """
        )


def step_3(db: Database) -> None:
    """Where an answer stands has a column, `support`: a JSON object.

    Before, it was the last line of the note of an answer that nobody had recalled.
    """
    db.execute("ALTER TABLE events ADD COLUMN support TEXT")
    rows = db.execute(
        """
        SELECT events.id, events.note, traces.body
        FROM events JOIN traces ON traces.id = events.trace_id
        WHERE NOT events.recalled AND instr(events.note, 'supported by passage ')
        """
    ).fetchall()
    (locked,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'events_no_update'").fetchone()
    db.execute("DROP TRIGGER events_no_update")
    for id_, note, body in rows:
        said, support = out_of_note(note, passage_texts(body))
        if support is not None:
            db.execute(
                "UPDATE events SET note = ?, support = ? WHERE id = ?", [said, write_support(support), id_]
            )
    db.execute(locked)
    _add_filters_and_sources(db)


def _add_filters_and_sources(db: Database) -> None:
    """Part of step 3: filters that people keep, as a log, and how many passages hold a question's gold.

    `conditions` is NULL where a filter was deleted, `sources` where nobody counted yet.
    """
    db.execute(
        """
        CREATE TABLE filter_events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            owner TEXT NOT NULL,
            name TEXT NOT NULL,
            conditions TEXT,
            at TEXT NOT NULL
        )
        """
    )
    db.execute("CREATE INDEX filter_events_name ON filter_events (owner, name)")
    for change in ("UPDATE", "DELETE"):
        db.execute(
            f"""
            CREATE TRIGGER filter_events_no_{change.lower()} BEFORE {change} ON filter_events
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END
            """
        )
    db.execute("ALTER TABLE run_questions ADD COLUMN sources INTEGER")


def step_4(db: Database) -> None:
    """The latest by time stands, wherever in the log it lies; and to whom gold or scores were shown.

    Before, the last of the log stood. Where that was another one, it is said anew, so that what stood stays.
    The gold was seen by whoever said a verdict that isn't blind, or one that placed an answer.
    """
    db.execute(
        """
        CREATE TABLE reveals (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            trace_id TEXT NOT NULL REFERENCES traces (id),
            annotator TEXT NOT NULL,
            at TEXT NOT NULL,
            UNIQUE (trace_id, annotator, at)
        )
        """
    )
    for change in ("UPDATE", "DELETE"):
        db.execute(
            f"""
            CREATE TRIGGER reveals_no_{change.lower()} BEFORE {change} ON reveals
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END
            """
        )
    db.execute("CREATE INDEX reveals_annotator ON reveals (annotator, at)")
    db.execute("CREATE INDEX events_annotator ON events (annotator, at)")
    db.execute(_SEEN)
    stood = _standing(db)
    db.execute("DROP VIEW current_judgements")
    db.execute("DROP VIEW live_judgements")
    db.execute(
        """
        CREATE VIEW live_judgements AS
        SELECT events.*, traces.question, traces.question_key
        FROM events JOIN traces ON traces.id = events.trace_id
        WHERE events.kind = 'judge' AND coalesce(
            (
                SELECT step.kind FROM events AS step WHERE step.target = events.id
                ORDER BY step.at DESC, step.id DESC LIMIT 1
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
            SELECT live.id FROM live_judgements AS live
            WHERE live.trace_id = it.trace_id AND +live.annotator = it.annotator
                AND live.answer_key = it.answer_key
            ORDER BY live.at DESC, live.id DESC LIMIT 1
        )
        """  # the plus sign keeps SQLite to the few events of the trace
    )
    stands = _standing(db)
    for place in sorted(stood.keys() | stands.keys()):
        if stood.get(place) != stands.get(place):
            _let_stand(db, place, stood.get(place))


_SEEN = """
    INSERT INTO reveals (trace_id, annotator, at)
    SELECT trace_id, annotator, min(at) FROM (
        SELECT trace_id, annotator, at FROM events WHERE kind = 'judge' AND NOT blind
        UNION ALL
        SELECT it.trace_id, it.annotator, it.at FROM live_judgements AS it
        WHERE it.blind AND it.label IN ('listed', 'variant') AND (
            SELECT before.blind AND before.label = 'unlisted' FROM live_judgements AS before
            WHERE before.trace_id = it.trace_id AND before.annotator = it.annotator
                AND before.answer_key = it.answer_key AND before.id < it.id
            ORDER BY before.id DESC LIMIT 1
        )
    )
    GROUP BY trace_id, annotator
"""
"""What was first called right blindly, so "unlisted", and then listed or a variant was placed in the gold."""


def _standing(db: Database) -> dict[tuple[str, str, str], int]:
    """The verdict that stands on each trace's answer for each annotator."""
    rows = db.execute("SELECT trace_id, annotator, answer_key, id FROM current_judgements")
    return {(trace, annotator, key): id_ for trace, annotator, key, id_ in rows}


def _let_stand(db: Database, place: tuple[str, str, str], event: int | None) -> None:
    """Take back every live verdict on an answer, and say one of them anew, after all that was said of it.

    What a copy of the file is given is the same, whenever it is brought up to date; one in which more was
    said is given a later time.
    """
    live = """
        SELECT id FROM live_judgements WHERE trace_id = ? AND annotator = ? AND answer_key = ? ORDER BY id
    """
    on_place = "trace_id = :trace AND annotator = :annotator AND answer_key = :key"
    latest, count = db.execute(
        f"""
        SELECT max(at), count(*) FROM events
        WHERE ({on_place}) OR target IN (SELECT id FROM events WHERE {on_place})
        """,
        dict(zip(("trace", "annotator", "key"), place, strict=True)),
    ).fetchone()
    at = moved(latest, timedelta(milliseconds=count))
    for (id_,) in db.execute(live, place).fetchall():
        step = {"kind": "undo", "at": at, "target": id_, "trace_id": place[0], "annotator": place[1]}
        db.table("events").insert(step)
    if event is not None:
        (row,) = db.query("SELECT * FROM events WHERE id = ?", [event])
        del row["id"]
        db.table("events").insert(row | {"at": at, "token": f"again:{event}"})


STEPS: tuple[Callable[[Database], None], ...] = (step_1, step_2, step_3, step_4)


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

"""The verdicts as they stood at a moment of the past: the log up to then."""

from __future__ import annotations

from pathlib import Path

from rtv_core.records import Judgement
from rtv_core.store.database import connect
from rtv_core.store.events import read_judgement
from rtv_core.store.traces import bindable

__all__ = ["standing_at"]


def standing_at(path: Path | str, moment: str) -> list[Judgement]:
    """The verdicts that stood just before a moment (UTC, ISO 8601; a day is its beginning), newest first.

    One for each trace, annotator and answer: what was changed or taken back since stood then. Raises
    StoreError where the file can't be read.
    """
    sql = """
        WITH past AS (SELECT * FROM events WHERE at < :moment),
        live AS (
            SELECT past.*, traces.question
            FROM past JOIN traces ON traces.id = past.trace_id
            WHERE past.kind = 'judge' AND coalesce(
                (
                    SELECT step.kind FROM past AS step WHERE step.target = past.id
                    ORDER BY step.at DESC, step.id DESC LIMIT 1
                ),
                'redo'
            ) = 'redo'
        )
        SELECT * FROM (
            SELECT *, row_number() OVER (
                PARTITION BY trace_id, annotator, answer_key ORDER BY at DESC, id DESC
            ) AS age
            FROM live
        )
        WHERE age = 1 ORDER BY at DESC, id DESC
    """
    with connect(Path(path)) as db:
        return [read_judgement(row) for row in db.query(sql, {"moment": bindable(moment)})]

"""How many of a question's passages hold a gold answer: counted once a run, and kept beside its questions."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rtv_core.errors import StoreError
from rtv_core.records import Question, RunQuestion
from rtv_core.store.database import connect, transaction

__all__ = ["SourceStore"]

AT_ONCE = 200
NO_PASSAGES = -1

Count = Callable[[Question, Sequence[tuple[str, str]]], int | None]
"""Of a question and the titles and texts of its passages; None where there are no passages."""

log = logging.getLogger(__name__)


class SourceStore:
    """The counts in a file of judgements. Raises StoreError where the file or a trace can't be read.

    A count is worked out from the question's trace when it is first asked for, which takes some 15 ms a
    question of a hundred passages. Where it can't be kept it is only given.
    """

    def __init__(self, path: Path | str, count: Count) -> None:
        self._path = Path(path)
        self._count = count

    def counts(self, run_id: str, questions: Sequence[RunQuestion]) -> Mapping[int, int | None]:
        """The count of each question, by its position in the run; None where no passages are known."""
        with connect(self._path) as db:
            sql = "SELECT position, sources FROM run_questions WHERE run_id = ? AND sources IS NOT NULL"
            known: dict[int, int] = dict(db.execute(sql, [run_id]).fetchall())
        left = [question for question in questions if question.position not in known]
        for start in range(0, len(left), AT_ONCE):
            counted = dict(self._counted(left[start : start + AT_ONCE]))
            known |= counted
            self._keep(run_id, counted)
        return {position: None if count == NO_PASSAGES else count for position, count in known.items()}

    def _counted(self, questions: Sequence[RunQuestion]) -> Iterator[tuple[int, int]]:
        with connect(self._path) as db:
            for question in questions:
                sql = "SELECT body FROM traces WHERE id = ?"
                row = db.execute(sql, [question.trace_id]).fetchone()
                passages = [] if row is None else _passages(question.trace_id, row[0])
                count = self._count(question.question, passages)
                yield question.position, NO_PASSAGES if count is None else count

    def _keep(self, run_id: str, counts: Mapping[int, int]) -> None:
        rows = [(count, run_id, position) for position, count in counts.items()]
        try:
            with transaction(self._path) as db:
                sql = "UPDATE run_questions SET sources = ? WHERE run_id = ? AND position = ?"
                db.conn.executemany(sql, rows)
        except StoreError as error:
            log.warning("The numbers of sources are not kept: %s", error)


def _passages(trace_id: str, body: bytes) -> list[tuple[str, str]]:
    """The titles and texts of a trace's passages: only these are read, which takes a third of the time."""
    try:
        hits = json.loads(zlib.decompress(body))["hits"]
        return [(hit["passage"]["title"], hit["passage"]["text"]) for hit in hits]
    except (zlib.error, ValueError, TypeError, LookupError) as error:
        raise StoreError(f"The trace {trace_id} can't be read: {error}. Ask its question again.") from error

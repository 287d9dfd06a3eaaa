"""Exported judgements brought into a store: all of a file or nothing, and twice is once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rtv_core.errors import InputError, MissingError
from rtv_core.records import Judgement
from rtv_core.store.database import transaction
from rtv_core.store.events import on_trace, spellings_on, stored_trace
from rtv_core.store.exported import Entry, read_export
from rtv_core.store.graft import Graft
from rtv_core.store.supports import check_in_passages, out_of_note, passage_texts
from rtv_core.store.traces import insert_trace
from rtv_core.wire import to_json, to_plain

__all__ = ["Imported", "import_judgements"]


@dataclass(frozen=True, slots=True)
class Imported:
    """How many judgements and traces were new, and how many judgements were there already."""

    judgements: int
    known: int
    traces: int


def import_judgements(path: Path | str, store: Path | str) -> Imported:
    """Bring the judgements of an exported file into the store, which is made if it isn't there.

    They keep their times and annotators, and for each annotator and answer the latest by time stands. What
    was taken back here since it was exported stays so. Raises InputError for a file that isn't whole and
    MissingError for a trace that neither the file nor the store holds; then nothing is written.
    """
    path, store = Path(path), Path(store)
    entries = list(read_export(path))
    _check_traces(entries, store)
    with transaction(store) as db:
        had = db.table("traces").count
        for entry in entries:
            if entry.trace is not None:
                insert_trace(db, entry.trace)

        @cache
        def candidates(trace_id: str) -> tuple[str, frozenset[str]]:
            row = stored_trace(db, trace_id)
            return row["question"], spellings_on(row)

        @cache
        def texts(trace_id: str) -> Mapping[str, str]:
            return passage_texts(stored_trace(db, trace_id)["body"])

        graft, new, known = Graft(db), 0, 0
        for entry in entries:
            if entry.judgement is not None:
                try:
                    judgement = _on_own_trace(entry.judgement, *candidates(entry.judgement.trace_id))
                    token = _token(judgement)
                    judgement = _supported(judgement, entry.schema, texts)
                except MissingError as error:
                    raise _no_trace(entry, store) from error
                except InputError as error:
                    raise InputError(f"{entry.place}: {error}") from error
                is_new = graft.judge(judgement, token)[1]
                new, known = new + is_new, known + (not is_new)
        return Imported(new, known, db.table("traces").count - had)


def _check_traces(entries: Sequence[Entry], store: Path) -> None:
    """A store that isn't there holds no trace: say so before it is made."""
    brought = {entry.trace["id"] for entry in entries if entry.trace is not None}
    for entry in entries:
        if entry.judgement and entry.judgement.trace_id not in brought and not store.exists():
            raise _no_trace(entry, store)


def _no_trace(entry: Entry, store: Path) -> MissingError:
    return MissingError(
        f"{entry.place}: field 'trace_id': {store} has no trace {entry.judgement.trace_id[:80]!r}. "
        "Export the judgements with their traces (`judgements export --with-traces`), or merge the whole "
        "database (`judgements merge`)."
    )


def _on_own_trace(judgement: Judgement, question: str, spellings: frozenset[str]) -> Judgement:
    if judgement.question.split() != question.split():
        raise InputError(
            f"field 'question' is {judgement.question[:80]!r}, but its trace asks {question[:80]!r}. Export "
            "it again."
        )
    typed = on_trace(replace(judgement, recalled=False), question, spellings)
    if judgement.recalled and not typed.recalled:
        raise InputError(
            f"field 'recalled' is true, but {judgement.answer[:80]!r} is no candidate of its trace. "
            "Export it again."
        )
    return typed


def _supported(judgement: Judgement, schema: int, texts: Callable[[str], Mapping[str, str]]) -> Judgement:
    """The judgement with its support checked on its trace; of the first schema, taken out of the note."""
    if judgement.support is not None:
        check_in_passages(judgement.support, texts(judgement.trace_id))
    elif schema == 1 and not judgement.recalled:
        note, support = out_of_note(judgement.note, texts(judgement.trace_id))
        return replace(judgement, note=note, support=support)
    return judgement


def _token(judgement: Judgement) -> str:
    """As earlier versions made it where they knew all of the judgement."""
    plain = to_plain(judgement)
    if judgement.support is None:
        del plain["support"]
    return f"import:{hashlib.sha256(to_json(plain).encode()).hexdigest()[:32]}"

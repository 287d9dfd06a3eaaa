"""Where collections are read and made into indexes: what was read of each, and the work that goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from rtv_core.corpus.collections import Collections, collections_folder
from rtv_core.corpus.documents import Documents
from rtv_core.corpus.intake import BAD_LINE_LIMIT, CorpusReport
from rtv_core.corpus.preview import Preview, read_ahead
from rtv_core.errors import InputError
from rtv_core.records import Passage
from rtv_core.retrieval.dense import Encoder
from rtv_core.retrieval.index import build_index
from rtv_core.retrieval.lock import alone
from rtv_core.ui.documents.work import Report, Worker
from rtv_core.ui.render.parts import counted
from rtv_core.ui.workbench import Workbench

__all__ = ["ENCODING", "READING", "WRITING", "Room"]

READING = "reading documents"
ENCODING = "encoding passages"
WRITING = "writing the index"
CHECKED = 20
"""Passages between two looks at whether to stop, while a corpus is read."""

BUSY = "Another server builds an index from documents beside the same judgements. Wait until that is done."


def default_encoder() -> Encoder:
    """The encoder with which `python -m rtv_core index` makes an index."""
    from rtv_core.retrieval.dense import SentenceEncoder

    return SentenceEncoder()


class Room:
    """The collections beside a workbench's store, the previews of some of them, and one worker.

    `encoder` makes what encodes the passages, once for each index.
    """

    def __init__(self, workbench: Workbench, encoder: Callable[[], Encoder] = default_encoder) -> None:
        self._workbench = workbench
        self._encoder = encoder
        self._previews: dict[str, tuple[str, Preview]] = {}
        self.worker = Worker()

    @property
    def collections(self) -> Collections:
        """The collections as they are now."""
        return Collections(collections_folder(self.store))

    @property
    def store(self) -> Path:
        """The file of judgements that they lie beside."""
        return self._workbench.store.path

    def preview(self, collection_id: str) -> Preview | None:
        """What was read of a collection; None if nothing was, or if it is another since."""
        stamp, preview = self._previews.get(collection_id, ("", None))
        return preview if preview and stamp == self.collections.stamp(collection_id) else None

    def read(self, collection_id: str) -> None:
        """Start to read a collection. Raises InputError without documents, or while other work goes on."""
        collections = self.collections
        documents, stamp = collections.documents(collection_id), collections.stamp(collection_id)

        def task(report: Report) -> str:
            preview = read_ahead(documents, lambda read, of, _: report(READING, read, of))
            self._previews[collection_id] = (stamp, preview)
            return ""

        _quiet_pypdf()
        self.worker.start("read", collection_id, collections.get(collection_id).name, task)

    def build(self, collection_id: str) -> None:
        """Start to build the index of a collection, or go on. Raises InputError as `read` does."""
        collections = self.collections
        documents = collections.documents(collection_id)
        stamp, out = collections.stamp(collection_id), collections.index(collection_id)

        def task(report: Report) -> str:
            def progress(done: int, total: int | None) -> None:
                if total is not None:
                    report(ENCODING if done < total else WRITING, done, total)

            report(READING, 0, None)
            corpus = _Watched(documents, report)
            encoder = self._encoder()
            with alone(collections.folder / "building.lock", BUSY):
                manifest = build_index(corpus, out, encoder, progress, overwrite=True)
                collections.note_built(collection_id, stamp)
            return f"The index is made: {counted(manifest.passages, 'passage')}."

        _quiet_pypdf()
        self.worker.start("build", collection_id, collections.get(collection_id).name, task)

    def refuse_busy(self, collection_id: str) -> None:
        """Raises InputError while the collection is read or built: then nothing of it may change."""
        work = self.worker.now()
        if work is not None and not work.ended and work.collection == collection_id:
            raise InputError("The collection is being read or built. Wait for that, or stop it.")


class _Watched:
    """Documents as a corpus whose reading is reported, passage by passage, so that it can be stopped."""

    def __init__(self, documents: Documents, report: Report) -> None:
        self.name = documents.name
        self._documents = documents
        self._report = report

    def sha256(self) -> str:
        return self._documents.sha256()

    def passages(
        self, report: CorpusReport | None = None, bad_limit: int = BAD_LINE_LIMIT
    ) -> Iterator[Passage]:
        for count, passage in enumerate(self._documents.passages(report, bad_limit)):
            if count % CHECKED == 0:
                self._report(READING, count, None)
            yield passage


def _quiet_pypdf() -> None:
    """It warns of each oddity of a file that can be read all the same."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)

"""A corpus made searchable: passages, their vectors and their words in one folder, whole or absent.

    manifest.json                          what it was made of, and a hash of every other file
    passages.jsonl  offsets.npy  ids.npy   the passages
    vectors.npy                            (passages, dimension), float16, unit length
    lexical/                               BM25

It is built in `<out>.partial` and renamed when all is there. Vectors go into shards as they are made, so a
build that was stopped goes on after its last whole shard. While it is built, `<out>.lock` is held.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rtv_core import __version__
from rtv_core.corpus.intake import BAD_LINE_LIMIT, CorpusReport
from rtv_core.corpus.sources import Corpus, open_corpus
from rtv_core.errors import InputError, MismatchError, RtvError
from rtv_core.records import Passage
from rtv_core.retrieval.dense import Encoder, passage_text
from rtv_core.retrieval.lexical import LEXICAL_FILES, build_lexical
from rtv_core.retrieval.lock import alone
from rtv_core.retrieval.manifest import (
    FORMAT,
    Manifest,
    read_manifest,
    rebuild,
    stamp_files,
    write_manifest,
)
from rtv_core.retrieval.passages import PASSAGE_FILES, PassageFile, write_passages
from rtv_core.wire import from_plain

__all__ = ["Index", "Progress", "build_index", "glance", "is_unfinished", "open_index"]

SHARD = 2048
"""Passages in a file of vectors: what a stopped build loses at most."""

STEP = 256
"""Passages between two reports of progress."""

READING_STEP = 1000
VECTORS = "vectors.npy"
LEXICAL = "lexical"
FILES = (*PASSAGE_FILES, VECTORS, *(f"{LEXICAL}/{name}" for name in LEXICAL_FILES))
STATE = "state.json"
MANIFEST = "manifest.json"
LIBRARIES = ("bm25s", "faiss-cpu", "numpy", "sentence-transformers", "torch", "transformers")

Progress = Callable[[int, int | None], None]
"""Called with the passages done and, once the corpus has been read, their number."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Index:
    """An open index. `vectors` is mapped from disk: (passages, dimension), float16."""

    folder: Path
    manifest: Manifest
    passages: PassageFile
    vectors: np.ndarray

    def __len__(self) -> int:
        return len(self.passages)

    def row(self, passage_id: str) -> int:
        """The row of a passage in `passages` and `vectors`. Raises KeyError for an id that isn't there."""
        return self.passages.row(passage_id)

    @property
    def lexical_folder(self) -> Path:
        """Where the BM25 files lie."""
        return self.folder / LEXICAL


def open_index(folder: Path | str, encoder_fingerprint: str | None = None) -> Index:
    """The index in `folder`, every file checked against the manifest.

    Raises MissingError if it isn't there; MismatchError if a file was cut off or changed, or if the vectors
    are not those of the encoder with `encoder_fingerprint`.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    remedy = rebuild(folder, manifest.corpus, manifest.encoder)
    if encoder_fingerprint not in (None, manifest.encoder_fingerprint):
        raise MismatchError(
            f"The index {folder} was built with the encoder {manifest.encoder} "
            f"({manifest.encoder_fingerprint[:12]}); the one in use is {encoder_fingerprint[:12]}. {remedy}"
        )
    _check_vouched(folder, manifest)
    try:
        index = Index(folder, manifest, PassageFile(folder), _load(folder / VECTORS))
    except (OSError, ValueError) as error:
        raise MismatchError(f"The index {folder} can't be read ({error}). {remedy}") from error
    expected = (manifest.passages, manifest.dimension)
    if index.vectors.shape != expected or len(index) != manifest.passages:
        raise MismatchError(
            f"The index {folder} holds {len(index):,} passages and vectors of shape {index.vectors.shape}; "
            f"its manifest says {expected}. {remedy}"
        )
    return index


def glance(folder: Path) -> Manifest | None:
    """What an index says of itself, its files unread; None if there is none, or one of another format."""
    try:
        plain = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return from_plain(Manifest, plain) if plain["format"] == FORMAT else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_unfinished(out: Path) -> bool:
    """Whether a build of `out` was begun, and would go on where it was."""
    return (_work(out) / STATE).is_file()


def build_index(
    corpus: Corpus | Path | str,
    out: Path | str,
    encoder: Encoder,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
    bad_line_limit: int = BAD_LINE_LIMIT,
    shard: int = SHARD,
) -> Manifest:
    """Read, encode and index a corpus into the folder `out`; a stopped build goes on where it was.

    A path stands for `open_corpus([path])`. The first progress report with a total says how far an earlier
    build had come. An existing index is replaced only if `overwrite`, and only once the new one is whole.
    Raises InputError for a corpus without passages or with too many bad lines, an `out` that is in the way,
    or one that somebody else is building; MissingError for an absent corpus.
    """
    out = Path(out)
    out = out if out.name else out.resolve()  # "." has no name to build beside
    _refuse_existing(out, overwrite)
    corpus = open_corpus([corpus]) if isinstance(corpus, Path | str) else corpus
    busy = f"The index {out} is being built already. Wait until that is done, or name another with --out."
    with alone(out.with_name(f"{out.name}.lock"), busy):
        return _build(corpus, out, encoder, progress or _no_progress, overwrite, bad_line_limit, shard)


def _build(
    corpus: Corpus,
    out: Path,
    encoder: Encoder,
    report: Progress,
    overwrite: bool,
    bad_line_limit: int,
    shard: int,
) -> Manifest:
    _refuse_existing(out, overwrite)  # whoever held the lock before may have put it there
    work = _work(out)
    state = _begin(work, _State(FORMAT, shard, corpus.sha256(), encoder.fingerprint), corpus)
    if state.passages is None:
        state = _read_corpus(corpus, work, state, report, bad_line_limit)
    passages = PassageFile(work)
    dimension = _encode(passages, work, encoder, report, shard)
    log.info("Indexing the words of %s passages", f"{len(passages):,}")
    shutil.rmtree(work / LEXICAL, ignore_errors=True)
    build_lexical(passages, work / LEXICAL)
    manifest = _manifest(work, corpus, encoder, state, dimension)
    write_manifest(work, manifest)
    _publish(work, out, overwrite)
    return manifest


def _work(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def _check_vouched(folder: Path, manifest: Manifest) -> None:
    if missing := set(FILES) - {stamp.path for stamp in manifest.files}:
        remedy = rebuild(folder, manifest.corpus, manifest.encoder)
        raise MismatchError(
            f"The manifest of the index {folder} does not vouch for {', '.join(sorted(missing))}. {remedy}"
        )


@dataclass(frozen=True, slots=True)
class _State:
    """What a build depends on, and the counts of its reading, once that is done."""

    format: int
    shard: int
    corpus: str
    encoder: str
    passages: int | None = None
    repeats: int = 0
    bad_lines: int = 0

    def differences(self, other: _State) -> list[str]:
        names = ("format", "shard", "corpus", "encoder")
        return [name for name in names if getattr(self, name) != getattr(other, name)]


def _refuse_existing(out: Path, overwrite: bool) -> None:
    if not out.exists():
        return
    if not (out / MANIFEST).is_file():
        raise InputError(f"{out} exists and is no index. Name another folder with --out.")
    if not overwrite:
        raise InputError(f"The index {out} exists. Name another folder with --out, or add --overwrite.")


def _begin(work: Path, state: _State, corpus: Corpus) -> _State:
    """The state to go on from: that of the earlier build in `work` if it was of the same things."""
    if work.exists() and any(work.iterdir()):
        earlier = _read_state(work)
        if not (changed := earlier.differences(state)):
            log.info("Going on with the unfinished index in %s", work)
            return earlier
        log.warning(
            "Starting over: the %s changed since %s was begun from %s",
            " and ".join(changed),
            work,
            corpus.name,
        )
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    _write_state(work, state)
    return state


def _read_state(work: Path) -> _State:
    try:
        return _State(**json.loads((work / STATE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{work} exists and is no unfinished index. Move it away, or change --out."
        ) from error


def _write_state(work: Path, state: _State) -> None:
    with _aside(work / STATE) as aside:
        aside.write_text(json.dumps(asdict(state), sort_keys=True) + "\n", encoding="utf-8")


def _read_corpus(
    corpus: Corpus, work: Path, state: _State, progress: Progress, bad_line_limit: int
) -> _State:
    report = CorpusReport()
    try:
        passages = _counted(corpus.passages(report, bad_line_limit), progress)
        write_passages(passages, work)
        if not report.passages:
            reason = f" ({report.reasons[0]})" if report.reasons else ""
            raise InputError(f"{corpus.name} holds no passages{reason}. Give another.")
    except RtvError:
        shutil.rmtree(work)
        raise
    log.info(
        "%s: %s passages, %s exact repeats dropped, %s bad lines, rows or files skipped",
        corpus.name,
        *(f"{count:,}" for count in (report.passages, report.repeats, report.bad_lines)),
    )
    state = _State(**asdict(state) | {n: getattr(report, n) for n in ("passages", "repeats", "bad_lines")})
    _write_state(work, state)
    return state


def _counted(passages: Iterator[Passage], progress: Progress) -> Iterator[Passage]:
    for count, passage in enumerate(passages, 1):
        yield passage
        if count % READING_STEP == 0:
            progress(count, None)


def _encode(passages: PassageFile, work: Path, encoder: Encoder, progress: Progress, shard: int) -> int:
    """Fill the shards that are missing, join them; returns the dimension."""
    (work / "shards").mkdir(exist_ok=True)
    ranges = [range(at, min(at + shard, len(passages))) for at in range(0, len(passages), shard)]
    shards = [work / "shards" / f"{rows.start:010}.npy" for rows in ranges]
    missing = [pair for pair in zip(ranges, shards, strict=True) if not _holds(pair[1], len(pair[0]))]
    done = len(passages) - sum(len(rows) for rows, _ in missing)
    progress(done, len(passages))
    for rows, path in missing:
        parts = []
        for at in range(rows.start, rows.stop, STEP):
            step = range(at, min(at + STEP, rows.stop))
            parts.append(encoder.encode([passage_text(passages[row]) for row in step]))
            done += len(step)
            progress(done, len(passages))
        with _aside(path) as aside, aside.open("wb") as file:
            np.save(file, np.concatenate(parts).astype(np.float16), allow_pickle=False)
    return _join(shards, work / VECTORS, len(passages))


def _holds(shard: Path, rows: int) -> bool:
    try:
        return len(_load(shard)) == rows
    except (OSError, ValueError):  # absent, or cut off when the machine went down
        return False


def _join(shards: Iterable[Path], target: Path, passages: int) -> int:
    first, *_ = parts = [_load(shard) for shard in shards]
    shape = (passages, first.shape[1])
    vectors = np.lib.format.open_memmap(target, "w+", np.float16, shape)  # (passages, dimension)
    np.concatenate(parts, out=vectors)
    vectors.flush()
    return shape[1]


def _manifest(work: Path, corpus: Corpus, encoder: Encoder, state: _State, dimension: int) -> Manifest:
    return Manifest(
        format=FORMAT,
        corpus=corpus.name,
        corpus_sha256=state.corpus,
        passages=state.passages,
        repeats=state.repeats,
        bad_lines=state.bad_lines,
        encoder=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        dimension=dimension,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=MappingProxyType(_versions()),
        files=stamp_files(work, FILES),
    )


def _versions() -> dict[str, str]:
    versions = {"rtv": __version__}
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return versions


def _publish(work: Path, out: Path, overwrite: bool) -> None:
    _refuse_existing(out, overwrite)  # someone may have put it there in the meantime
    former = out.with_name(f"{out.name}.former")
    if out.exists():
        shutil.rmtree(former, ignore_errors=True)  # left when an earlier build died right here
        out.rename(former)
    work.rename(out)
    shutil.rmtree(former, ignore_errors=True)
    shutil.rmtree(out / "shards")
    (out / STATE).unlink()


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` once it is whole."""
    aside = path.with_name(f"{path.name}.tmp")
    yield aside
    aside.replace(path)


def _load(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _no_progress(done: int, total: int | None) -> None:
    pass

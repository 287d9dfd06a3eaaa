"""What encode-once saves: stages at several |B|, |A| and k, beside a verifier that reads everything again.

Part of `python -m benchmarks.speed`. Encode-once reads each (question, passage) a single time: verification
uses what was read for recall. Naive re-reading puts each candidate beside the question and encodes its k
evidence passages anew, as Fusion-in-Decoder does: |A| x k more pairs, all handed to the encoder at once. Only
their encoding is timed; what a verifier would do with the states comes on top.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import mean

import torch
from tqdm import tqdm

from rtv_core.factory import Models
from rtv_core.reading.reader import Reader
from rtv_core.recall.merge import unite
from rtv_core.records import EVIDENCE_SIZES, Evidence
from rtv_core.settings import Settings

__all__ = [
    "CANDIDATES",
    "PASSAGES",
    "Grid",
    "Spent",
    "encoder_gflop",
    "measure_grid",
    "peak_gflops",
    "render_grid",
]

PASSAGES, CANDIDATES, SIZES = (20, 50, 100), (10, 30, 60), EVIDENCE_SIZES


@dataclass
class Spent:
    """Wall and CPU seconds of each question."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def time(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    @property
    def text(self) -> str:
        return f"{mean(self.wall):.2f} / {mean(self.cpu):.2f}"


@dataclass
class Grid:
    """Seconds by part: `read` by |B|, `gather` by (|B|, |A|), `verify` and `again` by (|B|, |A|, k).

    `candidates` counts, by (|B|, |A|), the candidates of each question: a question may have fewer than |A|.
    `gflop` is what one question's encoder passes take at the largest |B|, and `encode` the seconds they took.
    """

    read: dict[int, Spent] = field(default_factory=dict)
    gather: dict[tuple[int, int], Spent] = field(default_factory=dict)
    verify: dict[tuple[int, int, int], Spent] = field(default_factory=dict)
    again: dict[tuple[int, int, int], Spent] = field(default_factory=dict)
    candidates: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    encode: Spent = field(default_factory=Spent)
    gflop: list[float] = field(default_factory=list)


def measure_grid(models: Models, settings: Settings, questions: Sequence[str]) -> Grid:
    """Every cell of the grid, once a question; the first question is asked once before, to warm up."""
    reader = models.reader.under(settings.reader.backend)
    grid = Grid()
    for number, question in enumerate(tqdm([questions[0], *questions], desc="grid")):
        for passages in PASSAGES:
            _measure(models, settings, reader, question, passages, grid if number else Grid())
    return grid


def _measure(
    models: Models, settings: Settings, reader: Reader, question: str, passages: int, grid: Grid
) -> None:
    new = Reader(reader.network, reader.form, encoder=reader.encoder)
    pipeline = replace(models, reader=new).pipeline(settings.with_values({"retriever.passages": passages}))
    hits = tuple(pipeline.retriever.search([question], passages)[0])
    with grid.read.setdefault(passages, Spent()).time():
        readings = pipeline.recaller.recall(question, hits)
    for most in CANDIDATES:
        recaller = replace(settings.recaller, candidates=most)
        candidates = unite(hits, readings, recaller)
        grid.candidates.setdefault((passages, most), []).append(len(candidates))
        with grid.gather.setdefault((passages, most), Spent()).time():
            evidence = pipeline.gatherer.gather(question, candidates, hits)
        for k in SIZES:
            cut = [replace(body, passages=body.passages[:k]) for body in evidence]
            with grid.verify.setdefault((passages, most, k), Spent()).time():
                pipeline.verifier.verify(question, cut)
            if passages == max(PASSAGES):
                with grid.again.setdefault((passages, most, k), Spent()).time():
                    _read_again(new, question, cut)
    if passages == max(PASSAGES):
        batches = new.batches(question, [hit.passage for hit in hits])
        with grid.encode.time():
            new.encoder.encode(batches)
        grid.gflop.append(sum(encoder_gflop(new, len(ids), ids.shape[1]) for ids, _, _ in batches))


def _read_again(reader: Reader, question: str, evidence: Sequence[Evidence]) -> None:
    """A reading of its own for each candidate's every passage, with the candidate in the question."""
    batches = [
        batch
        for body in evidence
        for batch in reader.batches(
            f"{question} {body.candidate.answer}", [passage.hit.passage for passage in body.passages]
        )
    ]
    reader.encoder.encode(batches)


def encoder_gflop(reader: Reader, pairs: int, tokens: int) -> float:
    """Multiplications and additions of one batch, padding included, in 10^9.

    Of each layer and token 24 w^2 in the six matrices and 4 w t in attention, for width w and t tokens.
    """
    config = reader.network.encoder.config
    width, wide = config.hidden_size, config.intermediate_size
    a_token = 8 * width**2 + 4 * width * wide + 4 * width * tokens
    return pairs * tokens * config.num_hidden_layers * a_token / 1e9


def peak_gflops(dtype: torch.dtype, seconds: float = 1.0, size: int = 2048) -> float:
    """The fastest product of two square matrices that torch manages here, in 10^9 operations a second."""
    one, other = (torch.randn(size, size).to(dtype) for _ in range(2))
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        one @ other
        best = max(best, 2 * size**3 / (time.perf_counter() - start) / 1e9)
    return best


def render_grid(grid: Grid, peak: float, backend: str) -> str:
    """The tables, and how near reading comes to the peak."""
    names = ["passages", "read", *(f"gather, {a} candidates" for a in CANDIDATES), "verify the most, k = 10"]
    lines = ["", "Mean seconds a question, wall / CPU. Read: encode all passages and recall from them.", ""]
    lines += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for b in PASSAGES:
        cells = [grid.read[b].text, *(grid.gather[b, a].text for a in CANDIDATES)]
        cells.append(grid.verify[b, max(CANDIDATES), max(SIZES)].text)
        lines.append(f"| {b} | {' | '.join(cells)} |")
    most = max(PASSAGES)
    lines += [
        "",
        f"Encode once beside naive re-reading of evidence: {most} passages, all but retrieval.",
        "",
    ]
    lines += [
        "| candidates | k | encode once | naive re-reading | times as much CPU |",
        "|---|---|---|---|---|",
    ]
    for a in CANDIDATES:
        for k in SIZES:
            once, naive = _both(grid, most, a, k)
            ratio = mean(naive.cpu) / mean(once.cpu)
            lines.append(
                f"| {mean(grid.candidates[most, a]):.0f} | {k} | {once.text} | {naive.text} | {ratio:.1f} |"
            )
    rate = mean(gflop / wall for gflop, wall in zip(grid.gflop, grid.encode.wall, strict=True))
    lines += [
        "",
        f"Encoding {most} passages ({backend}) is {mean(grid.gflop):,.0f} GFLOP in {grid.encode.text} s: "
        f"{rate:,.0f} GFLOP/s, {100 * rate / peak:.0f} % of the {peak:,.0f} of a matrix product here.",
    ]
    return "\n".join(lines) + "\n"


def _both(grid: Grid, passages: int, candidates: int, k: int) -> tuple[Spent, Spent]:
    """All stages but retrieval: encode once, and with every passage read again for every candidate."""
    first = grid.read[passages], grid.gather[passages, candidates]
    return _sum(*first, grid.verify[passages, candidates, k]), _sum(
        *first, grid.again[passages, candidates, k]
    )


def _sum(*parts: Spent) -> Spent:
    walls, cpus = (
        zip(*(part.wall for part in parts), strict=True),
        zip(*(part.cpu for part in parts), strict=True),
    )
    return Spent([sum(wall) for wall in walls], [sum(cpu) for cpu in cpus])

"""Figure 4: F1 for every evidence size k and threshold tau, from the scores of the traces. No model runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import FIGURE_4, SOURCE
from rtv_core.experiments.table import Cell, Chart, Row, Series, Table
from rtv_core.experiments.tally import Tally, answer_values
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.thresholds import TAUS, answers, judge

__all__ = ["run"]

LOW_TAUS = (0.05, 0.1, 0.15, 0.2)
"""Beside the paper's: where the best threshold of a small reader's calibrated scores lies."""


def run(bench: Bench) -> Table:
    """One line a tau, one column a k, and where F1 is highest."""
    used = bench.settings.verifier
    taus = sorted({*LOW_TAUS, *TAUS, used.tau})
    tallies = {(k, tau): Tally() for k in EVIDENCE_SIZES for tau in taus}
    for trace in bench.traces():
        for (k, tau), tally in tallies.items():
            found = answers(judge(trace, replace(used, k=k, tau=tau)))
            tally.add(trace.question, **answer_values(found, trace.question))
    cells = {place: tally.mean("f1") for place, tally in tallies.items()}
    k, tau = max(cells, key=lambda place: (_worth(cells[place]), -place[1], -place[0]))
    rows = [
        Row(
            f"tau = {tau:g}" + (" (in use)" if tau == used.tau else ""),
            tuple(cells[k, tau] for k in EVIDENCE_SIZES),
            FIGURE_4.get(tau, ""),
        )
        for tau in taus
    ]
    return Table(
        "figure4",
        f"Figure 4: F1 by k and tau, {bench.label}",
        "threshold",
        tuple(f"F1, k = {k}" for k in EVIDENCE_SIZES),
        tuple(rows),
        f"{SOURCE}, AmbigQA dev",
        (
            tallies[k, tau].note,
            f"Highest: k = {k}, tau = {tau:g}. Choose k and tau on dev questions only. F1 by the official "
            "matching.",
        ),
        (_chart(cells, taus),),
        bench.provenance,
    )


def _worth(cell: Cell) -> float:
    """F1(all) + F1(multi), by which the paper chooses."""
    return cell.all.mean + (cell.multi.mean if cell.multi else 0)


def _chart(cells: Mapping[tuple[int, float], Cell], taus: Sequence[float]) -> Chart:
    series = []
    for k in EVIDENCE_SIZES:
        means = [cells[k, tau].all for tau in taus]
        points = tuple((tau, 100 * mean.mean) for tau, mean in zip(taus, means, strict=True))
        series.append(Series(f"k = {k}", points, tuple((100 * m.low, 100 * m.high) for m in means)))
    ticks = tuple((tau / 10, f"{tau / 10:g}") for tau in range(0, 11, 2))
    return Chart("F1 by k and tau", "tau", "F1, %", tuple(series), ticks)

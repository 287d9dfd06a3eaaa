"""Table 9: single-answer mode, where the best candidate alone is the answer."""

from __future__ import annotations

from dataclasses import replace

from rtv_core.baselines.systems import Baseline
from rtv_core.experiments.bars import bars_of
from rtv_core.experiments.bench import OURS, Bench, is_trained_reader
from rtv_core.experiments.published import SOURCE, TABLE_9
from rtv_core.experiments.table import Row, Table
from rtv_core.experiments.tally import Tally
from rtv_core.metrics import exact_match
from rtv_core.records import Trace
from rtv_core.thresholds import answers, judge

__all__ = ["run"]


def run(bench: Bench) -> Table:
    """Exact match of the best candidate of the pipeline and of the other systems."""
    ours = _scored(bench, None)
    rows = [Row(OURS, (ours.mean("exact_match"), None), TABLE_9["RTV"])]
    for system in bench.baselines():
        tally = _scored(bench, system)
        cells = (tally.mean("exact_match"), ours.ahead(tally, "exact_match"))
        rows.append(Row(system.name, cells, TABLE_9["JPR"] if is_trained_reader(system) else ""))
    if not any(row.published == TABLE_9["JPR"] for row in rows):
        rows.append(Row("JPR", published=TABLE_9["JPR"]))
    rows.append(Row("FiD", published=TABLE_9["FiD"]))
    return Table(
        "table9",
        f"Table 9: single-answer mode, {bench.label}",
        "system",
        ("exact match of the best candidate", f"{OURS}: ahead by"),
        tuple(rows),
        f"{SOURCE}, NQ",
        (ours.note, "A candidate is right if it equals any spelling of any gold answer."),
        (bars_of("The best candidate alone", "exact match, %", rows, 0),),
        provenance=bench.provenance,
    )


def _scored(bench: Bench, system: Baseline | None) -> Tally:
    tally = Tally()
    for trace in bench.read_by(system) if system else bench.traces():
        best = _best(trace, bench)
        tally.add(trace.question, exact_match=exact_match(best, trace.question.answers))
    return tally


def _best(trace: Trace, bench: Bench) -> list[str]:
    return answers(judge(trace, replace(bench.settings.verifier, single_answer=True)))

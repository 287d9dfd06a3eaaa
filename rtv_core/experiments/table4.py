"""Table 4: the answers of every system at hand, beside those that were published."""

from __future__ import annotations

from rtv_core.experiments.bars import bars_of
from rtv_core.experiments.bench import OURS, Bench, is_trained_reader
from rtv_core.experiments.published import SOURCE, TABLE_4
from rtv_core.experiments.table import Row, Table
from rtv_core.experiments.tally import Tally, answer_values

__all__ = ["run"]


def run(bench: Bench) -> Table:
    """F1 under both matchings, with what is behind it, of the pipeline and of the other systems."""
    ours = Tally()
    for trace in bench.traces():
        ours.add(trace.question, **answer_values(bench.predict(trace), trace.question))
    rows = [Row(OURS, _cells(ours, None), TABLE_4["RTV"])]
    for system in bench.baselines():
        tally = Tally()
        for trace in bench.read_by(system):
            tally.add(trace.question, **answer_values(bench.predict(trace, system), trace.question))
        rows.append(
            Row(system.name, _cells(tally, ours), TABLE_4["JPR"] if is_trained_reader(system) else "")
        )
    if not any(row.published == TABLE_4["JPR"] for row in rows):
        rows.append(Row("JPR", published=TABLE_4["JPR"]))
    rows.append(Row("Refuel", published=TABLE_4["Refuel"]))
    return Table(
        "table4",
        f"Table 4: answers, {bench.label}",
        "system",
        ("F1, official", "F1, optimal", "precision", "recall", "#Hit", "answers", f"{OURS}: ahead by"),
        tuple(rows),
        f"{SOURCE}; official F1",
        (
            ours.note,
            f"Each system has its own tau, chosen before: {OURS} {bench.settings.verifier.tau:g}. Ahead: "
            "official F1, paired by question.",
        ),
        (bars_of("Answers, system by system", "F1, official, %", rows, 0),),
        provenance=bench.provenance,
    )


def _cells(tally: Tally, ours: Tally | None) -> tuple:
    return (
        tally.mean("f1"),
        tally.mean("f1_optimal"),
        tally.mean("precision"),
        tally.mean("recall"),
        tally.total("hits"),
        tally.mean("answers", scale=1),
        ours.ahead(tally, "f1") if ours else None,
    )

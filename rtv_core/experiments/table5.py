"""Tables 5 and 10: recallers of different strictness, alone and with verification.

The paper varies alpha_neg, the share of irrelevant passages in the recaller's training. That is no knob of a
trained recaller; its cousin is: the threshold on a passage's relevance, which is swept here, without a model.
Recallers that were trained with other alpha_neg come as further profiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rtv_core.baselines.systems import OtherPipeline
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import SOURCE, TABLE_5
from rtv_core.experiments.table import Chart, Row, Series, Table
from rtv_core.experiments.tally import Tally, answer_values
from rtv_core.recall.merge import unite
from rtv_core.records import Candidate, Trace, Verdict
from rtv_core.settings import RecallerSettings
from rtv_core.text import answer_key
from rtv_core.thresholds import answers, judge

__all__ = ["RELEVANCES", "run", "sweep", "under"]

RELEVANCES = (0.02, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""The thresholds that are tried beside the one in use; below that one nothing was recalled."""


SWEPT = (
    "here one trained recaller's threshold on relevance is swept, and a candidate keeps the validity score "
    "that its evidence was given."
)
UNSWEPT = "a language model only says whether a passage answers, so that there is no threshold to sweep."


def run(bench: Bench) -> Table:
    """The sweep beside the paper's table 5."""
    return sweep(bench, "table5", "Table 5", TABLE_5, f"{SOURCE}, AmbigQA dev")


def sweep(bench: Bench, name: str, title: str, published: Sequence[tuple[str, str]], source: str) -> Table:
    """The recaller alone and verified, for thresholds on relevance from lax to strict; then other profiles.

    A language model only says whether a passage answers: under that system there is nothing to sweep.
    """
    used = bench.settings.recaller.relevance
    swept = bench.settings.system != "llm"
    relevances = sorted({used, *(r for r in RELEVANCES if r > used and swept)})
    alone = {relevance: Tally() for relevance in relevances}
    both = {relevance: Tally() for relevance in relevances}
    for trace in bench.traces():
        for relevance in relevances:
            own = replace(bench.settings.recaller, relevance=relevance)
            kept = under(trace, own) if swept else trace
            given = [candidate.answer for candidate in kept.candidates]
            alone[relevance].add(trace.question, **answer_values(given, trace.question))
            found = answers(judge(kept, bench.settings.verifier))
            both[relevance].add(trace.question, **answer_values(found, trace.question))
    tau = bench.settings.verifier.tau
    rows = [Row(f"relevance at least {r:g}", _cells(tally)) for r, tally in alone.items()]
    rows += [Row(f"relevance at least {r:g}, verified, tau {tau:g}", _cells(t)) for r, t in both.items()]
    for system in bench.baselines():
        if isinstance(system, OtherPipeline):
            rows += _of_profile(bench, system)
    rows += [Row(f"published: {system}", published=figures) for system, figures in published]
    return Table(
        name,
        f"{title}: the recaller alone and verified, {bench.label}",
        "recaller",
        ("|A|", "#Hit", "recall", "precision", "F1"),
        tuple(rows),
        source,
        (
            alone[relevances[0]].note,
            f"The paper trains recallers of different alpha_neg; {SWEPT if swept else UNSWEPT} A profile "
            "named by --baseline adds its own recaller. F1 by the official matching.",
        ),
        (_chart(relevances, alone, both),) if swept else (),
        bench.provenance,
    )


def _of_profile(bench: Bench, system: OtherPipeline) -> list[Row]:
    """Another profile's recaller alone, and verified at its own tau."""
    alone, both = Tally(), Tally()
    for trace in bench.read_by(system):
        given = [candidate.answer for candidate in trace.candidates]
        alone.add(trace.question, **answer_values(given, trace.question))
        both.add(trace.question, **answer_values(bench.predict(trace, system), trace.question))
    return [
        Row(system.name, _cells(alone)),
        Row(f"{system.name}, verified, tau {system.tau:g}", _cells(both)),
    ]


def under(trace: Trace, settings: RecallerSettings) -> Trace:
    """The trace as a stricter recaller would have left it; candidates keep the verdicts of their answers."""
    verdicts = {answer_key(c.answer): v for c, v in zip(trace.candidates, trace.verdicts, strict=False)}
    found: list[tuple[Candidate, Verdict]] = []
    for candidate in unite(trace.hits, trace.readings, settings):
        if (verdict := verdicts.get(answer_key(candidate.answer))) is not None:
            found.append((candidate, verdict))
    return trace.grown(
        candidates=tuple(candidate for candidate, _ in found),
        verdicts=tuple(verdict for _, verdict in found),
        evidence=(),
    )


def _cells(tally: Tally) -> tuple:
    shares = (tally.mean(name) for name in ("recall", "precision", "f1"))
    return tally.mean("answers", scale=1), tally.total("hits"), *shares


def _chart(relevances: Sequence[float], alone: dict[float, Tally], both: dict[float, Tally]) -> Chart:
    lines = (
        ("recall, recaller alone", alone, "recall"),
        ("precision, recaller alone", alone, "precision"),
        ("F1, recaller alone", alone, "f1"),
        ("F1, verified", both, "f1"),
    )
    series = []
    for name, tallies, measure in lines:
        means = [tallies[relevance].mean(measure).all for relevance in relevances]
        points = tuple((float(i), 100 * mean.mean) for i, mean in enumerate(means))
        series.append(Series(name, points, tuple((100 * mean.low, 100 * mean.high) for mean in means)))
    ticks = tuple((float(i), f"{relevance:g}") for i, relevance in enumerate(relevances))
    return Chart("Recaller alone and verified", "lowest relevance of a passage", "%", tuple(series), ticks)

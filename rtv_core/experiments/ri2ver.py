"""RI2VER's ablation: the whole mode, the mode without one of its parts, and reading the top passages at once.

Needs the profile "llm". Lines share every prompt that they have in common: it is asked once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rtv_core.errors import SettingError
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.table import Cell, Row, Table
from rtv_core.experiments.tally import Tally
from rtv_core.llm.exchanges import tally as count_exchanges
from rtv_core.metrics import score_labels, score_qampari, score_qampari_5
from rtv_core.ri2ver import PARTS, exchanges_behind

__all__ = ["VARIANTS", "run"]

WHOLE = "RI2VER-style"

_RAG = {**PARTS["reading apart"], **PARTS["verification"]}

VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        WHOLE: {},
        "without verification question": PARTS["verification question"],
        "without additional evidence": PARTS["additional evidence"],
        "concatenated reading": PARTS["reading apart"],
        "without verification": PARTS["verification"],
        "RAG top-50": _RAG | {"retriever.passages": 50},
        "RAG top-10": _RAG | {"retriever.passages": 10},
    }
)
"""The lines of the table, and what each changes in the settings."""

PUBLISHED = MappingProxyType(
    {
        WHOLE: "49.8 / 45.7",
        "without verification question": "46.8 / 42.9",
        "without additional evidence": "45.2 / 41.0",
        "concatenated reading": "44.5 / 40.8",
        "without verification": "42.1 / 37.3",
        "RAG top-50": "37.8 / 31.4",
        "RAG top-10": "34.2 / 28.7",
        "Self-RAG": "38.1 / 33.2",
    }
)
"""F1 on QAMPARI / RoMQA with the largest model, as one summary of the paper has it."""

SOURCE = "F1 on QAMPARI / RoMQA, largest model; reported in a summary of Chen et al., 2025, unconfirmed"

COLUMNS = (
    "F1",
    "precision",
    "recall",
    "recall >= .8",
    "F1 >= .5",
    "F1-5",
    "answers",
    f"{WHOLE}: ahead by",
    "calls",
    "tokens",
    "not understood",
)
ROMQA = ("RoMQA F1", "RoMQA F1, worst of each cluster")
"""More columns, for questions with clusters: RoMQA's own rule, and its robust form."""


def run(bench: Bench) -> Table:
    """Every line over the same questions, by QAMPARI's rule, with what it asks of the model.

    Questions with clusters are scored by RoMQA's rule too. Calls and tokens are what a line would ask by
    itself. Raises SettingError under another profile.
    """
    if bench.settings.system != "llm":
        raise SettingError(
            f"The profile {bench.settings.profile!r} asks no language model. Run it with --profile llm; "
            "assets/llm.md shows how to name a model."
        )
    rows, whole = [], Tally()
    for name, values in VARIANTS.items():
        line = _line(bench, values)
        whole = line if name == WHOLE else whole
        cells = _cells(line, None if name == WHOLE else whole)
        if bench.clusters:
            cells += (line.mean("labels"), line.robust("labels", bench.clusters))
        rows.append(Row(name, cells, PUBLISHED.get(name, "")))
    rows += [Row(name, published=figures) for name, figures in PUBLISHED.items() if name not in VARIANTS]
    notes = (
        whole.note,
        f"tau {bench.settings.verifier.tau:g}, the same in every line. F1, precision and recall as QAMPARI "
        "counts them; F1-5 caps recall at five answers. Ahead: F1, paired by question.",
        "Calls and tokens are means a question, both ways, as if nothing were cached; calls that were not "
        "understood are malformed or refused replies.",
        "The published figures come from a summary, other sources contradict them, and the paper's prompts "
        "are not public: only their order can be compared.",
    )
    if bench.clusters:
        count = len({bench.clusters[q.id] for q in bench.asked})
        notes += (
            "RoMQA's rule: predictions equal to a label, first annotation, no alias; "
            f"{count} clusters of related questions, of each the question with the least F1.",
        )
    return Table(
        "ri2ver",
        f"RI2VER's ablation, {bench.label}",
        "system",
        COLUMNS + (ROMQA if bench.clusters else ()),
        tuple(rows),
        SOURCE,
        notes,
        provenance=bench.provenance,
    )


def _line(bench: Bench, values: Mapping[str, Any]) -> Tally:
    settings = bench.settings.with_values(values)
    pipeline = bench.models.pipeline(settings)
    line = Tally()
    for trace in bench.traces(settings):
        predicted, gold = bench.predict(trace), trace.question.answers
        score, capped = score_qampari(predicted, gold), score_qampari_5(predicted, gold)
        found = count_exchanges(exchanges_behind(pipeline, trace))
        line.add(
            trace.question,
            f1=score.f1,
            precision=score.precision,
            recall=score.recall,
            recall_8=score.recall >= 0.8,
            f1_half=score.f1 >= 0.5,
            f1_5=capped.f1,
            answers=len(predicted),
            calls=found.exchanges,
            tokens=found.tokens_in + found.tokens_out,
            labels=score_labels(predicted, [spellings[0] for spellings in gold[0]]).f1,
            lost=found.of("malformed") + found.of("refused"),
        )
    return line


def _cells(line: Tally, whole: Tally | None) -> tuple[Cell | None, ...]:
    return (
        line.mean("f1"),
        line.mean("precision"),
        line.mean("recall"),
        line.mean("recall_8"),
        line.mean("f1_half"),
        line.mean("f1_5"),
        line.mean("answers", scale=1),
        whole.ahead(line, "f1") if whole else None,
        line.mean("calls", scale=1),
        line.mean("tokens", scale=1, digits=0),
        line.mean("lost", scale=1),
    )

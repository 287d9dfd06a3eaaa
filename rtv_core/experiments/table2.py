"""Table 2: which passages the reader gets (an oracle's, a trained reranker's) and what it makes of them."""

from __future__ import annotations

from rtv_core.baselines.systems import READ, Baseline, RerankThenRead
from rtv_core.experiments.bars import bars_of
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import SOURCE, TABLE_2, TABLE_8
from rtv_core.experiments.table import Row, Table
from rtv_core.experiments.tally import Tally, answer_values
from rtv_core.metrics import covered_answers, mrecall_at
from rtv_core.records import Hit, Question

__all__ = ["run"]

ORACLE, RETRIEVED = "oracle rerank", "retrieval order"
PUBLISHED = {ORACLE: TABLE_2["OPR"], RETRIEVED: TABLE_8["retriever"]}


def run(bench: Bench) -> Table:
    """MRecall of the reranked passages, and F1 of the reader that gets the first ten.

    Without a trained reader among the other systems only the oracle's and the retriever's order are measured.
    """
    readers = [system for system in bench.baselines() if isinstance(system, RerankThenRead)]
    lines = {system.reranker.name: _read(bench, system) for system in readers} or _orders(bench)
    own = Tally()
    for trace in bench.traces():
        own.add(trace.question, **answer_values(bench.predict(trace), trace.question))
    rows = [
        Row(f"{name}, then read" if readers else name, _cells(tally), PUBLISHED.get(name, TABLE_2["JPR"]))
        for name, tally in lines.items()
    ]
    rows.append(Row("recall, then verify (reads all passages)", (*(None,) * 3, *_answer_cells(own))))
    notes = [own.note, "MRecall and coverage look at passage texts, strictly; F1 by the official matching."]
    if not readers:
        notes.append(
            "No reader was named by --baseline: train one with `python -m rtv_core train joint-reader`."
        )
    return Table(
        "table2",
        f"Table 2: reranking, {bench.label}",
        "reranker",
        ("MRecall@5", "MRecall@10", "gold answers covered @10", "F1", "#Hit"),
        tuple(rows),
        f"{SOURCE}, AmbigQA dev",
        tuple(notes),
        (bars_of("Answers from reranked passages", "F1, %", rows, 3),) if readers else (),
        provenance=bench.provenance,
    )


def _read(bench: Bench, system: Baseline) -> Tally:
    tally = Tally()
    for trace in bench.read_by(system):
        values = answer_values(bench.predict(trace, system), trace.question)
        tally.add(trace.question, **values, **_passage_values(trace.hits, trace.question))
    return tally


def _orders(bench: Bench) -> dict[str, Tally]:
    """The orders of the passages that need no trained model."""
    from rtv_core.baselines.rerank import OracleReranker, RetrievalOrder

    orders = {reranker.name: (reranker, Tally()) for reranker in (OracleReranker(), RetrievalOrder())}
    for trace in bench.traces():
        for reranker, tally in orders.values():
            hits = reranker.rank(trace.question, trace.hits)
            tally.add(trace.question, **_passage_values(hits, trace.question))
    return {name: tally for name, (_, tally) in orders.items()}


def _passage_values(hits: tuple[Hit, ...] | list[Hit], question: Question) -> dict[str, float]:
    texts = [hit.passage.text for hit in hits[:READ]]
    covered = max(sum(covered_answers(texts, annotation)) for annotation in question.answers)
    return {f"mrecall@{k}": mrecall_at(k, texts, question.answers) for k in (5, READ)} | {"covered": covered}


def _cells(tally: Tally) -> tuple:
    passages = (tally.mean("mrecall@5"), tally.mean(f"mrecall@{READ}"), tally.total("covered"))
    return (*passages, *_answer_cells(tally))


def _answer_cells(tally: Tally) -> tuple:
    return tally.mean("f1"), tally.total("hits")

"""One question's result as a plain structure: what `ask --json` prints."""

from __future__ import annotations

from typing import Any

from rtv_core.records import EVIDENCE_SIZES, Trace
from rtv_core.settings import Settings
from rtv_core.thresholds import judge
from rtv_core.wire import to_plain

__all__ = ["answer_report"]


def answer_report(trace: Trace, settings: Settings) -> dict[str, Any]:
    """The candidates best first, each with its scores and evidence; passages once, by id."""
    predictions = judge(trace, settings.verifier)
    used = {p.hit.passage.id: p.hit.passage for body in trace.evidence for p in body.passages}
    return {
        "question": trace.question.text,
        "answers": [p.answer for p in predictions if p.accepted],
        "candidates": [
            {
                "answer": p.answer,
                "accepted": p.accepted,
                "fallback": p.fallback,
                "p_right": {str(k): trace.verdicts[p.index].at(k) for k in EVIDENCE_SIZES},
                "recall_score": trace.candidates[p.index].score,
                "spellings": list(trace.candidates[p.index].spellings),
                "evidence": [
                    {
                        "covers": list(passage.covers),
                        "passage": passage.hit.passage.id,
                        "rank": passage.hit.rank,
                        "recalled": passage.recalled,
                        "similarity": passage.similarity,
                    }
                    for passage in trace.evidence[p.index].passages
                ],
            }
            for p in predictions
        ],
        "passages": {name: to_plain(passage) for name, passage in sorted(used.items())},
        "tau": settings.verifier.tau,
        "k": settings.verifier.k,
        "seconds": dict(trace.seconds),
        "provenance": dict(trace.provenance),
    }

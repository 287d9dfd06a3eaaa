"""At which stage gold answers were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rtv_core.analysis.shares import Share, share
from rtv_core.records import LOST, RunQuestion

__all__ = ["stage_blame"]


def stage_blame(questions: Sequence[RunQuestion]) -> tuple[Share, ...]:
    """For each of `LOST`, how many gold answers it became of, with the Wilson interval of their share.

    Stages that can't be told apart without passages ("not predicted", or else the first four) are left out
    where they have none. The intervals take gold answers for independent of each other.
    """
    counts = Counter(gold.lost for question in questions for gold in question.gold)
    of = counts.total()
    blind = counts["not predicted"] and not any(counts[stage] for stage in LOST[:4])
    named = ("predicted", "not predicted") if blind else LOST[:5]
    return tuple(share(stage, counts[stage], of) for stage in LOST if stage in named or counts[stage])

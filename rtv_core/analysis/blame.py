"""At which stage gold answers were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rtv_core.analysis.shares import Share, share
from rtv_core.records import LOST, RunQuestion

__all__ = ["stage_blame"]

PREDICTED, UNKNOWN = LOST[4:]


def stage_blame(questions: Sequence[RunQuestion]) -> tuple[Share, ...]:
    """For each of `LOST`, how many gold answers it became of, with the Wilson interval of their share.

    Where a system's passages aren't known ("not predicted" occurs), stages that lost nothing are left out: it
    can't be told. The intervals take gold answers for independent of each other.
    """
    counts = Counter(gold.lost for question in questions for gold in question.gold)
    named = (PREDICTED,) if counts[UNKNOWN] else LOST[:5]
    return tuple(
        share(stage, counts[stage], counts.total()) for stage in LOST if stage in named or counts[stage]
    )

"""The plain baseline: a logistic regression on nine features that need no reading of the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit

from rtv_core.records import Candidate, Evidence

__all__ = ["fit_plain", "plain_features"]

UNRANKED = 200
"""Stands for the rank of a covering passage where there is none."""


def plain_features(candidate: Candidate, evidence: Evidence) -> tuple[float, ...]:
    """Best and summed span score, passages recalling it, evidence passages covering it, best rank of either,
    best relevance, best dense score, length in words.
    """
    covering = [p for p in evidence.passages if p.covers]
    return (
        candidate.score,
        math.log1p(sum(s.span.score for s in candidate.sources)),
        math.log1p(len({s.passage_id for s in candidate.sources})),
        len(covering) / 10,
        math.log(min(s.rank for s in candidate.sources)),
        math.log(min((p.hit.rank for p in covering), default=UNRANKED)),
        max(s.relevance for s in candidate.sources),
        max((p.hit.dense for p in covering), default=0.0),
        float(len(candidate.answer.split())),
    )


def fit_plain(
    features: Sequence[Sequence[float]], right: Sequence[bool]
) -> Callable[[Sequence[Sequence[float]]], list[float]]:
    """Fit on the candidates of dev; gives a function from features, (candidates, 9), to scores 0 to 1.

    Raises ValueError where all candidates are right or all wrong.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features)
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(features), right)
    # Written out: the library's own prediction takes a millisecond a question, and there are thousands.
    weights = model.coef_[0] / scaler.scale_
    bias = model.intercept_[0] - scaler.mean_ @ weights

    def scores(some: Sequence[Sequence[float]]) -> list[float]:
        return expit(np.asarray(some) @ weights + bias).tolist() if some else []

    return scores

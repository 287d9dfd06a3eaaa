"""A share of judged items with its 95 % interval: Wilson's, widened where the sample was weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Share", "share", "weighted_share", "wilson"]

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of` items bear the name; `share`, `low` and `high` lie between 0 and 1.

    In a weighted sample `share` need not be `count` / `of`. Of 0 items nothing is known: 0, from 0 to 1.
    """

    name: str
    count: int
    of: int
    share: float
    low: float
    high: float


def share(name: str, count: int, of: int) -> Share:
    """The plain share with its Wilson interval."""
    if not of:
        return Share(name, 0, 0, 0.0, 0.0, 1.0)
    return Share(name, count, of, count / of, *wilson(count / of, of))


def wilson(share: float, of: float) -> tuple[float, float]:
    """Wilson's score interval for a share of `of` items; `of` may be an effective number, not a whole one.

    (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with z = 1.96 (Wilson 1927).
    """
    centre = share + Z**2 / (2 * of)
    spread = Z * np.sqrt(share * (1 - share) / of + Z**2 / (4 * of**2))
    scale = 1 + Z**2 / of
    low = 0.0 if share == 0 else (centre - spread) / scale
    high = 1.0 if share == 1 else (centre + spread) / scale
    return float(low), float(high)


def weighted_share(
    name: str, has: Sequence[bool], weights: Sequence[float], groups: Sequence[int] | None = None
) -> Share:
    """Hájek's share: Σ w y / Σ w, where w is 1 / the probability that the item was drawn.

    The interval is Wilson's for n* = p(1 - p) / V items, with the linearised variance
    V = Σ (Σ w (y - p))² / (Σ w)², the outer sum over `groups` (say, questions drawn as a whole) or, without
    them, over items; n* never exceeds the number of items. Where p is 0 or 1, n* = (Σ w)² / Σ w² (Kish 1965).
    Weights that are all equal give the plain share and interval. Raises ValueError for a weight of 0 or less.
    """
    if not has:
        return share(name, 0, 0)
    y, w = np.asarray(has, dtype=float), np.asarray(weights, dtype=float)  # (items,)
    if not (w > 0).all():
        raise ValueError(f"A weight is {w.min()}; every judged item must have had some chance to be drawn.")
    p = float(w @ y / w.sum())
    if 0 < y.sum() < len(y):
        _, place = np.unique(np.arange(len(y)) if groups is None else groups, return_inverse=True)
        variance = (np.bincount(place, w * (y - p)) ** 2).sum() / w.sum() ** 2
        effective = min(p * (1 - p) / variance, len(y)) if variance else len(y)
    else:
        p, effective = float(y[0]), w.sum() ** 2 / (w**2).sum()
    return Share(name, int(y.sum()), len(y), p, *wilson(p, float(effective)))

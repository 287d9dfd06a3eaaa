"""Draw from a finite population so that each unit's inclusion probability is known exactly.

Chance comes from hashes of a seed and the unit's own key, not from a generator: a draw depends on neither the
order of the population nor a library's version, and a larger equal-probability draw with one seed holds the
smaller.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence

import numpy as np

__all__ = ["chance", "equal_sample", "inclusion_probabilities", "systematic_sample"]


def chance(seed: int, *key: object) -> float:
    """A number from 0 up to 1, as good as random, that depends on nothing but seed and key."""
    text = json.dumps([seed, *key]).encode()
    return (int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 11) / 2**53


def equal_sample(numbers: Sequence[float], count: int) -> list[int]:
    """The indexes of the `count` smallest chance numbers: a simple random sample, all if there are fewer."""
    return sorted(np.argsort(numbers, kind="stable")[:count].tolist())


def inclusion_probabilities(weights: Sequence[float], count: int, uniform_share: float) -> np.ndarray:
    """Probabilities that sum to `count` and are proportional to the mixed weights, as far as none passes 1.

    A unit's mixed weight is its share of the weights times (1 - `uniform_share`), plus an even share of
    `uniform_share`. A unit whose probability would pass 1 is taken for certain, and the rest share what is
    left. `weights` are at least 0 and not all 0, and 0 < `uniform_share` <= 1, so that every probability is
    above 0.
    """
    weights = np.asarray(weights, dtype=np.float64)  # (units,)
    if count >= len(weights):
        return np.ones(len(weights))
    # fsum: the last digit, too, does not depend on the order of the population.
    mixed = (1 - uniform_share) * weights / math.fsum(weights) + uniform_share / len(weights)
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        probabilities = mixed * ((count - certain.sum()) / math.fsum(mixed[~certain]))
        passing = ~certain & (probabilities >= 1)
        if not passing.any():
            return np.where(certain, 1.0, probabilities)
        certain |= passing


def systematic_sample(probabilities: Sequence[float], numbers: Sequence[float], start: float) -> list[int]:
    """The indexes of a sample in which each unit is included with exactly its probability.

    The units that are not certain are laid end to end in the order of their chance numbers, each as long as
    its probability, and taken where the points `start`, `start` + 1, ... fall. `start` is a chance number of
    its own; the probabilities sum to a whole number, the size of the sample.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)  # (units,)
    order = np.argsort(numbers, kind="stable")
    order = order[probabilities[order] < 1]
    ends = np.cumsum(probabilities[order])
    points = start + np.arange(round(float(ends[-1])) if len(ends) else 0)
    # Rounding may leave the last end a hair below the last point.
    chosen = order[np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)]
    return sorted({*np.flatnonzero(probabilities >= 1).tolist(), *chosen.tolist()})

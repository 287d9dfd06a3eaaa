"""Take evidence away and score again: on which passages a verdict rests.

The paper's attack (6.5.2) takes away passages that support other answers, never one that covers the candidate
itself, and looks at how far the score rises and falls. No other passage steps in for one that is taken away.
All of it is a what-if: a verdict is what the whole evidence gave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from rtv_core.errors import InputError
from rtv_core.protocols import Verifier
from rtv_core.records import EVIDENCE_SIZES, Evidence
from rtv_core.text import covers_any

__all__ = ["BUDGET", "Attack", "Flip", "Reach", "Removal", "of_title", "reach", "smallest_flip", "supporters"]

BUDGET = 2048
"""How many sets are scored before only the most promising ones grow: all sets of ten passages fit."""

BATCH = 64
BEAM = 16
"""How many sets of one size grow into the next, once there are too many to score all."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The places in the evidence (from 0) that are taken away, and the score that the others give."""

    taken: tuple[int, ...]
    p_right: float


@dataclass(frozen=True, slots=True)
class Flip:
    """The smallest removal under which a verdict changes sides; None if there is none short of all passages.

    `exact`: every set of that size and every smaller one was scored, not only the promising ones. `scored`
    counts the sets.
    """

    removal: Removal | None
    exact: bool
    scored: int


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a score moves: from `whole`, with nothing taken away, to the `lowest` and the `highest`."""

    whole: float
    lowest: Removal
    highest: Removal
    exact: bool

    @property
    def fall(self) -> float:
        """The largest fall, 0 or more."""
        return self.whole - self.lowest.p_right

    @property
    def rise(self) -> float:
        """The largest rise, 0 or more."""
        return self.highest.p_right - self.whole


class Attack:
    """A candidate's first `k` evidence passages, any of which can be taken away; no set is scored twice."""

    def __init__(
        self, verifier: Verifier, question: str, evidence: Evidence, k: int = max(EVIDENCE_SIZES)
    ) -> None:
        self._verifier, self._question, self._k = verifier, question, k
        self._evidence = replace(evidence, passages=evidence.passages[:k])
        self._scores: dict[frozenset[int], float] = {}

    @property
    def places(self) -> range:
        """The places of the evidence passages."""
        return range(len(self._evidence.passages))

    @property
    def scored(self) -> int:
        """How many sets were scored, the empty one too."""
        return len(self._scores)

    @property
    def whole(self) -> float:
        """The score with nothing taken away."""
        return self.score(())

    def score(self, taken: Collection[int]) -> float:
        """The score without the passages at these places. Raises InputError for a place that isn't there."""
        return self.scores([taken])[0]

    def scores(self, sets: Sequence[Collection[int]]) -> list[float]:
        """The scores without each of these sets of places."""
        wanted = [frozenset(taken) for taken in sets]
        fresh = [taken for taken in dict.fromkeys(wanted) if taken not in self._scores]
        for start in range(0, len(fresh), BATCH):
            batch = fresh[start : start + BATCH]
            verdicts = self._verifier.verify(self._question, [self._without(taken) for taken in batch])
            for taken, verdict in zip(batch, verdicts, strict=True):
                self._scores[taken] = verdict.at(self._k)
        return [self._scores[taken] for taken in wanted]

    def _without(self, taken: frozenset[int]) -> Evidence:
        if absent := taken - set(self.places):
            raise InputError(
                f"There is no evidence passage {min(absent) + 1}; there are {len(self.places)} of them."
            )
        left = tuple(p for place, p in enumerate(self._evidence.passages) if place not in taken)
        return replace(self._evidence, passages=left)


def smallest_flip(attack: Attack, tau: float, budget: int = BUDGET) -> Flip:
    """The fewest passages without which the candidate comes to lie on the other side of `tau`.

    Of several such sets the one with the clearest score. All passages together are no answer: without any
    evidence every score is 0.
    """
    above, exact = attack.whole > tau, True
    towards = 1.0 if above else -1.0
    for removals, all_of_size in _by_size(attack, attack.places, budget, (towards,)):
        exact = exact and all_of_size
        best = min(removals, key=lambda r: (towards * r.p_right, r.taken))
        if (best.p_right > tau) != above:
            return Flip(best, exact, attack.scored)
    return Flip(None, exact, attack.scored)


def reach(attack: Attack, removable: Iterable[int], budget: int = BUDGET) -> Reach:
    """The lowest and highest score when some of the `removable` places, but not all evidence, are taken."""
    nothing, exact = Removal((), attack.whole), True
    found = [nothing]
    for removals, all_of_size in _by_size(attack, sorted(set(removable)), budget, (1.0, -1.0)):
        exact = exact and all_of_size
        found += removals
    # The fewest passages among equals, so that what moves nothing is not named.
    lowest = min(found, key=lambda r: (r.p_right, len(r.taken), r.taken))
    highest = min(found, key=lambda r: (-r.p_right, len(r.taken), r.taken))
    return Reach(nothing.p_right, lowest, highest, exact)


def supporters(
    evidence: Evidence, spellings: Sequence[str], rule: str = "strict", k: int = max(EVIDENCE_SIZES)
) -> tuple[int, ...]:
    """The places that cover another answer but not the candidate: what the paper's attack may take away."""
    return tuple(
        place
        for place, passage in enumerate(evidence.passages[:k])
        if rule not in passage.covers
        and covers_any(f"{passage.hit.passage.title}\n{passage.hit.passage.text}", spellings, rule)
    )


def of_title(evidence: Evidence, title: str, k: int = max(EVIDENCE_SIZES)) -> tuple[int, ...]:
    """The places of the passages with this title."""
    return tuple(i for i, p in enumerate(evidence.passages[:k]) if p.hit.passage.title == title)


def _by_size(
    attack: Attack, places: Sequence[int], budget: int, directions: Sequence[float]
) -> Iterator[tuple[list[Removal], bool]]:
    """The removals of one place, of two, ... with whether they are all of that size.

    Beyond the budget only those that grow from the best of the size before: the lowest scores for the
    direction 1, the highest for -1.
    """
    beam: list[tuple[int, ...]] = [()]
    complete, spent = True, 0
    for size in range(1, min(len(places), len(attack.places) - 1) + 1):
        complete = complete and spent + comb(len(places), size) <= budget
        sets = list(combinations(places, size)) if complete else _grown(beam, places)
        spent += len(sets)
        removals = [Removal(*each) for each in zip(sets, attack.scores(sets), strict=True)]
        yield removals, complete
        best = (sorted(removals, key=lambda r, d=d: (d * r.p_right, r.taken))[:BEAM] for d in directions)
        beam = list(dict.fromkeys(removal.taken for some in best for removal in some))


def _grown(beam: Sequence[tuple[int, ...]], places: Sequence[int]) -> list[tuple[int, ...]]:
    """Each set of the beam with one place more."""
    return sorted(
        {tuple(sorted((*taken, place))) for taken in beam for place in places if place not in taken}
    )

"""The stages, as the pipeline sees them: sequences in, lists out, in the same order.

Batching is a stage's own affair. A new recaller is one class with this shape and one line in `factory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from rtv_core.records import Candidate, Evidence, Hit, Reading, Verdict

__all__ = ["Gatherer", "Recaller", "Retriever", "Verifier"]


@runtime_checkable
class Retriever(Protocol):
    """Finds passages."""

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` best passages of each question (fewer in a smaller corpus), best first."""
        ...


@runtime_checkable
class Recaller(Protocol):
    """Reads each passage alone and proposes answers."""

    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        """One reading per hit."""
        ...


@runtime_checkable
class Gatherer(Protocol):
    """Collects the evidence of each candidate from the retrieved passages."""

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        """One body of evidence per candidate, at most ten passages each, best first."""
        ...


@runtime_checkable
class Verifier(Protocol):
    """Scores each candidate on its own evidence."""

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        """One verdict per body of evidence. A verdict depends on nothing but its own evidence."""
        ...

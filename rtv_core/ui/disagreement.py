"""Where two verifiers disagree: a candidate that one keeps and the other, who judged it too, does not."""

from __future__ import annotations

from rtv_core.records import Trace
from rtv_core.settings import VerifierSettings
from rtv_core.ui.beside import Beside
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.render.parts import ACCEPTED, states_of

__all__ = ["disagreements"]


def disagreements(trace: Trace, beside: Beside, settings: VerifierSettings) -> frozenset[str]:
    """The keys of the rows that the filter "they disagree" keeps.

    A candidate that the second system never had before it is no disagreement.
    """
    states = states_of(trace, settings)
    found = set()
    for i, candidate in enumerate(trace.candidates):
        key = candidate_key(candidate.answer)
        cell = beside.cells.get(key)
        if cell is not None and cell.candidate is not None and cell.found != (states.get(i) in ACCEPTED):
            found.add(key)
    return frozenset(found)

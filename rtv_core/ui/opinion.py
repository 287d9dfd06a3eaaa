"""What a language model said of the candidate on screen, as its own pipeline or as a second verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.errors import RtvError
from rtv_core.llm.exchanges import Exchange, about
from rtv_core.records import Evidence, Hit, Trace
from rtv_core.ri2ver import exchanges_behind
from rtv_core.ui.beside import Beside
from rtv_core.ui.marks import Row
from rtv_core.ui.workbench import Workbench

__all__ = [
    "NO_OPINIONS",
    "Opinion",
    "Opinions",
    "judging_exchanges",
    "only_words",
    "opinion_on",
    "opinions_of",
]


@dataclass(frozen=True, slots=True)
class Opinion:
    """The exchanges about one candidate, with what the model read for it.

    `hits` are the passages that were retrieved at first; what it read besides is fresh. `system` is the name
    of the second system, "" where the trace on screen is the model's own.
    """

    system: str
    evidence: Evidence
    hits: tuple[Hit, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def question(self) -> str:
        """The verification question; "" where none was asked for."""
        return self.evidence.query if any(e.stage == "question" for e in self.exchanges) else ""


@dataclass(frozen=True, slots=True)
class Opinions:
    """The opinions on one candidate. `second` names the second system, if it is one that gives opinions."""

    second: str = ""
    given: tuple[Opinion, ...] = ()


NO_OPINIONS = Opinions()


def judging_exchanges(system: object, trace: Trace) -> tuple[Exchange, ...]:
    """The questions and judgements of a system's trace; nothing where it asked no language model."""
    pipeline = getattr(system, "pipeline", None)
    return tuple(e for e in exchanges_behind(pipeline, trace) if e.stage != "read")


def only_words(exchanges: Sequence[Exchange]) -> bool:
    """Whether all that was judged was judged by a plain word."""
    return {e.method for e in exchanges if e.stage == "judge" and e.p_yes is not None} == {"word"}


def opinions_of(workbench: Workbench, trace: Trace, beside: Beside | None, row: Row) -> Opinions:
    """What is known of a row: from the trace on screen, then from the second system."""
    given = [_own(workbench, trace, row)]
    second = beside.column.name if beside and beside.exchanges else ""
    if second and (cell := beside.cell(row)) and cell.candidate:
        given.append(opinion_on(cell.candidate.answer, second, beside.column.trace, beside.exchanges))
    return Opinions(second, tuple(opinion for opinion in given if opinion))


def opinion_on(answer: str, system: str, trace: Trace, exchanges: Sequence[Exchange]) -> Opinion | None:
    """The opinion on one candidate of a trace; None where nothing was gathered for it."""
    body = next((body for body in trace.evidence if body.candidate.answer == answer), None)
    if body is None:
        return None
    ids = [passage.hit.passage.id for passage in body.passages]
    return Opinion(system, body, trace.hits, about(exchanges, answer, ids))


def _own(workbench: Workbench, trace: Trace, row: Row) -> Opinion | None:
    """The opinion that is the trace's own verdict; what was kept must be shown without loading models."""
    if row.index is None or "exchanges" not in trace.provenance or not workbench.ready():
        return None
    try:
        exchanges = exchanges_behind(workbench.pipeline(workbench.settings), trace)
    except RtvError:  # the environment names no model any more
        return None
    return opinion_on(row.answer, "", trace, exchanges) if exchanges else None

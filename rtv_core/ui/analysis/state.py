"""A run with the verdicts on it: every figure is worked out when it is first looked at, and kept."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from rtv_core.analysis.blame import stage_blame
from rtv_core.analysis.calibration import (
    Bar,
    Reliability,
    reliability,
    score_histogram,
    scored_by_gold,
    scored_by_verdicts,
)
from rtv_core.analysis.comparison import Comparison, compare_runs
from rtv_core.analysis.corrected import CorrectedGold, correct_gold
from rtv_core.analysis.curves import CurvePoint, tau_curve
from rtv_core.analysis.estimate import Estimate, estimated_scores
from rtv_core.analysis.headline import Headline, headline, right_share
from rtv_core.analysis.missing import Missing, found_by_annotators, found_by_runs, missing_answers
from rtv_core.analysis.mistakes import Inclusion, inclusion_of, wrong_predictions
from rtv_core.analysis.rulings import Counting, Rulings, settle
from rtv_core.analysis.scores import Rescored, question_scores, rescored
from rtv_core.analysis.shares import Share
from rtv_core.analysis.slices import Slice, by_gold_answers, by_question_word, f1_slices
from rtv_core.analysis.table6 import Table6, error_table
from rtv_core.annotation.agreement import (
    Agreement,
    Disagreement,
    Ratings,
    agreement,
    disagreements,
    ratings,
)
from rtv_core.errors import MissingError
from rtv_core.records import Judgement, Question, QueueItem, Run, RunQuestion
from rtv_core.store.queues import Queue
from rtv_core.store.traces import question_key
from rtv_core.ui.analysis.view import View
from rtv_core.ui.workbench import Workbench

__all__ = ["NO_RUNS", "Analyses", "Analysis", "Pair"]

NO_RUNS = (
    "There are no runs yet. Make one: python -m rtv_core evaluate. Or bring another system's answers: "
    "python -m rtv_core runs import."
)
KEPT = 6
"""How many runs, analyses and comparisons are kept in memory, each."""


class Analysis:
    """One run, the verdicts that stand on its answers, and the queues that chose what was judged."""

    def __init__(
        self,
        run: Run,
        questions: Sequence[RunQuestion],
        judgements: Sequence[Judgement],
        queues: Sequence[tuple[Queue, Sequence[QueueItem]]],
        counting: Counting,
    ) -> None:
        self.run = run
        self.questions = tuple(questions)
        self.counting = counting
        self.queues = tuple(queue for queue, _ in queues)
        self.judgements = tuple(_of_run(self.questions, judgements, counting.across_runs))
        self._items = tuple(tuple(items) for _, items in queues)

    @cached_property
    def by_position(self) -> Mapping[int, RunQuestion]:
        """The questions by their place in the run."""
        return {question.position: question for question in self.questions}

    @cached_property
    def annotators(self) -> tuple[str, ...]:
        """Whose verdicts there are, by name."""
        return tuple(sorted({judgement.annotator for judgement in self.judgements}))

    @cached_property
    def rulings(self) -> Rulings:
        """What the verdicts amount to."""
        return settle(self.judgements, self.counting)

    @cached_property
    def bases(self) -> Mapping[str, int]:
        """How many rulings rest on what, and how many of them are split."""
        own = [ruling for question in self.questions for ruling in self.rulings.on(question)]
        split = sum(ruling.label == "split" for ruling in own)
        return Counter(r.basis for r in own if r.label != "split") | Counter(split=split)

    @cached_property
    def inclusion(self) -> Inclusion | None:
        """The probability with which each answer was drawn; None where no queue drew what is judged."""
        drawn = inclusion_of(*self._items)
        judged = (m for m in wrong_predictions(self.questions, self.rulings, drawn) if m.ruling)
        return drawn if any(m.inclusion for m in judged) else None

    @cached_property
    def weighted(self) -> bool:
        """Whether some answers were likelier to be drawn than others."""
        chances = {round(chance, 9) for chance in (self.inclusion or {}).values()}
        return len(chances) > 1

    @cached_property
    def whole_questions(self) -> bool:
        """Whether a queue drew questions with all their answers."""
        return any(queue.plan.unit == "question" for queue in self.queues)

    @cached_property
    def corrected(self) -> CorrectedGold:
        """The run's gold with the rulings applied."""
        return correct_gold(self.questions, self.rulings)

    @cached_property
    def scores(self) -> Rescored | None:
        """Scores raw and on corrected gold; None where no gold is known."""
        return rescored(self.questions, self.corrected.questions)

    @cached_property
    def estimate(self) -> Estimate | None:
        """Corrected scores as if every wrong prediction were judged; None while none is."""
        return estimated_scores(self.questions, self.rulings, self.inclusion)

    @cached_property
    def table6(self) -> Table6:
        """The error analysis of the paper's table 6."""
        return error_table(self.questions, self.rulings, self.inclusion, self.whole_questions)

    @cached_property
    def right(self) -> Share:
        """The share of judged wrong predictions that are right."""
        return right_share(self.questions, self.rulings, self.inclusion, self.whole_questions)

    @cached_property
    def headline(self) -> Headline | None:
        """The first line; None where no gold is known."""
        if self.scores is None:
            return None
        return headline(self.scores, self.estimate, self.right, self.table6.wrong.total)

    @cached_property
    def blame(self) -> tuple[Share, ...]:
        """What became of the gold answers."""
        return stage_blame(self.questions)

    @cached_property
    def curve(self) -> tuple[CurvePoint, ...]:
        """F1 against tau. Raises InputError for a run without scores or gold."""
        return tau_curve(self.questions)

    @cached_property
    def corrected_curve(self) -> tuple[CurvePoint, ...]:
        """The same on corrected gold; empty where verdicts changed nothing."""
        return tau_curve(self.questions, self.corrected.questions) if self.corrected.additions else ()

    @cached_property
    def reliability(self) -> Reliability:
        """Every scored candidate, right if it equals gold. Raises InputError where there is none."""
        return reliability(scored_by_gold(self.questions))

    @cached_property
    def judged_reliability(self) -> Reliability:
        """The predictions, as people ruled on them. Raises InputError where there is none."""
        return reliability(scored_by_verdicts(self.questions, self.rulings, self.inclusion))

    @cached_property
    def histogram(self) -> tuple[Bar, ...]:
        """Predictions by score and verdict."""
        return score_histogram(self.questions, self.rulings, predicted_only=True)

    @cached_property
    def slices(self) -> Mapping[str, tuple[tuple[Slice, ...], tuple[Slice, ...]]]:
        """F1 by kind of question, raw and corrected, by "gold" (number of gold answers) and "word"."""
        kinds = {"gold": by_gold_answers, "word": by_question_word}
        gold = self.corrected.questions
        return {
            name: (f1_slices(self.questions, kind), f1_slices(self.questions, kind, gold))
            for name, kind in kinds.items()
        }

    def ratings(self, axis: str) -> Ratings:
        """Who said what, without those who settle the others' verdicts."""
        return ratings(self.judgements, axis, self.counting.adjudicators)

    def agreement(self, axis: str) -> Agreement:
        """How far annotators agree on an axis."""
        return _agreement(self.ratings(axis))

    @cached_property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """The answers on which people said different things."""
        return disagreements(self.judgements, "answer", self.counting.adjudicators)

    @cached_property
    def missing(self) -> Missing:
        """How many answers that no candidate gives nobody has typed in yet. Raises InputError."""
        return missing_answers(found_by_annotators(self.judgements))


class Pair:
    """Two runs on the same questions, the second's answers under the first one's counting."""

    def __init__(self, first: Analysis, second: Analysis) -> None:
        self.first = first
        self.second = second

    @cached_property
    def raw(self) -> Comparison:
        """On gold as it is. Raises InputError for runs that can't be compared."""
        return compare_runs(self.first.questions, self.second.questions)

    @cached_property
    def corrected(self) -> Comparison | None:
        """On gold corrected by the verdicts on either run; None where they change nothing."""
        gold = correct_gold(self.first.questions, self._rulings)
        if not gold.additions:
            return None
        by_id: dict[str, Question] = {question.id: question for question in gold.questions}
        return compare_runs(self.first.questions, self.second.questions, by_id)

    @cached_property
    def missing(self) -> Missing:
        """How many valid answers neither run found. Raises InputError where that can't be estimated."""
        runs = {self.first.run.name: self.first.questions, self.second.run.name: self.second.questions}
        return missing_answers(found_by_runs(runs, self._rulings))

    @cached_property
    def positions(self) -> Mapping[str, tuple[int, ...]]:
        """Where, in the first run, its F1 is "better", "worse" or "equal"."""
        others = {question.question.id: question for question in self.second.questions}
        known = [q for q in self.first.questions if q.question.id in others and q.question.answers]
        own = question_scores(known)
        their = question_scores([others[q.question.id] for q in known], [q.question for q in known])
        found: dict[str, list[int]] = {"better": [], "worse": [], "equal": []}
        for question, a, b in zip(known, own, their, strict=True):
            found["better" if a.f1 > b.f1 else "worse" if a.f1 < b.f1 else "equal"].append(question.position)
        return {name: tuple(positions) for name, positions in found.items()}

    @cached_property
    def _rulings(self) -> Rulings:
        counting = self.first.counting
        both = Counting(counting.settled_only, counting.adjudicators, across_runs=True)
        judgements = dict.fromkeys((*self.first.judgements, *self.second.judgements))
        return settle(judgements, both)


class Analyses:
    """The analyses that pages look at, kept while neither the run nor a verdict or queue changes."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._questions = _Kept(KEPT)
        self._analyses = _Kept(KEPT)
        self._pairs = _Kept(KEPT)

    def run(self, view: View) -> Run:
        """The run that a view names, else the newest. Raises MissingError where there is none."""
        if view.run:
            return self._workbench.runs.run(view.run)
        if not (runs := self._workbench.runs.runs()):
            raise MissingError(NO_RUNS)
        return runs[0]

    def of(self, view: View) -> Analysis:
        """The analysis of the view's run."""
        return self._of(self.run(view), view.counting)

    def pair(self, view: View) -> Pair | None:
        """The view's run and the other one; None where the view names no other."""
        if not view.other:
            return None
        first, other = self.of(view), self._of(self._workbench.runs.run(view.other), view.counting)
        return self._pairs.get((first, other), lambda: Pair(first, other))

    def _of(self, run: Run, counting: Counting) -> Analysis:
        judgements = tuple(self._workbench.store.current())
        queues = self._workbench.queues.queues(run.id)
        key = run.id, run.questions, counting, tuple(q.id for q in queues), judgements
        return self._analyses.get(key, lambda: self._made(run, counting, judgements, queues))

    def _made(
        self, run: Run, counting: Counting, judgements: Sequence[Judgement], queues: Sequence[Queue]
    ) -> Analysis:
        questions = self._questions.get(
            (run.id, run.questions), lambda: self._workbench.runs.questions(run.id)
        )
        drawn = [(queue, self._workbench.queues.items(queue.id)) for queue in queues]
        return Analysis(run, questions, judgements, drawn, counting)


class _Kept:
    """The values used last; each is made once, whoever asks for it first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._turn = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._turn:
            if key not in self._values:
                self._values[key] = make()
                if len(self._values) > self._most:
                    self._values.popitem(last=False)
            self._values.move_to_end(key)
            return self._values[key]


@lru_cache(maxsize=32)
def _agreement(matrix: Ratings) -> Agreement:
    """Its bootstrap takes seconds, and an adjudicator's verdict leaves the matrix as it is."""
    return agreement(matrix)


def _of_run(
    questions: Sequence[RunQuestion], judgements: Sequence[Judgement], across_runs: bool
) -> list[Judgement]:
    """The judgements on a run's own traces, or on its questions wherever they were asked."""
    if across_runs:
        asked = {question_key(question.question.text) for question in questions}
        return [judgement for judgement in judgements if question_key(judgement.question) in asked]
    traces = {question.trace_id for question in questions}
    return [judgement for judgement in judgements if judgement.trace_id in traces]

"""A run with the verdicts on it: every figure is worked out when it is first looked at, and kept."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
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
from rtv_core.analysis.columns import Sources, gold_sources, no_sources
from rtv_core.analysis.comparison import Comparison, compare_runs
from rtv_core.analysis.corrected import CorrectedGold, correct_gold
from rtv_core.analysis.curves import CurvePoint, tau_curve
from rtv_core.analysis.estimate import Estimate, estimated_scores
from rtv_core.analysis.filters import Condition, selected
from rtv_core.analysis.headline import Headline, headline, right_share
from rtv_core.analysis.missing import Missing, found_by_annotators, found_by_runs, missing_answers
from rtv_core.analysis.mistakes import Inclusion, inclusion_of, weighed_queues, wrong_predictions
from rtv_core.analysis.rounds import Round, RoundComparison, by_annotator, compare_rounds, on_items, since
from rtv_core.analysis.rulings import Counting, Rulings, settle
from rtv_core.analysis.scores import Rescored, question_scores, rescored
from rtv_core.analysis.shares import Share
from rtv_core.analysis.slices import Slice, by_column, f1_slices
from rtv_core.analysis.table6 import Table6, error_table
from rtv_core.annotation.agreement import (
    Agreement,
    Disagreement,
    Ratings,
    agreement,
    disagreements,
    ratings,
)
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Judgement, Question, QueueItem, Run, RunQuestion
from rtv_core.store.filters import SavedFilter
from rtv_core.store.queues import Queue, QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.store.sources import SourceStore
from rtv_core.store.standing import standing_at
from rtv_core.store.traces import question_key
from rtv_core.ui.analysis.systems import missing_by_systems
from rtv_core.ui.analysis.view import View
from rtv_core.ui.workbench import JudgementStore, Workbench

__all__ = ["NO_RUNS", "Analyses", "Analysis", "Look", "Pair", "Rounds", "Stores"]

NO_RUNS = (
    "There are no runs yet. Make one: python -m rtv_core evaluate. Or bring another system's answers: "
    "python -m rtv_core runs import."
)
KEPT = 6
"""How many runs, analyses and comparisons are kept in memory, each."""

SYSTEMS_KEPT = 40
"""How many runs are kept with nothing but their predictions."""

NO_ROUND = "There is no such round of judgement any more. Choose another one."


class Analysis:
    """One run, the verdicts that stand on its answers, and the queues that chose what was judged.

    `where` says by which conditions the `questions` were chosen from the run's. `sources` counts a question's
    sources (see `analysis.columns`). `unplaced` is how many blind verdicts say that an answer is right, and
    not yet which gold answer it is: they read "unlisted".
    """

    def __init__(
        self,
        run: Run,
        questions: Sequence[RunQuestion],
        judgements: Sequence[Judgement],
        queues: Sequence[tuple[Queue, Sequence[QueueItem]]],
        counting: Counting,
        sources: Sources = no_sources,
        where: Sequence[Condition] = (),
        unplaced: int = 0,
    ) -> None:
        self.run = run
        self.questions = tuple(questions)
        self.counting = counting
        self.sources = sources
        self.where = tuple(where)
        self.unplaced = unplaced
        self.drawn = tuple((queue, tuple(items)) for queue, items in queues)
        self.judgements = tuple(_of_run(self.questions, judgements, counting.across_runs))
        self._slices: dict[str, tuple[tuple[Slice, ...], tuple[Slice, ...]]] = {}

    def narrowed(self, questions: Sequence[RunQuestion], where: Sequence[Condition] = ()) -> Analysis:
        """The same over some of the questions."""
        own = self.judgements, self.drawn, self.counting, self.sources
        return Analysis(self.run, questions, *own, where or self.where)

    def of_round(
        self, judgements: Sequence[Judgement], drawn: Sequence[tuple[Queue, Sequence[QueueItem]]]
    ) -> Analysis:
        """The same with other verdicts, on what these queues drew."""
        return Analysis(self.run, self.questions, judgements, drawn, self.counting, self.sources, self.where)

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """The queues that were drawn from the run."""
        return tuple(queue for queue, _ in self.drawn)

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
    def weighed(self) -> tuple[tuple[Queue, tuple[QueueItem, ...]], ...]:
        """The queues by whose draw the judged answers are weighed (see `weighed_queues`)."""
        own = [[item for item in items if item.position in self.by_position] for _, items in self.drawn]
        return tuple(self.drawn[place] for place in weighed_queues(own, self._is_judged))

    def _is_judged(self, item: QueueItem) -> bool:
        return self.rulings.of(self.by_position[item.position], item.answer) is not None

    @cached_property
    def inclusion(self) -> Inclusion | None:
        """What each drawn answer stands for; None where no queue drew what is judged."""
        drawn = inclusion_of(*(items for _, items in self.weighed))
        judged = (m for m in wrong_predictions(self.questions, self.rulings, drawn) if m.ruling)
        return drawn if any(m.inclusion for m in judged) else None

    @cached_property
    def weighted(self) -> bool:
        """Whether some answers were likelier to be drawn than others."""
        chances = {round(chance, 9) for chance in (self.inclusion or {}).values()}
        return len(chances) > 1

    @cached_property
    def whole_questions(self) -> bool:
        """Whether a queue that counts drew questions with all their answers."""
        return any(queue.plan.unit == "question" for queue, _ in self.weighed)

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

    def slices(self, column: str) -> tuple[tuple[Slice, ...], tuple[Slice, ...]]:
        """F1 by the kinds of a column (see `analysis.columns`), raw and corrected."""
        if column not in self._slices:
            kinds = by_column(column, self.sources)
            raw = f1_slices(self.questions, kinds)
            self._slices[column] = raw, f1_slices(self.questions, kinds, self.corrected.questions)
        return self._slices[column]

    def f1_where(self, conditions: Sequence[Condition]) -> tuple[int, Slice | None, Slice | None]:
        """How many questions meet some conditions, and their F1 raw and corrected (None: no gold)."""
        chosen = {q.position for q in selected(self.questions, conditions, self.sources)}

        def kinds(question: RunQuestion) -> tuple[str, ...]:
            return ("chosen",) if question.position in chosen else ()

        own = f1_slices(self.questions, kinds), f1_slices(self.questions, kinds, self.corrected.questions)
        return len(chosen), *(found[0] if found else None for found in own)

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
        gold = correct_gold(self._both, self._rulings)
        if not gold.additions:
            return None
        by_id: dict[str, Question] = {question.id: question for question in gold.questions}
        return compare_runs(self.first.questions, self.second.questions, by_id)

    @property
    def _both(self) -> list[RunQuestion]:
        """The first run's questions with the answers of both, so that gold takes either's wording."""
        others = {q.question.id: q.answers for q in self.second.questions}
        first = self.first.questions
        return [replace(q, answers=(*q.answers, *others.get(q.question.id, ()))) for q in first]

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


class Rounds:
    """Two rounds of judgement of one run, each with its name."""

    def __init__(self, first: tuple[str, Analysis], second: tuple[str, Analysis]) -> None:
        self.names = first[0], second[0]
        self.first = first[1]
        self.second = second[1]

    @cached_property
    def compared(self) -> RoundComparison:
        """What either says. Raises InputError where no gold is known."""
        own = (
            Round(analysis.rulings, analysis.inclusion, analysis.whole_questions)
            for analysis in (self.first, self.second)
        )
        return compare_rounds(self.first.questions, *own)


@dataclass(frozen=True, slots=True)
class Stores:
    """What analyses are made from: all that they need of a workbench."""

    store: JudgementStore
    runs: RunStore
    queues: QueueStore


@dataclass(frozen=True, slots=True)
class Look:
    """What a page looks at: a run, perhaps another and two rounds, and what somebody saved.

    `rounds` and `missing` (by systems) are worked out when they are called, and may raise RtvError.
    """

    analysis: Analysis
    pair: Pair | None
    rounds: Callable[[], Rounds | None]
    missing: Callable[[], Missing]
    saved: Sequence[SavedFilter] = ()


class Analyses:
    """The analyses that pages look at, kept while neither the run nor a verdict or queue changes."""

    def __init__(self, workbench: Workbench | Stores) -> None:
        self._workbench = workbench
        self._questions = _Kept(KEPT)
        self._analyses = _Kept(KEPT)
        self._narrowed = _Kept(KEPT)
        self._pairs = _Kept(KEPT)
        self._rounds = _Kept(KEPT)
        self._missing = _Kept(KEPT)
        self._predictions = _Kept(SYSTEMS_KEPT)

    def run(self, view: View) -> Run:
        """The run that a view names, else the newest. Raises MissingError where there is none."""
        if view.run:
            return self._workbench.runs.run(view.run)
        if not (runs := self._workbench.runs.runs()):
            raise MissingError(NO_RUNS)
        return runs[0]

    def of(self, view: View, open_verdicts: bool = False) -> Analysis:
        """The analysis of the view's run, over the questions that meet its conditions.

        Under conditions there are verdicts only if they are open: else a narrow filter would single out
        what somebody said of one answer.
        """
        whole = self._of(self.run(view), view.counting)
        if not view.where:
            return whole

        def make() -> Analysis:
            shown = whole if open_verdicts else whole.of_round((), ())
            return shown.narrowed(selected(whole.questions, view.where, whole.sources), view.where)

        return self._narrowed.get((whole, view.where, open_verdicts), make)

    def pair(self, view: View, open_verdicts: bool = False) -> Pair | None:
        """The view's run and the other one, on the same questions; None where the view names no other."""
        if not view.other:
            return None
        first = self.of(view, open_verdicts)
        other = self._of(self._workbench.runs.run(view.other), view.counting)

        def make() -> Pair:
            if not view.where:
                return Pair(first, other)
            shown = other if open_verdicts else other.of_round((), ())
            ids = {question.question.id for question in first.questions}
            return Pair(first, shown.narrowed([q for q in other.questions if q.question.id in ids]))

        return self._pairs.get((first, other), make)

    def look(self, view: View, open_verdicts: bool = False, saved: Sequence[SavedFilter] = ()) -> Look:
        """All that a view names."""
        return Look(
            self.of(view, open_verdicts),
            self.pair(view, open_verdicts),
            lambda: self.rounds(view) if open_verdicts else None,
            lambda: self.missing_by_systems(view, open_verdicts),
            saved,
        )

    def rounds(self, view: View) -> Rounds | None:
        """The view's two rounds, to show where verdicts are open; None unless it names both.

        Raises InputError for a round that there is not.
        """
        if not (view.first and view.second):
            return None
        whole = self.of(view, open_verdicts=True)

        def make() -> Rounds:
            return Rounds(*(self._round(whole, name, view.day) for name in (view.first, view.second)))

        return self._rounds.get((whole, view.first, view.second, view.day), make)

    def missing_by_systems(self, view: View, open_verdicts: bool = False) -> Missing:
        """How many valid answers no run on the same questions found. Raises InputError."""
        analysis, runs = self.of(view, open_verdicts), self._workbench.runs.runs()
        closed = bool(view.where) and not open_verdicts
        judgements = () if closed else tuple(self._workbench.store.current())
        key = analysis, judgements, tuple((run.id, run.questions) for run in runs)

        def make() -> Missing:
            return missing_by_systems(
                analysis.run,
                analysis.questions,
                analysis.counting,
                judgements,
                self._workbench.runs,
                self._load,
            )

        return self._missing.get(key, make)

    def _load(self, run: Run) -> Sequence[RunQuestion]:
        """A run's questions with nothing but the predictions."""

        def make() -> list[RunQuestion]:
            questions = self._workbench.runs.questions(run.id)
            return [replace(q, answers=tuple(a for a in q.answers if a.predicted)) for q in questions]

        return self._predictions.get((run.id, run.questions), make)

    def _round(self, whole: Analysis, name: str, day: str) -> tuple[str, Analysis]:
        kind, _, value = name.partition(":")
        if kind == "queue":
            found = next(((queue, items) for queue, items in whole.drawn if queue.id == value), None)
            if found is None:
                raise InputError(NO_ROUND)
            return f"queue {found[0].name}", whole.of_round(on_items(whole.judgements, found[1]), [found])
        if kind == "by" and value in whole.annotators:
            return value, whole.of_round(by_annotator(whole.judgements, value), whole.drawn)
        if name not in ("before", "since"):
            raise InputError(NO_ROUND)
        if not day:
            raise InputError("A round before or since a day needs the day. Choose it beside the rounds.")
        if name == "since":
            return f"since {day}", whole.of_round(since(whole.judgements, day), whole.drawn)
        return f"before {day}", whole.of_round(standing_at(self._workbench.store.path, day), whole.drawn)

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
        sources = _sources_of(self._workbench.store.path, run, questions)
        unplaced = sum(self._workbench.queues.all_unplaced(queue.id) for queue in queues if queue.plan.blind)
        return Analysis(run, questions, judgements, drawn, counting, sources, unplaced=unplaced)


def _sources_of(path: Path, run: Run, questions: Sequence[RunQuestion]) -> Sources:
    """Counts the sources of a run's questions when it is first asked for one (see `store.sources`)."""

    @cache
    def counts() -> Mapping[int, int | None]:
        return SourceStore(path, gold_sources).counts(run.id, questions)

    return lambda question: counts().get(question.position)


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
    """An adjudicator's verdict leaves the matrix as it is."""
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

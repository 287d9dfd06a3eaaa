"""A question set answered into the store, or another system's answers put there.

A run that was stopped goes on with the questions that are missing; those that are there stay as they are.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence

from rtv_core.analysis.scores import Scores, predictions, run_scores
from rtv_core.errors import InputError
from rtv_core.metrics import Interval, bootstrap_mean, hits, is_multi
from rtv_core.outcomes import outcome
from rtv_core.pipeline import Pipeline, check_question
from rtv_core.predictions import Predicted, aligned, predicted_question
from rtv_core.records import EVIDENCE_SIZES, Question, Run, RunQuestion
from rtv_core.store.runs import RunStore
from rtv_core.store.validation import checked_text
from rtv_core.wire import to_json

__all__ = ["OUR_SYSTEM", "import_predictions", "run_questions", "run_summary"]

OUR_SYSTEM = "RTV"
BATCH = 200

Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)


def run_questions(
    pipeline: Pipeline,
    questions: Sequence[Question],
    store: RunStore,
    name: str,
    progress: Progress | None = None,
    system: str = OUR_SYSTEM,
    limit: int | None = None,
) -> Run:
    """Ask every question that the run of this name doesn't have yet, and return the run.

    Each question is kept before the next one is asked. With `limit` only the first so many questions are
    asked, and the run stays open for the others. `progress` gets the number of questions that are kept and
    of those wanted. Raises MismatchError if a run of this name was made with other models, settings or
    questions, and InputError for a question that can't be asked, before the first one is.
    """
    _check(questions)
    settings = pipeline.settings
    facts = {"settings": to_json(settings)} | dict(pipeline.provenance) | _facts(questions)
    tau, k = settings.verifier.tau, settings.verifier.k
    run = store.create(Run("", name, system, "", 0, True, tau, k, facts))
    wanted = questions if limit is None else questions[:limit]
    kept = store.question_ids(run.id)
    missing = [(i, question) for i, question in enumerate(wanted) if question.id not in kept]
    done = len(wanted) - len(missing)
    if progress:
        progress(done, len(wanted))
    for position, question in missing:
        trace = pipeline.ask(question)
        found = outcome(trace, settings)
        seconds = sum(trace.seconds.values())
        own = RunQuestion(run.id, position, question, "", found.answers, found.gold, seconds)
        store.add_question(run.id, own, trace)
        done += 1
        if progress:
            progress(done, len(wanted))
    return _finished(store, run, questions)


def import_predictions(
    predicted: Sequence[Predicted],
    questions: Sequence[Question],
    store: RunStore,
    name: str,
    system: str,
    provenance: Mapping[str, str],
    tau: float | None = None,
) -> Run:
    """Keep another system's answers as a run. Twice is once.

    `provenance` says where the predictions come from, and is part of their traces. A question without
    predictions counts as not answered. With `tau` only answers scored above it are predicted. Raises
    InputError for predictions that belong to no question, or for a `tau` on answers that have no scores.
    """
    pairs = aligned(predicted, questions)
    scored = any(answer.score is not None for own in predicted for answer in own.answers)
    if tau is not None and not scored:
        raise InputError(f"tau is {tau}, but the predictions have no scores. Leave it out.")
    if absent := sum(own is None for _, own in pairs):
        log.warning("%d of %d questions have no prediction: not answered.", absent, len(pairs))
    of_traces = {"system": system} | dict(provenance)
    facts = dict(provenance) | _facts(questions)
    run = store.create(Run("", name, system, "", 0, scored, tau, EVIDENCE_SIZES[-1], facts))
    for start in range(0, len(pairs), BATCH):
        batch = enumerate(pairs[start : start + BATCH], start)
        store.add_questions(
            run.id, [predicted_question(question, own, i, of_traces, tau) for i, (question, own) in batch]
        )
    return _finished(store, run, questions)


def run_summary(questions: Sequence[RunQuestion], seed: int = 0) -> str:
    """F1 and #Hit of a run with their 95 % bootstrap intervals, in one line; over questions with gold."""
    known = [question for question in questions if question.question.answers]
    scores = run_scores(known, seed=seed)
    if scores is None:
        return "no gold is known"
    multi = run_scores([question for question in known if is_multi(question.question)], seed=seed)
    found = [hits(predictions(question), question.question.answers) for question in known]
    hit = bootstrap_mean(found, seed)
    parts = [
        *([f"{len(known):,} with gold"] if len(known) < len(questions) else ()),
        _f1("F1", scores),
        *([_f1(f"F1 of {multi.questions:,} with several answers", multi)] if multi else ()),
        f"#Hit {sum(found):,} [{hit.low * len(known):,.0f}, {hit.high * len(known):,.0f}]",
    ]
    return " · ".join(parts)


def _f1(name: str, scores: Scores) -> str:
    return f"{name} {_points(scores.f1)} optimal, {_points(scores.f1_official)} official"


def _points(interval: Interval) -> str:
    return f"{100 * interval.mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _check(questions: Sequence[Question]) -> None:
    for question in questions:
        try:
            check_question(checked_text("question", question.text))
        except InputError as error:
            raise InputError(f"Question {question.id!r} can't be asked. {error}") from error


def _facts(questions: Sequence[Question]) -> dict[str, str]:
    """What tells one question set from another, in words that fit a run's provenance."""
    digest = hashlib.sha256(to_json(list(questions)).encode(errors="surrogatepass")).hexdigest()
    return {"questions": str(len(questions)), "questions_sha256": digest}


def _finished(store: RunStore, run: Run, questions: Sequence[Question]) -> Run:
    if len(store.question_ids(run.id)) == len(questions):
        store.finish(run.id)
    return store.run(run.id)

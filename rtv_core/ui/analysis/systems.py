"""How many valid answers no run on the same questions found, over all such runs in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rtv_core.analysis.missing import Missing, found_by_run, missing_answers, unjudged_answers
from rtv_core.analysis.rulings import Counting, settle
from rtv_core.records import Judgement, Run, RunQuestion
from rtv_core.store.runs import RunStore
from rtv_core.store.traces import question_key

__all__ = ["MOST_SYSTEMS", "missing_by_systems"]

MOST_SYSTEMS = 20
NAMES_TOLD = 5


def missing_by_systems(
    run: Run,
    questions: Sequence[RunQuestion],
    counting: Counting,
    judgements: Sequence[Judgement],
    runs: RunStore,
    load: Callable[[Run], Sequence[RunQuestion]],
) -> Missing:
    """The estimate over a run and the newest others that answered every one of its questions with gold.

    A verdict counts for every run that gave the answer. `load` gives a run's questions. Raises InputError
    where too little is known (see `analysis.missing`).
    """
    texts = {q.question.id: question_key(q.question.text) for q in questions if q.question.answers}
    rulings = settle(judgements, replace(counting, across_runs=True))
    found: dict[str, frozenset[tuple[str, str]]] = {run.name: found_by_run(questions, texts.keys(), rulings)}
    unjudged, left_out = unjudged_answers(questions, texts.keys(), rulings), []
    for other in (own for own in runs.runs() if own.id != run.id):
        shared = texts.keys() & runs.question_ids(other.id)
        if len(found) == MOST_SYSTEMS or len(shared) < len(texts):
            left_out += [other.name] if shared else []
            continue
        theirs = load(other)
        if all(
            texts.get(q.question.id, key) == key for q in theirs for key in [question_key(q.question.text)]
        ):
            found[other.name] = found_by_run(theirs, texts.keys(), rulings)
            unjudged += unjudged_answers(theirs, texts.keys(), rulings)
    return _with_notes(missing_answers(found), unjudged, left_out)


def _with_notes(missing: Missing, unjudged: int, left_out: Sequence[str]) -> Missing:
    notes = list(missing.notes)
    if unjudged:
        notes.append(
            f"{unjudged:,} predictions that equal no gold answer have no clear verdict: they count as wrong, "
            "and an answer that only some systems had judged counts as theirs alone."
        )
    if left_out:
        names = ", ".join(name[:80] for name in left_out[:NAMES_TOLD])
        more = f" and {len(left_out) - NAMES_TOLD:,} more" if len(left_out) > NAMES_TOLD else ""
        notes.append(f"Left out, as they lack some of these questions or are older: {names}{more}.")
    return replace(missing, notes=tuple(notes))

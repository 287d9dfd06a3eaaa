"""What became of a question's candidates and gold answers: given, or lost, and then at which stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtv_core.metrics import f1_optimal, matched_answers
from rtv_core.records import Candidate, Question, RunAnswer, RunGold, Trace
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.text import covers_any, same_answer
from rtv_core.thresholds import judge, repeats

__all__ = ["Outcome", "given_outcome", "outcome"]

Annotation = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The candidates, best first, and the gold answers of the annotation that suits the predictions best."""

    answers: tuple[RunAnswer, ...]
    gold: tuple[RunGold, ...]


def outcome(trace: Trace, settings: Settings) -> Outcome:
    """What a finished trace amounts to under these settings.

    A gold answer is lost at the first stage that let it go: no passage covers it, no candidate equals it, the
    evidence of none of these covers it, or none was accepted. The last is called "at or below tau" also where
    only the best answer was wanted, or a better candidate was cut from the same words.
    """
    answers = _judged(trace, settings.verifier)
    annotation = _annotation(answers, trace.question)
    gold = [RunGold(s[0], tuple(s), _lost(trace, settings, answers, s)) for s in annotation]
    return Outcome(_marked(answers, annotation), tuple(gold))


def given_outcome(answers: Sequence[RunAnswer], question: Question) -> Outcome:
    """What a system's answers amount to where nothing is known of its passages.

    `answers` are best first; their `gold` is set here. All that can be said of a gold answer which was not
    predicted is whether it is among the rejected answers ("at or below tau").
    """
    annotation = _annotation(answers, question)
    gold = []
    for spellings in annotation:
        equal = [answer for answer in answers if _equals(answer.spellings, spellings)]
        lost = "at or below tau" if equal else "not predicted"
        lost = "predicted" if any(answer.predicted for answer in equal) else lost
        gold.append(RunGold(spellings[0], tuple(spellings), lost))
    return Outcome(_marked(answers, annotation), tuple(gold))


def _judged(trace: Trace, settings: VerifierSettings) -> list[RunAnswer]:
    answers, distinct = [], []  # type: list[RunAnswer], list[Candidate]
    for prediction in judge(trace, settings):
        candidate = trace.candidates[prediction.index]
        # Whatever tau is: the better one of two repeats passes any tau that the other passes.
        repeated = not prediction.accepted and _repeats(candidate, distinct)
        answers.append(
            RunAnswer(
                candidate.answer,
                candidate.spellings,
                prediction.p_right,
                prediction.accepted,
                "",
                repeated,
            )
        )
        if not repeated:
            distinct.append(candidate)
    return answers


def _repeats(candidate: Candidate, kept: Sequence[Candidate]) -> bool:
    return any(repeats(candidate, better) for better in kept)


def _annotation(answers: Sequence[RunAnswer], question: Question) -> Annotation:
    """The annotation of best F1; of those, the one of which the candidates hold the largest share."""
    predicted = [answer.answer for answer in answers if answer.predicted]

    def fit(annotation: Annotation) -> tuple[float, float]:
        held = [any(_equals(a.spellings, spellings) for a in answers) for spellings in annotation]
        return f1_optimal(predicted, (annotation,)).f1, sum(held) / max(len(held), 1)

    return max(question.answers, key=fit, default=())


def _marked(answers: Sequence[RunAnswer], annotation: Annotation) -> tuple[RunAnswer, ...]:
    return tuple(replace(answer, gold=_gold(answer, annotation)) for answer in answers)


def _gold(answer: RunAnswer, annotation: Annotation) -> str:
    """Of a predicted answer, what the measures see; of a rejected one, what was found in any spelling."""
    if answer.predicted:
        equal = matched_answers([answer.answer], annotation)
    else:
        equal = [_equals(answer.spellings, spellings) for spellings in annotation]
    return next((s[0] for s, same in zip(annotation, equal, strict=True) if same), "")


def _equals(spellings: Sequence[str], gold: Sequence[str]) -> bool:
    return any(same_answer(spelling, other) for spelling in spellings for other in gold)


def _lost(trace: Trace, settings: Settings, answers: Sequence[RunAnswer], gold: Sequence[str]) -> str:
    if any(answer.predicted and _equals(answer.spellings, gold) for answer in answers):
        return "predicted"
    recalled = [i for i, c in enumerate(trace.candidates) if _equals(c.spellings, gold)]
    if any(_covered(trace, i, settings) for i in recalled):
        return "at or below tau"
    if recalled:
        return "not covered"
    rule = settings.evidence.coverage
    texts = (f"{hit.passage.title} {hit.passage.text}" for hit in trace.hits)
    return "not recalled" if any(covers_any(text, gold, rule) for text in texts) else "not retrieved"


def _covered(trace: Trace, index: int, settings: Settings) -> bool:
    """Whether the evidence that the score rests on covers the candidate."""
    evidence = trace.evidence[index : index + 1]
    passages = [passage for body in evidence for passage in body.passages[: settings.verifier.k]]
    return any(settings.evidence.coverage in passage.covers for passage in passages)

"""Which candidates become answers."""

from __future__ import annotations

from rtv_core.records import Candidate, Prediction, Question, Trace, Verdict
from rtv_core.settings import VerifierSettings
from rtv_core.thresholds import TAUS, answers, judge


def test_answers_lie_strictly_above_tau_best_first() -> None:
    trace = _trace({"one": 0.5, "two": 0.7, "three": 0.50001, "four": 0.1})
    predictions = judge(trace, VerifierSettings(tau=0.5))
    assert predictions == (
        Prediction(1, "two", 0.7, accepted=True),
        Prediction(2, "three", 0.50001, accepted=True),
        Prediction(0, "one", 0.5, accepted=False),
        Prediction(3, "four", 0.1, accepted=False),
    )
    assert answers(predictions) == ["two", "three"]


def test_when_none_passes_the_best_is_kept_as_fallback() -> None:
    predictions = judge(_trace({"one": 0.1, "two": 0.5}), VerifierSettings(tau=0.5))
    assert predictions[0] == Prediction(1, "two", 0.5, accepted=True, fallback=True)
    assert answers(predictions) == ["two"]


def test_single_answer_mode_keeps_the_best_alone() -> None:
    settings = VerifierSettings(tau=0.5, single_answer=True)
    predictions = judge(_trace({"one": 0.8, "two": 0.9}), settings)
    assert (answers(predictions), predictions[0].fallback) == (["two"], False)
    low = judge(_trace({"one": 0.2, "two": 0.1}), settings)
    assert (answers(low), low[0].fallback) == (["one"], True)


def test_of_one_answer_in_two_spellings_the_better_counts() -> None:
    trace = _trace({"1000": 0.8, "1,000": 0.9, "Beyonce": 0.7, "Beyoncé": 0.6, "other": 0.95})
    predictions = judge(trace, VerifierSettings(tau=0.5))
    assert answers(predictions) == ["other", "1,000", "Beyonce"]
    assert len(predictions) == 5


def test_ties_go_to_the_first_candidate() -> None:
    assert answers(judge(_trace({"one": 0.6, "two": 0.6}), VerifierSettings(tau=0.5))) == ["one", "two"]


def test_k_chooses_among_the_stored_scores() -> None:
    trace = _trace({"one": 0.0}).grown(verdicts=(Verdict((0.1, 0.2, 0.9)),))
    assert [judge(trace, VerifierSettings(k=k))[0].p_right for k in (1, 5, 10)] == [0.1, 0.2, 0.9]


def test_without_verdicts_there_is_no_answer() -> None:
    assert judge(Trace(Question("", "?")), VerifierSettings()) == ()


def test_candidates_not_verified_yet_are_no_answers() -> None:
    trace = _trace({"one": 0.9, "two": 0.8})
    assert answers(judge(trace.grown(verdicts=trace.verdicts[:1]), VerifierSettings())) == ["one"]


def test_more_tau_never_means_more_answers() -> None:
    trace = _trace({f"answer {i}": i / 20 for i in range(20)})
    counts = [len(answers(judge(trace, VerifierSettings(tau=tau)))) for tau in TAUS]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1


def _trace(scores: dict[str, float]) -> Trace:
    return Trace(
        Question("", "?"),
        candidates=tuple(Candidate(answer, (answer,), 0.5, ()) for answer in scores),
        verdicts=tuple(Verdict((score,) * 3) for score in scores.values()),
    )

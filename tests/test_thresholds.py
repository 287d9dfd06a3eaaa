"""Which candidates become answers."""

from __future__ import annotations

from dataclasses import replace

from rtv_core.records import Candidate, Prediction, Question, Source, Span, Trace, Verdict
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


def test_answers_that_signs_tell_apart_all_count() -> None:
    for names in (("C", "C++", "C#"), ("B+", "B-", "AB+"), ("1.5 million", "15 million"), ("+", "#")):
        trace = _trace({name: 0.9 - 0.1 * place for place, name in enumerate(names)})
        assert answers(judge(trace, VerifierSettings(tau=0.5))) == list(names)


def test_of_two_cuts_of_one_place_the_better_counts() -> None:
    trace = _placed({"Al Unser": (0.8, "a", 0, 8), "Al Unser and Rick Mears": (0.7, "a", 0, 23)})
    predictions = judge(trace, VerifierSettings(tau=0.5))
    assert answers(predictions) == ["Al Unser"]
    assert [p.answer for p in predictions] == ["Al Unser", "Al Unser and Rick Mears"]


def test_a_cut_that_stands_alone_elsewhere_counts_too() -> None:
    trace = _placed({"Rick Mears": (0.7, "a", 13, 23), "Al Unser and Rick Mears": (0.8, "a", 0, 23)})
    alone = Source("b", 2, Span(0, 10, 0.5), 1.0)
    mears = replace(trace.candidates[0], sources=(*trace.candidates[0].sources, alone))
    both = trace.grown(candidates=(mears, trace.candidates[1]))
    assert answers(judge(trace, VerifierSettings())) == ["Al Unser and Rick Mears"]
    assert answers(judge(both, VerifierSettings())) == ["Al Unser and Rick Mears", "Rick Mears"]


def test_a_part_of_a_name_that_was_mostly_cut_from_it_repeats_it_and_so_does_a_longer_one() -> None:
    once, alone = ("a", 0, 12), ("b", 0, 12)
    for better, other in (("Jacksonville Jaguars", "Jacksonville"), ("Jacksonville", "Jacksonville Jaguars")):
        trace = _placed({better: (0.8, *once), other: (0.7, *once)})
        elsewhere = Source(alone[0], 2, Span(*alone[1:], 0.5), 1.0)
        cut = replace(trace.candidates[1], sources=(*trace.candidates[1].sources, elsewhere))
        both = trace.grown(candidates=(trace.candidates[0], cut))
        assert answers(judge(both, VerifierSettings())) == [better]


def test_a_name_that_was_once_cut_from_a_longer_one_counts_if_most_places_are_its_own() -> None:
    trace = _placed({"West Virginia": (0.8, "a", 0, 13), "Virginia": (0.7, "a", 5, 13)})
    own = [Source(name, rank, Span(0, 8, 0.5), 1.0) for rank, name in enumerate("bc", 2)]
    virginia = replace(trace.candidates[1], sources=(*trace.candidates[1].sources, *own))
    both = trace.grown(candidates=(trace.candidates[0], virginia))
    assert answers(judge(trace, VerifierSettings())) == ["West Virginia"]
    assert answers(judge(both, VerifierSettings())) == ["West Virginia", "Virginia"]


def test_a_part_of_a_name_that_was_never_cut_from_it_counts() -> None:
    trace = _placed({"New York City": (0.8, "a", 0, 13), "New York": (0.7, "b", 0, 8)})
    assert answers(judge(trace, VerifierSettings())) == ["New York City", "New York"]


def test_a_cut_of_a_rejected_candidate_counts() -> None:
    placed = {"one two": (0.9, "a", 0, 7), "two three": (0.8, "a", 4, 13), "three": (0.7, "a", 8, 13)}
    assert answers(judge(_placed(placed), VerifierSettings())) == ["one two", "three"]


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


def _placed(candidates: dict[str, tuple[float, str, int, int]]) -> Trace:
    """Candidates with a score and one place each."""
    return Trace(
        Question("", "?"),
        candidates=tuple(
            Candidate(answer, (answer,), 0.5, (Source(passage, 1, Span(start, end, 0.5), 1.0),))
            for answer, (_, passage, start, end) in candidates.items()
        ),
        verdicts=tuple(Verdict((score,) * 3) for score, *_ in candidates.values()),
    )

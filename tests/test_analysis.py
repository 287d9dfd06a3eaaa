"""What runs and verdicts amount to, by cases one can count by hand, properties, and two simulations."""

from __future__ import annotations

import random
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest

from rtv_core.analysis.blame import stage_blame
from rtv_core.analysis.calibration import (
    ScoredItem,
    reliability,
    score_histogram,
    scored_by_gold,
    scored_by_verdicts,
)
from rtv_core.analysis.columns import COLUMNS, gold_sources, no_sources
from rtv_core.analysis.comparison import compare_runs
from rtv_core.analysis.corrected import Addition, correct_gold, distinct_answers
from rtv_core.analysis.curves import at_tau, best_point, tau_curve
from rtv_core.analysis.estimate import estimated_scores
from rtv_core.analysis.filters import read_conditions, selected
from rtv_core.analysis.headline import headline, right_share
from rtv_core.analysis.missing import (
    found_by_annotators,
    found_by_run,
    found_by_runs,
    missing_answers,
    unjudged_answers,
)
from rtv_core.analysis.mistakes import inclusion_of, missed_gold, weighed_queues, wrong_predictions
from rtv_core.analysis.rounds import Round, by_annotator, compare_rounds, on_items, since
from rtv_core.analysis.rulings import Counting, settle
from rtv_core.analysis.scores import predictions, question_scores, rescored, run_scores
from rtv_core.analysis.shares import share, weighted_share
from rtv_core.analysis.slices import by_column, by_gold_answers, by_question_word, f1_slices
from rtv_core.analysis.table6 import error_table
from rtv_core.errors import InputError
from rtv_core.metrics import f1_official
from rtv_core.records import LOST, Judgement, Question, QueueItem, RunAnswer, RunGold, RunQuestion
from rtv_core.text import normalise_answer

RELEASES = ((("1995",), ("April 24, 2010", "2010"), ("2012",)),)


def asked(gold, *answers: str, position: int = 0, text: str = "", scores=(), lost=()) -> RunQuestion:
    """A run's question; a candidate with a minus before it was not predicted. `lost` is by gold answer."""
    question = Question(f"q{position}", text or f"question {position}", gold)
    best = gold[0] if gold else ()
    names = {normalise_answer(s): answer[0] for answer in best for s in answer}
    scores = scores or [None] * len(answers)
    found = tuple(
        RunAnswer(
            (plain := answer.removeprefix("-")),
            (plain,),
            score,
            not answer.startswith("-"),
            names.get(normalise_answer(plain), ""),
        )
        for answer, score in zip(answers, scores, strict=True)
    )
    predicted = {a.gold for a in found if a.predicted}
    own = tuple(
        RunGold(answer[0], answer, lost[i] if lost else LOST[4] if answer[0] in predicted else LOST[3])
        for i, answer in enumerate(best)
    )
    return RunQuestion("run", position, question, f"trace{position}", found, own)


def said(answer: str, label: str, by: str = "Ada", position: int = 0, **more) -> Judgement:
    return Judgement(f"trace{position}", f"question {position}", answer, label, by, **{"blind": True} | more)


def ruled(*judgements: Judgement, **counting):
    return settle(judgements, Counting(**counting))


# Shares


@pytest.mark.parametrize(("count", "of"), [(0, 9), (1, 9), (8, 9), (9, 9), (71, 112), (5, 25)])
def test_a_share_has_wilsons_interval(count: int, of: int) -> None:
    expected = binomtest(count, of).proportion_ci(method="wilson")
    found = share("right", count, of)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_of_nothing_nothing_is_known() -> None:
    found = share("right", 0, 0)
    assert (found.of, found.low, found.high) == (0, 0, 1)


@pytest.mark.parametrize("weight", [1, 2.5])
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_equal_weights_give_the_plain_share(count: int, weight: float) -> None:
    has = [place < count for place in range(5)]
    weighted, plain = weighted_share("x", has, [weight] * 5), share("x", count, 5)
    assert (weighted.count, weighted.of) == (plain.count, plain.of)
    assert (weighted.share, weighted.low, weighted.high) == pytest.approx(
        (plain.share, plain.low, plain.high)
    )


def test_an_item_counts_for_those_it_stands_for() -> None:
    found = weighted_share("x", [True, False, False], [1, 2, 1])
    assert (found.count, found.of, found.share) == (1, 3, 1 / 4)


def test_items_of_one_question_count_for_less_than_as_many_questions() -> None:
    has, weights = [True, True, False, False], [1] * 4
    apart, together = weighted_share("x", has, weights), weighted_share("x", has, weights, [7, 7, 8, 8])
    assert together.low < apart.low < 0.5 < apart.high < together.high


def test_an_item_that_could_not_be_drawn_has_no_weight() -> None:
    with pytest.raises(ValueError, match="some chance"):
        weighted_share("x", [True, False], [1, 0])


def test_intervals_cover_the_truth_in_about_95_of_100_samples() -> None:
    rng = np.random.default_rng(5)
    size, draws = 4000, 600
    near = rng.random(size)  # the design favours what lies near tau, and that is right more often
    right = rng.random(size) < 0.15 + 0.5 * near
    chance = 0.01 + 0.07 * near
    covered = {"weighted": 0, "uniform": 0}
    for _ in range(draws):
        own = rng.random(size) < chance
        found = weighted_share("right", right[own].tolist(), (1 / chance[own]).tolist())
        covered["weighted"] += found.low <= right.mean() <= found.high
        own = rng.choice(size, 120, replace=False)
        found = share("right", int(right[own].sum()), 120)
        covered["uniform"] += found.low <= right.mean() <= found.high
    assert 0.92 < covered["weighted"] / draws < 0.98
    assert 0.92 < covered["uniform"] / draws < 0.98


# Rulings


def one_ruling(*judgements: Judgement, **counting):
    rulings = ruled(*judgements, **counting)
    return rulings.of(asked(RELEASES, "x"), "x")


def test_a_lone_verdict_counts_if_it_was_blind() -> None:
    assert one_ruling(said("x", "invalid")).label == "invalid"
    seen = said("x", "invalid", blind=False)
    assert one_ruling(seen) is None
    assert ruled(seen).left_out == 1
    assert one_ruling(seen, settled_only=False).basis == "single"


def test_more_than_half_of_those_who_are_sure_decide() -> None:
    votes = [said("x", "unlisted", "A", blind=False), said("x", "unlisted", "B", blind=False)]
    ruling = one_ruling(*votes, said("x", "invalid", "C"), said("x", "unsure", "D"))
    assert (ruling.label, ruling.basis, ruling.ballots) == ("unlisted", "majority", 4)


def test_a_tie_is_split_and_says_nothing_of_validity() -> None:
    ruling = one_ruling(said("x", "unlisted", "A"), said("x", "invalid", "B"))
    assert (ruling.label, ruling.valid) == ("split", None)


def test_an_answer_that_all_call_right_is_right_though_they_split_on_its_kind() -> None:
    votes = [said("2013", "unlisted", "A"), said("2013", "variant", "B", gold="2012")]
    wrong = asked(RELEASES, "1995", "2013", "1066")
    ruling = ruled(*votes).of(wrong, "2013")
    assert (ruling.label, ruling.valid, ruling.clear) == ("split", True, False)
    more = ruled(*votes, said("2013", "invalid", "C"), said("2013", "invalid", "D")).of(wrong, "2013")
    assert (more.label, more.valid) == ("split", None)
    rulings = ruled(*votes, said("1066", "invalid"))
    found = right_share([wrong], rulings)
    assert (found.count, found.of) == (1, 2)
    # It counts as an answer of its own: two of three predictions right, of four answers wanted.
    estimate = estimated_scores([wrong], rulings)
    assert estimate.complete
    assert (estimate.precision.mean, estimate.recall.mean) == pytest.approx((2 / 3, 2 / 4))
    scores = rescored([wrong], correct_gold([wrong], rulings).questions)
    assert headline(scores, estimate, found, 2).corrected.mean == pytest.approx(4 / 7)


def test_an_adjudicator_overrules_the_majority() -> None:
    votes = [said("x", "invalid", name) for name in "AB"]
    ruling = one_ruling(
        *votes, said("x", "unlisted", "Judge", blind=False), adjudicators=frozenset({"Judge"})
    )
    assert (ruling.label, ruling.basis) == ("unlisted", "adjudicated")


def test_listed_and_variant_of_one_gold_answer_say_the_same() -> None:
    ruling = one_ruling(said("x", "listed", "A", gold="2012"), said("x", "variant", "B", gold="2012"))
    assert (ruling.label, ruling.gold) == ("variant", "2012")
    ruling = one_ruling(said("x", "variant", "A", gold="1995"), said("x", "variant", "B", gold="2012"))
    assert ruling.label == "split"


def test_evidence_is_put_to_the_vote_apart() -> None:
    votes = [
        said("x", "invalid", n, evidence=e) for n, e in zip("ABC", ("supports", "supports", ""), strict=True)
    ]
    assert one_ruling(*votes).supported is True
    assert one_ruling(*votes[:1], said("x", "invalid", "B", evidence="contradicts")).supported is None
    assert one_ruling(said("x", "invalid")).supported is None


def test_the_latest_verdict_of_an_annotator_counts() -> None:
    old, new = said("x", "invalid", at="2026-01-01"), said("x", "unlisted", at="2026-01-02")
    assert one_ruling(new, old).label == one_ruling(old, new).label == "unlisted"


def test_verdicts_carry_over_to_other_runs_only_if_asked_to() -> None:
    elsewhere = replace(said("x", "unlisted"), trace_id="of another run", question="Question  0")
    assert one_ruling(elsewhere) is None
    assert one_ruling(elsewhere, across_runs=True).label == "unlisted"


# Stage blame and table 6


def test_blame_counts_each_gold_answer_once() -> None:
    questions = [
        asked(RELEASES, lost=("not retrieved", "predicted", "at or below tau")),
        asked(RELEASES, lost=("predicted", "predicted", "not recalled")),
    ]
    found = {s.name: (s.count, s.of) for s in stage_blame(questions)}
    assert found == {
        "not retrieved": (1, 6),
        "not recalled": (1, 6),
        "not covered": (0, 6),
        "at or below tau": (1, 6),
        "predicted": (3, 6),
    }


def test_without_passages_only_predicted_or_not_is_told() -> None:
    shares = stage_blame([asked(RELEASES, lost=("at or below tau", "not predicted", "not predicted"))])
    expected = [("at or below tau", 1), ("predicted", 0), ("not predicted", 2)]
    assert [(s.name, s.count) for s in shares] == expected


WRONG = asked(RELEASES, "1995", "1996", "24/4/10", "2013", "2014", "2015", "2015.", "-2016", "-2012", "-2010")
"""Five distinct wrong predictions, and two recalled gold answers that were missed."""


def test_mistakes_are_distinct_wrong_predictions_and_recalled_missed_gold() -> None:
    wrong = wrong_predictions([WRONG], ruled())
    assert [m.answer for m in wrong] == ["1996", "24/4/10", "2013", "2014", "2015"]
    assert [m.answer for m in missed_gold([WRONG], ruled())] == ["April 24, 2010", "2012"]


def test_without_known_gold_no_prediction_is_wrong() -> None:
    assert wrong_predictions([asked((), "1995")], ruled()) == []


def test_a_prediction_that_another_annotation_holds_is_not_wrong() -> None:
    question = asked((*RELEASES, (("1996",), ("1997",))), "1995", "1996", "1998")
    assert [m.answer for m in wrong_predictions([question], ruled())] == ["1998"]


def test_table_6_sorts_the_mistakes() -> None:
    rulings = ruled(
        said("1996", "invalid"),
        said("24/4/10", "variant", gold="April 24, 2010"),
        said("2013", "unlisted"),
        said("2014", "unsure"),
        said("2015", "unlisted", "A"),
        said("2015", "invalid", "B"),
        said("2010", "listed", evidence="supports", gold="April 24, 2010"),
        said("2012", "listed", evidence="other-entity", gold="2012"),
    )
    table = error_table([WRONG], rulings)
    assert [(row.plain.count, row.plain.of) for row in table.wrong.rows] == [(1, 3)] * 3
    assert (table.wrong.total, table.wrong.unsure, table.wrong.split, table.wrong.unjudged) == (5, 1, 1, 0)
    assert [(row.name, row.plain.count) for row in table.missed.rows] == [
        ("evidence wrong", 1),
        ("evidence right and straightforward", 1),
    ]
    assert all(row.weighted is None for row in (*table.wrong.rows, *table.missed.rows))


def test_table_6_stands_beside_the_published_one() -> None:
    table = error_table([WRONG], ruled())
    published = [row.published.share for row in (*table.wrong.rows, *table.missed.rows)]
    assert published == [0.20, 0.52, 0.28, 0.24, 0.76]
    assert (table.wrong.unjudged, table.missed.unjudged) == (5, 2)


def test_a_wrong_prediction_called_listed_is_superficially_different() -> None:
    table = error_table([WRONG], ruled(said("24/4/10", "listed", gold="April 24, 2010")))
    assert table.wrong.rows[1].plain.count == 1


def test_table_6_weighs_items_by_the_chance_they_had() -> None:
    items = [
        QueueItem(0, "trace0", "prediction", "1996", 1.0, "wrong prediction"),
        QueueItem(0, "trace0", "prediction", "2013", 0.25, "wrong prediction"),
    ]
    rulings = ruled(said("1996", "invalid"), said("2013", "unlisted"), said("2014", "invalid"))
    rows = error_table([WRONG], rulings, inclusion_of(items)).wrong.rows
    assert [row.weighted.share for row in rows] == [1 / 5, 0, 4 / 5]
    assert [row.plain.share for row in rows] == pytest.approx([2 / 3, 0, 1 / 3])


def test_a_certain_draw_makes_the_weighted_table_the_plain_one() -> None:
    items = [
        QueueItem(0, "trace0", "prediction", m.answer, 1.0, "") for m in wrong_predictions([WRONG], ruled())
    ]
    rulings = ruled(said("1996", "invalid"), said("2013", "unlisted"))
    for row in error_table([WRONG], rulings, inclusion_of(items)).wrong.rows:
        assert (row.weighted.share, row.weighted.low) == pytest.approx((row.plain.share, row.plain.low))


def test_over_all_draws_of_two_queues_every_item_stands_for_itself() -> None:
    """One queue draws one of three items, unevenly; another one draws two, evenly: all 9 pairs of draws."""
    names, uneven = ("1", "2", "3"), (0.5, 0.3, 0.2)
    stands_for = dict.fromkeys(names, 0.0)
    for name, chance in zip(names, uneven, strict=True):
        for left in names:
            one = [QueueItem(0, "trace0", "prediction", name, chance, "")]
            two = [QueueItem(0, "trace0", "prediction", n, 2 / 3, "") for n in names if n != left]
            for (_, _, key), inclusion in inclusion_of(one, two).items():
                stands_for[key] += chance / 3 / inclusion
    assert stands_for == pytest.approx(dict.fromkeys(names, 1.0))


def test_only_queues_judged_to_the_end_weigh_or_else_the_one_judged_furthest() -> None:
    def queue(*answers: str) -> list[QueueItem]:
        return [QueueItem(0, "trace0", "prediction", answer, 0.5, "") for answer in answers]

    def weighed(*queues: list[QueueItem], judged: str) -> tuple[int, ...]:
        return weighed_queues(queues, lambda item: item.answer in judged)

    small, all_of_them = queue("a", "b"), queue("a", "b", "c", "d")
    assert weighed(small, all_of_them, judged="ab") == (0,)
    assert weighed(small, all_of_them, judged="abcd") == (0, 1)
    assert weighed(small, all_of_them, judged="acd") == (1,)
    assert weighed(small, all_of_them, judged="") == weighed(judged="") == ()


# Corrected gold


def corrected(question: RunQuestion, *judgements: Judgement):
    return correct_gold([question], ruled(*judgements))


def test_an_unlisted_answer_joins_every_annotation() -> None:
    question = asked(((("a1",), ("b",)), (("c",),)), "d")
    found = corrected(question, said("d", "unlisted"))
    assert found.questions[0].answers == ((("a1",), ("b",), ("d",)), (("c",), ("d",)))
    assert found.additions == (Addition(0, "d", ""),)


def test_a_variant_becomes_a_spelling_of_the_answer_it_names() -> None:
    found = corrected(WRONG, said("24/4/10", "variant", gold="2010"))
    assert found.questions[0].answers[0][1] == ("April 24, 2010", "2010", "24/4/10")
    assert found.additions == (Addition(0, "24/4/10", "April 24, 2010"),)


def test_a_variant_may_name_an_unlisted_answer_or_another_variant() -> None:
    found = corrected(
        WRONG,
        said("2013", "unlisted"),
        said("13", "variant", gold="the year '13"),
        said("the year '13", "variant", gold="2013"),
    )
    assert found.questions[0].answers[0][3] == ("2013", "the year '13", "13")


def test_a_variant_of_no_gold_answer_is_reported() -> None:
    found = corrected(WRONG, said("2013", "variant", gold="1850"))
    assert found.questions[0] == WRONG.question
    assert [ruling.answer for _, ruling in found.unresolved] == ["2013"]


def test_ties_and_doubts_leave_gold_as_it_is() -> None:
    votes = said("2013", "unlisted", "A"), said("2013", "invalid", "B"), said("1996", "unsure")
    found = corrected(WRONG, *votes)
    assert found.questions[0] == WRONG.question
    assert [(position, ruling.answer) for position, ruling in found.split] == [(0, "2013")]


def test_what_gold_holds_already_is_not_added() -> None:
    found = corrected(WRONG, said("2010", "unlisted"), said("1995.", "listed", gold="1995"))
    assert found.questions[0] == WRONG.question
    assert found.additions == ()


def test_an_answer_that_people_call_listed_becomes_a_spelling_if_the_measures_do_not_find_it() -> None:
    found = corrected(WRONG, said("24/4/10", "listed", gold="2010"))
    assert found.questions[0].answers[0][1] == ("April 24, 2010", "2010", "24/4/10")


def test_no_answer_gives_way_to_an_unlisted_one() -> None:
    question = asked(((),), "x")
    found = corrected(question, said("x", "unlisted"))
    assert found.questions[0].answers == ((("x",),),)
    assert question_scores([question], found.questions)[0].f1 == 1


def test_unknown_gold_stays_unknown() -> None:
    found = corrected(asked((), "x"), said("x", "unlisted"))
    assert (found.questions[0].answers, found.without_gold) == ((), 1)


def test_the_runs_own_words_are_added_with_the_judged_ones() -> None:
    question = asked(RELEASES, "Jean-Luc")
    found = corrected(question, said("Jean Luc", "unlisted"))
    assert found.questions[0].answers[0][3] == ("Jean Luc", "Jean-Luc")


def test_distinct_answers_unite_annotations() -> None:
    question = Question("q", "?", ((("a b", "c"),), (("c", "d"), ("e",))))
    assert distinct_answers(question) == (("a b", "c", "d"), ("e",))


# Scores


def random_run(rng: random.Random, count: int, scored: bool = False) -> list[RunQuestion]:
    """Questions with one to three annotations over a few short names, so that spellings collide."""
    names = [f"{a}{b}" for a in "bcdefg" for b in "xyz"]
    questions = []
    for position in range(count):
        gold = tuple(
            tuple(tuple(rng.sample(names, rng.randint(1, 2))) for _ in range(rng.randint(0, 3)))
            for _ in range(rng.randint(1, 3))
        )
        answers = rng.sample(names, rng.randint(0, 6))
        scores = sorted((rng.choice((0.1, 0.2, 0.35, 0.6, 0.8)) for _ in answers), reverse=True)
        if not scored:
            answers = [rng.choice(("", "", "-")) + answer for answer in answers]
        questions.append(asked(gold, *answers, position=position, scores=scores if scored else ()))
    return questions


def test_judging_every_answer_as_gold_says_changes_nothing() -> None:
    questions = random_run(random.Random(1), 300)
    rulings = ruled(
        *(
            said(a.answer, "listed" if a.gold else "invalid", position=q.position, gold=a.gold)
            for q in questions
            for a in q.answers
        )
    )
    gold = correct_gold(questions, rulings)
    assert gold.questions == tuple(q.question for q in questions)
    found = rescored(questions, gold.questions)
    assert found.corrected == found.raw
    assert (found.gain.mean, found.gain.low, found.gain.high) == (0, 0, 0)
    estimate = estimated_scores(questions, rulings)
    assert estimate.f1 == found.raw.f1
    assert estimate.f1_multi == found.raw_multi.f1
    assert estimate.complete


def test_scores_before_and_after_correction() -> None:
    questions = [asked(RELEASES, "1995", "2013"), asked(((("Ada",),),), "Ada Lovelace", position=1)]
    rulings = ruled(said("2013", "unlisted"), said("Ada Lovelace", "variant", position=1, gold="Ada"))
    found = rescored(questions, correct_gold(questions, rulings).questions)
    assert found.raw.f1.mean == pytest.approx((2 / 5 + 0) / 2)
    assert found.corrected.f1.mean == pytest.approx((4 / 6 + 1) / 2)
    assert (found.raw.precision.mean, found.corrected.precision.mean) == (1 / 4, 1)
    assert found.corrected.recall.mean == (2 / 4 + 1) / 2
    assert found.gain.mean == pytest.approx(found.corrected.f1.mean - found.raw.f1.mean)
    assert (found.raw_multi.questions, found.raw_multi.f1.mean) == (1, 2 / 5)
    assert found.corrected_multi.f1.mean == 4 / 6


def test_official_f1_stands_beside_the_optimal_one() -> None:
    trap = asked(((("x y", "c d"), ("x y",)),), "x y", "c d")
    scores = run_scores([trap])
    assert (scores.f1.mean, scores.f1_official.mean) == (1, 1 / 2)
    assert question_scores([trap], measure=f1_official)[0].recall == 1 / 2


def test_a_run_without_gold_has_no_scores() -> None:
    assert run_scores([asked((), "x")]) is None
    assert rescored([asked((), "x")], [Question("q0", "?")]) is None


# The estimate from a sample


def judge_all(questions, truth) -> list[Judgement]:
    return [
        said(m.answer, *truth[m.question.position, m.answer][:1], position=m.question.position,
             gold=truth[m.question.position, m.answer][1])
        for m in wrong_predictions(questions, ruled())
    ]  # fmt: skip


def simulated(rng: random.Random, count: int):
    """Questions whose wrong predictions are invalid, unlisted, or variants of a missed gold answer."""
    questions, truth = [], {}
    for position in range(count):
        gold = [f"gold {place}" for place in range(rng.randint(1, 4))]
        answers = [name for name in gold if rng.random() < 0.4]
        missed = [name for name in gold if name not in answers]
        hard = rng.random() < 0.5
        for place in range(rng.randint(0, 3)):
            name = f"other {place}"
            kind = rng.choices(("invalid", "unlisted", "variant"), (4, 1, 1) if hard else (1, 2, 2))[0]
            if kind == "variant" and not missed:
                kind = "invalid"
            truth[position, name] = kind, missed.pop() if kind == "variant" else ""
            answers.append(name)
        rng.shuffle(answers)
        questions.append(asked((tuple((name,) for name in gold),), *answers, position=position))
    return questions, truth


def corrected_f1(questions, truth) -> float:
    rulings = ruled(*judge_all(questions, truth))
    return run_scores(questions, correct_gold(questions, rulings).questions).f1.mean


def test_the_estimate_is_exact_once_everything_is_judged() -> None:
    questions, truth = simulated(random.Random(2), 60)
    rulings = ruled(*judge_all(questions, truth))
    items = [
        QueueItem(m.question.position, "", "prediction", m.answer, 0.3, "")
        for m in wrong_predictions(questions, rulings)[::2]
    ]
    scores = run_scores(questions, correct_gold(questions, rulings).questions)
    for inclusion in (None, inclusion_of(items)):
        found = estimated_scores(questions, rulings, inclusion)
        assert (found.f1, found.precision, found.recall) == (scores.f1, scores.precision, scores.recall)


def test_one_of_two_like_predictions_stands_for_both() -> None:
    questions = [asked(((("a1",),),), "x", position=0), asked(((("a1",),),), "x", position=1)]
    found = estimated_scores(questions, ruled(said("x", "variant", gold="a1")))
    assert (found.f1.mean, found.precision.mean, found.judged, found.wrong) == (1, 1, 1, 2)
    assert "uniform sample" in found.notes[1]
    found = estimated_scores(questions, ruled(said("x", "invalid")))
    assert found.f1.mean == 0


def test_nothing_judged_gives_no_estimate() -> None:
    assert estimated_scores([WRONG], ruled()) is None
    assert estimated_scores([WRONG], ruled(said("2013", "unsure"))) is None
    outside = inclusion_of([QueueItem(0, "trace0", "prediction", "1996", 0.5, "")])
    assert estimated_scores([WRONG], ruled(said("2013", "unlisted")), outside) is None


def test_the_estimate_from_a_weighted_sample_finds_the_corrected_f1() -> None:
    rng = random.Random(3)
    questions, truth = simulated(rng, 150)
    target, judged = corrected_f1(questions, truth), judge_all(questions, truth)
    raw, found = run_scores(questions).f1.mean, []
    for _ in range(12):
        chances = [0.5 if j.label != "invalid" or rng.random() < 0.5 else 0.2 for j in judged]
        drawn = [(j, c) for j, c in zip(judged, chances, strict=True) if rng.random() < c]
        items = [QueueItem(int(j.trace_id[5:]), "", "prediction", j.answer, c, "") for j, c in drawn]
        found.append(estimated_scores(questions, ruled(*(j for j, _ in drawn)), inclusion_of(items)))
    assert target - raw > 0.2
    assert np.mean([e.f1.mean for e in found]) == pytest.approx(target, abs=0.015)
    assert sum(e.f1.low <= target <= e.f1.high for e in found) >= 10


# The headline


def test_the_headline_tells_raw_and_corrected_and_how_many_are_right() -> None:
    questions = [asked(RELEASES, "1995", "2013"), asked(((("Ada",),),), "Ada Lovelace", position=1)]
    rulings = ruled(said("2013", "invalid"), said("Ada Lovelace", "variant", position=1, gold="Ada"))
    scores = rescored(questions, correct_gold(questions, rulings).questions)
    right = right_share(questions, rulings)
    line = headline(scores, estimated_scores(questions, rulings), right, 2)
    assert not line.estimated
    assert line.text == (
        "F1 20.0 raw -> 70.0 corrected (40.0 to 100.0); 50 % of wrong predictions judged so far are right "
        "(9 to 91 %, n = 2)."
    )


def test_the_headline_says_what_is_estimated() -> None:
    questions = [asked(((("a1",),),), "x", position=position) for position in range(3)]
    rulings = ruled(said("x", "variant", gold="a1"))
    scores = rescored(questions, correct_gold(questions, rulings).questions)
    line = headline(scores, estimated_scores(questions, rulings), right_share(questions, rulings), 3)
    assert line.so_far.mean == pytest.approx(1 / 3)
    assert "0.0 raw -> 100.0 corrected, estimated from 1 of 3 wrong predictions (" in line.text


def test_the_headline_of_an_unjudged_run_is_its_raw_f1() -> None:
    scores = rescored([WRONG], [WRONG.question])
    line = headline(scores, None, right_share([WRONG], ruled()), 5)
    assert line.text.endswith("no wrong prediction is judged yet.")


# Curves, calibration, slices


def test_the_curve_is_the_score_of_what_passes_each_tau() -> None:
    questions = random_run(random.Random(4), 120, scored=True)
    for point in tau_curve(questions, taus=(0, 0.2, 0.35, 0.5, 0.9)):
        kept = [
            replace(
                q, answers=tuple(replace(a, predicted=a.answer in at_tau(q, point.tau)) for a in q.answers)
            )
            for q in questions
        ]
        scores = run_scores(kept)
        found = (point.f1, point.precision, point.recall)
        assert found == pytest.approx((scores.f1.mean, scores.precision.mean, scores.recall.mean))
        assert point.answers == pytest.approx(np.mean([len(predictions(q)) for q in kept]))


def test_tau_is_strict_keeps_the_best_and_leaves_repeats_out() -> None:
    question = asked(RELEASES, "x", "y", "z", scores=(0.8, 0.6, 0.4))
    repeated = replace(question, answers=(*question.answers, RunAnswer("X", ("X",), 0.7, False, "", True)))
    assert at_tau(repeated, 0.5) == ["x", "y"]
    assert at_tau(repeated, 0.6) == ["x"]
    assert at_tau(repeated, 0.9) == ["x"]


def test_the_best_tau_is_the_lowest_of_the_best() -> None:
    question = asked(RELEASES, "1995", "x", scores=(0.8, 0.4))
    best = best_point(tau_curve([question]))
    assert (best.tau, best.f1, best.f1_multi) == (0.4, 2 / 4, 2 / 4)


def test_corrected_gold_moves_the_best_tau() -> None:
    question = asked(RELEASES, "1995", "2013", scores=(0.8, 0.4))
    gold = correct_gold([question], ruled(said("2013", "unlisted"))).questions
    assert best_point(tau_curve([question], gold)).tau == 0


def test_a_curve_needs_scores_and_gold() -> None:
    with pytest.raises(InputError, match="no scores"):
        tau_curve([asked(RELEASES, "x")])
    with pytest.raises(InputError, match="gold"):
        tau_curve([asked((), "x", scores=(0.5,))])


def test_reliability_compares_scores_with_the_share_that_is_right() -> None:
    items = [ScoredItem(0.1, False), ScoredItem(0.1, True), ScoredItem(0.9, True), ScoredItem(1.0, True)]
    found = reliability(items, bins=2)
    assert [(b.low, b.high, b.right.count, b.right.of) for b in found.bins] == [
        (0, 0.5, 1, 2),
        (0.5, 1, 2, 2),
    ]
    assert [b.p_right for b in found.bins] == pytest.approx([0.1, 0.95])
    assert found.error == pytest.approx((0.4 * 2 + 0.05 * 2) / 4)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0) / 4)


def test_a_score_that_tells_the_truth_has_no_calibration_error() -> None:
    found = reliability([ScoredItem(0.25, True, 1), ScoredItem(0.25, False, 3)])
    assert found.error == pytest.approx(0)


def test_reliability_against_gold_and_against_verdicts() -> None:
    question = asked(RELEASES, "1995", "2013", "2014", "-2015", scores=(0.9, 0.8, 0.7, 0.2))
    assert [item.right for item in scored_by_gold([question])] == [True, False, False, False]
    rulings = ruled(said("2013", "unlisted"))
    found = scored_by_verdicts([question], rulings)
    assert found == [ScoredItem(0.9, True, 1), ScoredItem(0.8, True, 2)]
    drawn = inclusion_of([QueueItem(0, "trace0", "prediction", "2014", 0.5, "")])
    assert scored_by_verdicts([question], rulings, drawn) == [ScoredItem(0.9, True, 1)]


def test_without_scores_there_is_no_reliability() -> None:
    with pytest.raises(InputError, match="no reliability"):
        reliability(scored_by_gold([asked(RELEASES, "1995")]))


def test_the_histogram_counts_candidates_by_verdict() -> None:
    question = asked(RELEASES, "1995", "2013", "-2014", scores=(1.0, 0.8, 0.1))
    bars = score_histogram([question], ruled(said("2013", "unlisted")), bins=2)
    assert [(bar.low, bar.verdict, bar.count) for bar in bars] == [
        (0, "not judged", 1),
        (0.5, "equals gold", 1),
        (0.5, "unlisted", 1),
    ]


def test_slices_hold_the_mean_f1_of_each_kind() -> None:
    questions = [
        asked(RELEASES, "1995", position=0, text="When was it?"),
        asked(((("b",),),), "b", position=1, text="How many years, and who?"),
        asked(((("b",),), RELEASES[0]), "c", position=2, text="Name it"),
        asked((), "c", position=3, text="Who?"),
    ]
    found = {s.name: (s.f1.mean, s.questions) for s in f1_slices(questions, by_gold_answers)}
    assert found == {"1": (1 / 2, 2), "3": (2 / 4, 1)}
    names = [s.name for s in f1_slices(questions, by_question_word)]
    assert names == ["how many", "other", "when"]


def test_slices_of_numbers_stand_by_size_and_what_is_not_known_comes_last() -> None:
    questions = [asked(((("a",),),), "a", position=place) for place in range(7)]
    counts = {0: 0, 1: 1, 2: 4, 3: 5, 4: 12, 5: 2, 6: None}
    found = f1_slices(questions, by_column("sources", lambda q: counts[q.position]))
    assert [(s.name, s.questions) for s in found] == [
        ("0", 1), ("1", 1), ("2 to 4", 2), ("5 to 9", 1), ("10 or more", 1), ("not known", 1),
    ]  # fmt: skip


def test_a_question_counts_in_the_slice_of_each_of_its_kinds() -> None:
    question = asked(RELEASES, "1995", lost=("predicted", "not recalled", "not recalled"))
    assert [s.name for s in f1_slices([question], by_column("lost"))] == ["not recalled", "predicted"]
    assert {s.questions for s in f1_slices([question], by_column("lost"))} == {1}


def test_sources_are_passages_that_hold_an_answer_of_any_annotation() -> None:
    question = Question("q", "Who?", ((("Ann Lee", "A. Lee"),), (("Bo",), ("Cy",))))
    passages = [("", "By Ann Lee."), ("Bo", "He."), ("", "A Bobby"), ("", "a. lee and cy"), ("", "ann-lee")]
    assert gold_sources(question, passages) == 3
    assert gold_sources(question, passages[2:3]) == 0
    assert gold_sources(question, []) is None


def test_every_column_gives_each_question_kinds_or_none() -> None:
    questions = [asked(RELEASES, "1995", "-2010", scores=(0.9, 0.25)), asked((), position=1)]
    kinds = {name: [c.kinds_of(q, no_sources) for q in questions] for name, c in COLUMNS.items() if c.kinds}
    assert kinds == {
        "gold": [("3",), ("not known",)],
        "word": [("other",)] * 2,
        "sources": [("not known",)] * 2,
        "predictions": [("1",), ("0",)],
        "candidates": [("1 to 4",), ("0",)],
        "lost": [("predicted", "at or below tau"), ("not known",)],
        "score": [("0.8 or more",), ("not known",)],
        "length": [("0 to 5",)] * 2,
    }


# Filters


def kept(questions, *conditions: str, sources=no_sources) -> list[int]:
    return [q.position for q in selected(questions, read_conditions(conditions), sources)]


def test_a_filter_keeps_the_questions_that_meet_every_condition() -> None:
    questions = [
        asked(RELEASES, "1995", "-2010", text="When did Jack come out?", scores=(0.9, 0.2)),
        asked(((("Ada  Lovelace",),),), "ada lovelace", position=1, text="Who wrote it?"),
        asked((), "x", position=2, text="Who?"),
        asked(((("b",),),), position=3, text="Where?", lost=("not recalled",)),
    ]
    for conditions, positions in (
        (("word = who",), [1, 2]),
        (("word != Who",), [0, 3]),
        (("gold>=1", "predictions>0"), [0, 1]),
        (("gold = 3",), [0]),
        (("lost = not recalled",), [3]),
        (("lost = predicted", "lost = at or below tau"), [0]),
        (("lost !~ not",), [0, 1, 2]),
        (("f1 < 60",), [0, 3]),
        (("f1 = 100",), [1]),
        (("score > .5",), [0]),
        (("text ~ ADA love",), [1]),
        (("text !~ 2010",), [1, 2, 3]),
        (("predicted = Ada Lovelace",), [1]),
        (("rejected ~ 20",), [0]),
        (("answer = april 24,  2010",), [0]),
        (("question ~ who ", "id = q2"), [2]),
        (("sources >= 2",), [1]),
        ((), [0, 1, 2, 3]),
    ):
        assert kept(questions, *conditions, sources=lambda q: 2 if q.position == 1 else None) == positions


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("", "is no condition"),
        ("word", "is no condition"),
        ("mood = good", "no column 'mood'"),
        ("word > who", "> does not go with"),
        ("gold ~ 2", "~ does not go with"),
        ("gold = two", "'two' is no number"),
        ("gold = nan", "is no number"),
        ("word =  ", "has no text"),
        ("text ~ " + "x" * 999, "has 1,006 characters"),
    ],
)
def test_what_is_no_condition_is_refused(condition: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_conditions([condition])


def test_conditions_are_kept_once_as_people_write_them() -> None:
    assert [*map(str, read_conditions(["gold>=02", " gold >= 2.0 ", "text~a = b"]))] == [
        "gold >= 2",
        "text ~ a = b",
    ]
    with pytest.raises(InputError, match="21 conditions"):
        read_conditions([f"gold = {i}" for i in range(21)])


# Missing answers


def found(*sources: range):
    return {f"s{i}": {("q", str(answer)) for answer in own} for i, own in enumerate(sources)}


def test_chapman_estimates_from_two_sources() -> None:
    result = missing_answers(found(range(0, 20), range(10, 40)))
    total = 21 * 31 / 11 - 1
    variance = 21 * 31 * 10 * 20 / (11**2 * 12)
    factor = exp(1.959964 * sqrt(log(1 + variance / (total - 40) ** 2)))
    assert (result.method, result.found, result.overlap, result.lower_bound) == ("Chapman", 40, 10, False)
    assert result.total == pytest.approx(total)
    assert (result.low, result.high) == pytest.approx(
        (40 + (total - 40) / factor, 40 + (total - 40) * factor), rel=1e-6
    )
    assert result.missing == pytest.approx(total - 40)
    assert any("independently" in note for note in result.notes)


def test_two_sources_that_found_the_same_leave_nothing_missing() -> None:
    result = missing_answers(found(range(9), range(9)))
    assert (result.total, result.low, result.high) == (9, 9, 9)


def test_chao_bounds_what_is_missing_from_below() -> None:
    result = missing_answers(found(range(0, 12), range(6, 16), range(10, 20)))
    # by one alone: 0-5 and 16-19; by two: 6-9 and 12-15; by all: 10, 11
    assert (result.method, result.found, result.overlap, result.lower_bound) == (
        "Chao lower bound", 20, 10, True,
    )  # fmt: skip
    assert result.total == pytest.approx(20 + 2 / 3 * 10 * 9 / (2 * 9))
    assert 20 < result.low < result.total < result.high


def test_too_small_an_overlap_is_refused() -> None:
    with pytest.raises(InputError, match="Only 6 valid answers"):
        missing_answers(found(range(0, 10), range(4, 20)))
    with pytest.raises(InputError, match="needs two"):
        missing_answers(found(range(10), range(0)))


def test_chapman_finds_the_size_of_a_population() -> None:
    rng = np.random.default_rng(6)
    totals, covered = [], 0
    for _ in range(200):
        one, other = (np.flatnonzero(rng.random(300) < chance) for chance in (0.4, 0.3))
        result = missing_answers({"a": {("q", str(i)) for i in one}, "b": {("q", str(i)) for i in other}})
        totals.append(result.total)
        covered += result.low <= 300 <= result.high
    assert np.mean(totals) == pytest.approx(300, rel=0.03)
    assert covered >= 180


def test_runs_find_valid_answers_by_gold_or_by_verdict() -> None:
    first = [asked(RELEASES, "1995", "2013"), asked(RELEASES, "1995", position=1)]
    second = [replace(asked(RELEASES, "2010", "2013.", "2014"), trace_id="t")]
    rulings = ruled(said("2013", "unlisted"), across_runs=True)
    assert found_by_runs({"a": first, "b": second}, rulings) == {
        "a": {("q0", "1995"), ("q0", "2013")},
        "b": {("q0", "April 24, 2010"), ("q0", "2013")},
    }


def test_the_more_systems_the_closer_chaos_bound_comes_from_below() -> None:
    rng = np.random.default_rng(8)
    size, bounds = 400, {}
    ease = rng.beta(1.2, 2, size)  # some answers are found by nearly all, some by nearly none
    for systems in (3, 8):
        totals = []
        for _ in range(60):
            runs = {
                f"s{i}": {("q", str(a)) for a in np.flatnonzero(rng.random(size) < ease)}
                for i in range(systems)
            }
            result = missing_answers(runs)
            assert result.lower_bound
            assert result.found <= result.low <= result.total <= result.high
            totals.append(result.total)
        bounds[systems] = np.mean(totals)
    assert bounds[3] < bounds[8] < size * 1.02
    assert bounds[8] > 0.9 * size


def test_the_method_and_where_it_comes_from_stand_first_in_the_notes() -> None:
    assert "Chapman 1951" in missing_answers(found(range(0, 20), range(10, 40))).notes[0]
    assert "Chao 1987" in missing_answers(found(range(12), range(6, 16), range(10, 20))).notes[0]


def test_a_run_found_what_it_predicted_on_the_questions_asked_for() -> None:
    run = [asked(RELEASES, "1995", "2013", "x"), asked(RELEASES, "2012", position=1)]
    rulings = ruled(said("2013", "unlisted"), across_runs=True)
    assert found_by_run(run, {"q0"}, rulings) == {("q0", "1995"), ("q0", "2013")}
    assert found_by_run(run, {"q1", "other"}, rulings) == {("q1", "2012")}
    assert unjudged_answers(run, {"q0"}, rulings) == 1
    assert unjudged_answers(run, {"q1"}, rulings) == 0


def test_annotators_find_what_they_type_in() -> None:
    judgements = [
        said("2013", "unlisted", "A", recalled=False),
        said("2014", "unlisted", "A"),
        said("'13", "variant", "B", recalled=False, gold="2013"),
        said("2015", "invalid", "B", recalled=False),
    ]
    expected = {("question 0", "2013")}
    assert found_by_annotators(judgements) == {"A": expected, "B": expected}


# Two runs


def test_two_runs_are_compared_on_the_questions_they_share() -> None:
    first = [
        asked(RELEASES, "1995", "2012"),
        asked(((("Ada",),),), "Ada", position=1),
        asked(((("Ada",),),), "Ada", position=2),
    ]
    second = [asked(RELEASES, "2010"), asked(((("Ada",),),), "Ada", position=1)]
    result = compare_runs(first, second)
    assert (result.questions, result.left_out) == (2, 1)
    assert (result.better, result.worse, result.equal) == (1, 0, 1)
    assert result.f1.difference.mean == pytest.approx((4 / 5 - 2 / 4) / 2)
    assert result.f1_multi.first.mean == pytest.approx(4 / 5)
    assert [find.answer for find in result.only_first] == ["1995", "2012"]
    assert [find.answer for find in result.only_second] == ["April 24, 2010"]
    assert (result.both, result.neither) == (1, 0)


def test_two_runs_can_be_compared_on_corrected_gold() -> None:
    first, second = [asked(RELEASES, "2013")], [asked(RELEASES, "2010")]
    gold = correct_gold(first, ruled(said("2013", "unlisted"))).questions
    result = compare_runs(first, second, {question.id: question for question in gold})
    assert result.f1.difference.mean == 0
    assert [find.answer for find in result.only_first] == ["2013"]


def test_a_run_equals_itself() -> None:
    questions = random_run(random.Random(7), 50)
    result = compare_runs(questions, questions)
    assert result.f1.difference.low == result.f1.difference.high == 0
    assert (result.better, result.worse, result.only_first, result.only_second) == (0, 0, (), ())


def test_runs_on_other_questions_are_not_compared() -> None:
    with pytest.raises(InputError, match="share no question"):
        compare_runs([asked(RELEASES)], [asked(RELEASES, position=1)])
    with pytest.raises(InputError, match="in one run"):
        compare_runs([asked(RELEASES)], [asked(RELEASES, text="What else?")])


# Two rounds


def test_a_round_is_a_queue_a_person_or_a_time() -> None:
    judgements = [
        said("2013", "unlisted", "Ada", at="2026-01-04T23:59:00.000+00:00"),
        said("2014", "invalid", "Bo", at="2026-01-05T00:00:00.000+00:00"),
        said("2013", "invalid", "Bo", position=1, at="2026-01-06T00:00:00.000+00:00"),
    ]
    items = [QueueItem(0, "trace0", "prediction", "2013.", 0.5, "wrong")]
    assert on_items(judgements, items) == judgements[:1]
    assert by_annotator(judgements, "Bo") == judgements[1:]
    assert since(judgements, "2026-01-05") == judgements[1:]


def test_two_rounds_are_compared_on_the_same_predictions() -> None:
    run = [
        asked(RELEASES, "1995", "2013", "2014"),
        asked(((("Ada",),),), "Ada L", position=1),
        asked((), "y", position=2),
    ]
    first = Round(
        ruled(
            said("2013", "unlisted"),
            said("2014", "invalid"),
            said("Ada L", "variant", position=1, gold="Ada"),
        )
    )
    second = Round(
        ruled(said("2013", "invalid"), said("Ada L", "listed", position=1, gold="Ada"), said("x", "unlisted"))
    )
    found = compare_rounds(run, first, second)
    assert found.questions == 2
    one, two = 2 * 2 / (3 + 4), 2 * 1 / (3 + 4)  # the second added an answer that the run did not give
    assert found.corrected["f1"].first.mean == pytest.approx((one + 1) / 2)
    assert found.corrected["f1"].second.mean == pytest.approx((two + 1) / 2)
    assert found.corrected["f1"].difference.mean == pytest.approx((one - two) / 2)
    assert found.estimated["f1"].first.mean == pytest.approx(
        found.corrected["f1"].first.mean
    )  # all is judged
    assert found.estimated["f1"].second.mean == pytest.approx(estimated_scores(run, second.rulings).f1.mean)
    assert [t.wrong.unjudged for t in found.table6] == [0, 1]
    assert found.table6[0] == error_table(run, first.rulings)
    assert (found.same.count, found.same.of) == (1, 2)  # listed and variant of one gold answer say the same
    (change,) = found.changes
    assert (change.position, change.answer, change.first.label, change.second.label) == (
        0, "2013", "unlisted", "invalid",
    )  # fmt: skip
    assert (found.first_only, found.second_only) == (1, 1)


def test_a_round_equals_itself_and_an_empty_one_has_no_estimate() -> None:
    questions, truth = simulated(random.Random(3), 60)
    own = Round(settle(judge_all(questions, truth)))
    found = compare_rounds(questions, own, own)
    for difference in (*found.corrected.values(), *found.estimated.values()):
        assert difference.difference.low == difference.difference.high == 0
    assert found.changes == ()
    assert found.same.share == 1
    assert compare_rounds(questions, own, Round(ruled())).estimated == {}
    with pytest.raises(InputError, match="no F1 to compare"):
        compare_rounds([asked((), "x")], own, own)

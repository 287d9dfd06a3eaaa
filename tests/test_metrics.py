"""The measures against values one can check by hand, and against the official rule written out."""

from __future__ import annotations

import itertools
import random

import pytest

from rtv_core.metrics import (
    Score,
    answer_recall,
    bootstrap_mean,
    cluster_minimum,
    covered_answers,
    exact_match,
    f1_official,
    f1_optimal,
    hits,
    is_multi,
    matched_answers,
    mrecall_at,
    paired_bootstrap,
    score_labels,
    score_qampari,
    score_qampari_5,
    share_reaching,
)
from rtv_core.records import Question
from rtv_core.text import normalise_answer

TRAP = ((("x y", "c d"), ("x y",)),)
RELEASES = ((("1995",), ("April 24, 2010", "2010"), ("2012",)),)
NO_ANSWER = ((),)
BOTH = pytest.mark.parametrize("f1", [f1_official, f1_optimal])


def test_the_official_matching_depends_on_the_order_of_predictions() -> None:
    assert f1_official(["x y", "c d"], TRAP) == Score(1 / 2, 1 / 2, 1 / 2)
    assert f1_official(["c d", "x y"], TRAP) == Score(1, 1, 1)


def test_the_optimal_matching_does_not() -> None:
    assert f1_optimal(["x y", "c d"], TRAP) == f1_optimal(["c d", "x y"], TRAP) == Score(1, 1, 1)


@BOTH
def test_f1_joins_precision_and_recall(f1) -> None:
    assert f1(["2010", "1995", "2011", "Jack"], RELEASES) == Score(4 / 7, 2 / 4, 2 / 3)


@BOTH
def test_a_prediction_given_twice_lowers_precision(f1) -> None:
    assert f1(["1995", "1995"], RELEASES) == Score(2 / 5, 1 / 2, 1 / 3)


@BOTH
def test_two_spellings_of_one_answer_match_it_once(f1) -> None:
    assert f1(["2010", "April 24 2010"], RELEASES) == Score(2 / 5, 1 / 2, 1 / 3)


@BOTH
def test_equality_ignores_case_punctuation_articles_and_spaces(f1) -> None:
    assert f1([" the  lost boys! "], ((("Lost Boys",),),)).f1 == 1


@BOTH
def test_the_best_annotation_counts(f1) -> None:
    assert f1(["b"], ((("a1",), ("b",)), (("b",),))) == Score(1, 1, 1)


@BOTH
def test_no_prediction_scores_nothing(f1) -> None:
    assert f1([], RELEASES) == Score(0, 0, 0)


@BOTH
def test_silence_is_right_where_the_gold_is_no_answer(f1) -> None:
    assert f1([], NO_ANSWER).f1 == 1
    assert f1(["1995"], NO_ANSWER).f1 == 0


@BOTH
def test_without_known_gold_there_is_no_score(f1) -> None:
    with pytest.raises(ValueError, match="No gold is known"):
        f1(["1995"], ())


def test_official_f1_equals_the_published_rule_on_random_data() -> None:
    rng = random.Random(7)
    for predictions, gold in _random_questions(rng, 400):
        assert f1_official(predictions, gold).f1 == pytest.approx(_by_rule(predictions, gold))


def test_optimal_f1_equals_the_best_order_of_the_predictions_on_random_data() -> None:
    rng = random.Random(8)
    for predictions, gold in _random_questions(rng, 150):
        orders = itertools.permutations(predictions)
        best = max(f1_official(order, gold).f1 for order in orders)
        assert f1_optimal(predictions, gold).f1 == pytest.approx(best)


def test_exact_match_reads_the_first_prediction_only() -> None:
    assert exact_match(["2010", "wrong"], RELEASES) == 1
    assert exact_match(["wrong", "2010"], RELEASES) == 0
    assert exact_match([], RELEASES) == 0
    assert exact_match([], NO_ANSWER) == 1


def test_hits_count_distinct_gold_answers() -> None:
    assert hits(["2010", "April 24, 2010", "1995", "1999"], RELEASES) == 2
    assert hits(["x y"], TRAP) == 1
    assert hits([], RELEASES) == hits(["1995"], NO_ANSWER) == 0


def test_matched_answers_say_which_gold_was_given() -> None:
    assert matched_answers(["2012", "the 1995"], RELEASES[0]) == [True, False, True]


def test_mrecall_wants_all_answers_or_as_many_as_texts() -> None:
    texts = ["Out in 1995.", "Nothing.", "In 2010 a film, in 2012 an app."]
    assert mrecall_at(1, texts, RELEASES) == 1  # min(1, 3)
    assert mrecall_at(2, texts, RELEASES) == 0  # one of min(2, 3)
    assert mrecall_at(3, texts, RELEASES) == 1
    assert mrecall_at(5, texts[:1], RELEASES) == 0


def test_mrecall_takes_the_annotation_that_is_found() -> None:
    assert mrecall_at(5, ["Out in 1995."], (*RELEASES, (("1995",),))) == 1


def test_answer_recall_is_the_share_covered_strictly() -> None:
    assert answer_recall(10, ["1995 and 2012"], RELEASES) == 2 / 3
    assert answer_recall(1, ["19950", "1995"], RELEASES) == 0
    assert covered_answers(["in 2010", "in 1995"], RELEASES[0]) == [True, True, False]


def test_multi_questions_have_several_answers_in_every_annotation() -> None:
    assert is_multi(Question("", "?", RELEASES))
    assert not is_multi(Question("", "?", (*RELEASES, (("1995",),))))
    assert not is_multi(Question("", "?", NO_ANSWER))
    assert not is_multi(Question("", "?"))


def test_the_bootstrap_repeats_for_a_seed_and_covers_the_mean() -> None:
    rng = random.Random(1)
    values = [rng.gauss(0.4, 0.2) for _ in range(300)]
    interval = bootstrap_mean(values, seed=1)
    assert interval == bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)
    assert interval.mean == pytest.approx(sum(values) / 300)
    assert interval.low < interval.mean < interval.high


def test_the_bootstrap_interval_has_the_width_of_theory() -> None:
    values = [0.0, 1.0] * 200  # standard error 0.5 / sqrt(400) = 0.025
    interval = bootstrap_mean(values, seed=3)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_a_steady_gain_has_an_interval_above_zero_however_the_questions_differ() -> None:
    worse = [i / 100 for i in range(100)]
    better = [value + 0.01 + 0.001 * (i % 3) for i, value in enumerate(worse)]
    gain = paired_bootstrap(better, worse, seed=0)
    assert 0.01 < gain.low < gain.mean < gain.high < 0.012


def test_unpaired_or_empty_values_are_refused() -> None:
    with pytest.raises(ValueError, match="not 1 and 2"):
        paired_bootstrap([1.0], [1.0, 2.0], seed=0)
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([], seed=0)


def _random_questions(rng: random.Random, n: int):
    for _ in range(n):
        words = [f"w{i}" for i in range(rng.randint(1, 6))]
        predictions = [rng.choice(words) for _ in range(rng.randint(1, 5))]
        annotations = tuple(
            tuple(tuple(rng.choices(words, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4)))
            for _ in range(rng.randint(1, 3))
        )
        yield predictions, annotations


def _by_rule(predictions, annotations) -> float:
    """The official rule as its paper's repository describes it: nested loops over answers and predictions."""
    best = 0.0
    for answers in annotations:
        used_answers, used_predictions = set(), set()
        for (i, spellings), (j, given) in itertools.product(enumerate(answers), enumerate(predictions)):
            same = normalise_answer(given) in map(normalise_answer, spellings)
            if same and i not in used_answers and j not in used_predictions:
                used_answers.add(i)
                used_predictions.add(j)
        recall, precision = len(used_answers) / len(answers), len(used_predictions) / len(predictions)
        best = max(best, 2 * precision * recall / (precision + recall) if precision else 0.0)
    return best


FILMS = ((("Gummo",), ("The Beach Bum", "Beach Bum"), ("Kids",)),)
MANY = (tuple((f"film {number}",) for number in range(12)),)


def test_qampari_counts_each_answer_once_and_each_distinct_prediction_once() -> None:
    assert score_qampari(["Beach Bum", "beach bum!", "Ken Park"], FILMS) == Score(2 / 5, 1 / 2, 1 / 3)


def test_two_aliases_of_one_answer_are_right_for_qampari_but_not_for_f1() -> None:
    aliases = ((("NYC", "New York City"),),)
    assert score_qampari(["NYC", "New York City"], aliases) == Score(1, 1, 1)
    assert f1_optimal(["NYC", "New York City"], aliases).precision == 1 / 2


def test_qampari_gives_nothing_for_no_prediction() -> None:
    assert score_qampari([], FILMS) == Score(0, 0, 0)
    assert score_qampari([], NO_ANSWER).f1 == 1


def test_f1_5_caps_recall_at_five_answers_and_leaves_precision() -> None:
    predictions = [f"film {number}" for number in range(6)] + ["x", "y"]
    assert score_qampari(predictions, MANY).recall == 6 / 12
    assert score_qampari_5(predictions, MANY) == Score(2 * 0.75 / 1.75, 6 / 8, 1)
    assert score_qampari_5(["Gummo"], FILMS).recall == 1 / 3


def test_romqa_compares_labels_as_they_are() -> None:
    assert score_labels(["Gummo", "Gummo", "kids"], ["Gummo", "Kids"]) == Score(1 / 2, 1 / 2, 1 / 2)
    assert score_labels([], ["Gummo"]) == Score(0, 0, 0)
    with pytest.raises(ValueError, match="No gold is known"):
        score_labels(["Gummo"], [])


def test_a_robust_measure_is_the_mean_of_the_clusters_least_values() -> None:
    assert cluster_minimum([0.5, 1, 0.25, 0.75], ["a", "b", "a", "b"]) == (0.25 + 0.75) / 2
    with pytest.raises(ValueError, match="no values"):
        cluster_minimum([], [])


def test_the_share_of_questions_that_reach_a_value_counts_the_value_itself() -> None:
    assert share_reaching([0.8, 0.79, 1, 0], 0.8) == 2 / 4
    with pytest.raises(ValueError, match="no values"):
        share_reaching([], 0.5)

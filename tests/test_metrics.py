"""The measures against values one can check by hand, and against the official rule written out."""

from __future__ import annotations

import itertools
import random

import pytest

from rtv_core.metrics import (
    Interval,
    Score,
    all_and_multi,
    answer_recall,
    bootstrap_mean,
    cluster_minima,
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


FILMS = ((("Gummo", "Gummo (film)"), ("Kids",), ("The Beach Bum", "Beach Bum")),)


def test_qampari_counts_answers_by_alias_and_distinct_predictions() -> None:
    assert score_qampari(["Gummo film", "kids", "Ken Park", "Kids!"], FILMS) == Score(4 / 7, 2 / 4, 2 / 3)
    assert score_qampari(["Kids", "Kids"], FILMS) == Score(2 / 4, 1, 1 / 3)
    assert score_qampari(["a beach bum", "The Beach Bum"], FILMS).precision == 1 / 2


def test_qampari_gives_nothing_for_silence_and_no_name_twice() -> None:
    assert score_qampari([], FILMS) == Score(0, 0, 0)
    assert score_qampari([], NO_ANSWER) == Score(1, 1, 1)
    # Two answers of one name are one to find, and two in the recall.
    assert score_qampari(["x"], ((("x",), ("x", "y")),)) == Score(2 / 3, 1, 1 / 2)


def test_an_alias_of_two_qampari_answers_finds_the_later_one_only() -> None:
    shared = ((("a", "s"), ("b", "s")),)
    assert score_qampari(["s", "b"], shared).recall == 1 / 2
    assert score_qampari(["s", "a"], shared).recall == 1


def test_f1_5_is_full_with_five_right_answers_and_leaves_precision() -> None:
    gold = (tuple((f"w{i}",) for i in range(12)),)
    assert score_qampari_5([f"w{i}" for i in range(5)], gold) == Score(1, 1, 1)
    assert score_qampari_5([f"w{i}" for i in range(4)], gold).f1 == pytest.approx(2 * 0.8 / 1.8)
    assert score_qampari_5([f"w{i}" for i in range(6)] + ["x", "y"], gold) == Score(2 * 0.75 / 1.75, 6 / 8, 1)
    assert score_qampari_5(["w0", "none"], ((("w0",),),)).f1 == pytest.approx(2 / 3)
    assert score_qampari_5(["none"], gold).f1 == score_qampari_5([], gold).f1 == 0


def test_romqa_matches_labels_exactly_and_no_alias() -> None:
    labels = [spellings[0] for spellings in FILMS[0]]
    assert score_labels(["Gummo", "Beach Bum", "kids"], labels) == Score(2 / 6, 1 / 3, 1 / 3)
    assert score_labels(["Kids", "Kids", "Gummo"], labels) == Score(4 / 5, 1, 2 / 3)
    assert score_labels([], labels) == Score(0, 0, 0)
    with pytest.raises(ValueError, match="No gold is known"):
        score_labels(["Gummo"], [])


def test_romqa_at_k_reads_the_first_distinct_predictions() -> None:
    assert score_labels(["Kids", "Kids", "Gummo", "x"], ["Kids", "Gummo", "z"], k=2) == Score(4 / 5, 1, 2 / 3)
    assert score_labels(["x", "Kids"], ["Kids"], k=1) == Score(0, 0, 0)


def test_the_robust_measure_takes_the_worst_question_of_each_cluster() -> None:
    assert cluster_minima([0.5, 1.0, 0.25, 0.75], ["a", "b", "a", "b"]) == [0.25, 0.75]
    assert cluster_minimum([0.5, 1.0, 0.25, 0.75], ["a", "b", "a", "b"]) == 0.5
    with pytest.raises(ValueError, match="no values"):
        cluster_minimum([], [])
    with pytest.raises(ValueError, match="shorter"):
        cluster_minima([0.5, 1.0], ["a"])


def test_the_questions_with_several_answers_have_a_mean_of_their_own() -> None:
    questions = [Question("1", "?", RELEASES), Question("2", "?", ((("x",),),)), Question("3", "?", RELEASES)]
    both, several = all_and_multi([1.0, 0.0, 0.5], questions, seed=1)
    assert (both.mean, several.mean) == (0.5, 0.75)
    assert both == bootstrap_mean([1.0, 0.0, 0.5], seed=1)
    assert all_and_multi([0.5], questions[1:2], seed=1) == (Interval(0.5, 0.5, 0.5), None)


def test_qampari_equals_its_rule_on_random_data() -> None:
    rng = random.Random(9)
    for predictions, (annotation, *_) in _messy_questions(rng, 600):
        found = score_qampari(predictions, (annotation,))
        assert (found.precision, found.recall, found.f1) == pytest.approx(
            _qampari_rule(predictions, annotation)
        )


def test_romqa_equals_its_rule_on_random_data() -> None:
    rng = random.Random(10)
    values, clusters = [], []
    for predictions, (annotation, *_) in _messy_questions(rng, 600):
        for k in (1, 2, None):
            found = score_labels(predictions, [answer[0] for answer in annotation], k)
            rule = _romqa_rule(predictions, annotation, k)
            assert (found.precision, found.recall, found.f1) == pytest.approx(rule)
        values.append(found.f1)
        clusters.append(rng.randrange(150))
    worst = [min(v for v, c in zip(values, clusters, strict=True) if c == name) for name in set(clusters)]
    assert sorted(cluster_minima(values, clusters)) == sorted(worst)


def test_the_ambigqa_measures_equal_their_rules_on_strings_that_only_normalise_alike() -> None:
    rng = random.Random(11)
    for predictions, gold in _messy_questions(rng, 400):
        assert f1_official(predictions, gold).f1 == pytest.approx(_by_rule(predictions, gold))
        wanted = {_plain(s) for a in gold for spellings in a for s in spellings}
        assert exact_match(predictions, gold) == (_plain(predictions[0]) in wanted)
        best = max(f1_official(order, gold).f1 for order in itertools.permutations(predictions))
        assert f1_optimal(predictions, gold).f1 == pytest.approx(best)


def test_hits_equal_the_largest_one_to_one_assignment_on_random_data() -> None:
    rng = random.Random(12)
    for predictions, gold in _random_questions(rng, 200):
        assert hits(predictions, gold) == max(_assigned(predictions, list(a)) for a in gold)


def test_mrecall_equals_its_rule_on_random_data() -> None:
    rng = random.Random(13)
    words = ["ilo", "brae", "sef", "north", "moon"]
    for _, gold in _random_questions(rng, 300):
        gold = tuple(
            tuple(tuple(" ".join(rng.choices(words, k=rng.randint(1, 2))) for _ in s) for s in a)
            for a in gold
        )
        texts = [" ".join(rng.choices(words, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
        for k in (1, 2, 5):
            counts = [sum(any(_holds(t, s) for t in texts[:k] for s in answer) for answer in a) for a in gold]
            rule = any(found >= min(k, len(a)) for found, a in zip(counts, gold, strict=True))
            assert mrecall_at(k, texts, gold) == rule
            share = max(found / len(a) for found, a in zip(counts, gold, strict=True))
            assert answer_recall(k, texts, gold) == share


def _holds(text: str, answer: str) -> bool:
    place, wanted = text.split(), answer.split()
    return any(place[i : i + len(wanted)] == wanted for i in range(len(place)))


def _assigned(predictions, answers) -> int:
    """The most answers that can be given a prediction of their own, by trying every way."""
    if not answers:
        return 0
    best = _assigned(predictions, answers[1:])
    for i, given in enumerate(predictions):
        if _plain(given) in map(_plain, answers[0]):
            best = max(best, 1 + _assigned(predictions[:i] + predictions[i + 1 :], answers[1:]))
    return best


def _plain(text: str) -> str:
    """The field's normalisation, word by word: no ASCII punctuation, then no articles.

    Words end where punctuation that isn't ASCII stands, so an article beside it goes, too.
    """
    kept = "".join(c for c in text.lower() if c not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    words, word = [], ""
    for c in [*kept, " "]:
        if c.isalnum():
            word += c
            continue
        words += [" " if word in ("a", "an", "the") else word, c]
        word = ""
    return " ".join("".join(words).split())


def _qampari_rule(predictions, annotation) -> tuple[float, float, float]:
    """As the dataset's paper and script have it: aliases point to names, one alias to one name."""
    aliases_of: dict[str, tuple[str, ...]] = {}
    for answer in annotation:
        aliases_of[answer[0]] = answer
    pointers: list[list[str]] = []
    for name, aliases in aliases_of.items():
        for alias in aliases:
            for pointer in pointers:
                if pointer[0] == alias:
                    pointer[1] = name
                    break
            else:
                pointers.append([alias, name])
    found = []
    for given in dict.fromkeys(predictions):
        for alias, name in pointers:
            if _plain(alias) == _plain(given):
                if name not in found:
                    found.append(name)
                break
    precision, recall = len(found) / len(set(predictions)), len(found) / len(annotation)
    return precision, recall, 2 * precision * recall / (precision + recall) if found else 0.0


def _romqa_rule(predictions, annotation, k) -> tuple[float, float, float]:
    given: list[str] = []
    for prediction in predictions:
        if prediction not in given and (k is None or len(given) < k):
            given.append(prediction)
    labels = {answer[0] for answer in annotation}
    common = sum(label in given for label in labels)
    precision, recall = common / len(given), common / len(labels)
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def _messy_questions(rng: random.Random, n: int):
    """Predictions and annotations whose strings are often equal only after normalisation."""
    stems = ["lost boys", "1995", "beyoncé", "a", "u.s. a", "jack", "the an a", "o'neil", "théâtre"]

    def said() -> str:
        text = rng.choice(stems)
        text = rng.choice(
            [text, text.title(), f"The {text}", f" {text}!", text.replace(" ", "  "), f"“{text}”"]
        )
        return text if rng.random() < 0.9 else text + "-" + rng.choice(stems)

    for _ in range(n):
        predictions = [said() for _ in range(rng.randint(1, 5))]
        annotations = tuple(
            tuple(tuple(said() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 4)))
            for _ in range(rng.randint(1, 3))
        )
        yield predictions, annotations


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

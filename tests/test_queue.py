"""Drawing: every answer in reach, each with the probability that is written beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from rtv_core.annotation.population import population
from rtv_core.annotation.queue import STRATEGIES, draw
from rtv_core.annotation.sampling import (
    chance,
    equal_sample,
    inclusion_probabilities,
    systematic_sample,
)
from rtv_core.annotation.worth import disagreement, expected_value, nearness
from rtv_core.errors import InputError
from rtv_core.records import Judgement, Question, QueueItem, QueuePlan, RunAnswer, RunGold, RunQuestion

TAU = 0.5


def an_answer(answer: str, p_right: float | None, predicted: bool, gold: str = "", **more: bool) -> RunAnswer:
    return RunAnswer(answer, (answer,), p_right, predicted, gold, **more)


def a_question(position: int, answers: Iterable[RunAnswer], gold: Iterable[str] | None) -> RunQuestion:
    """A question whose gold answers are lost unless predicted; None: no gold is known."""
    answers = tuple(answers)
    given = {answer.gold for answer in answers if answer.predicted}
    known = () if gold is None else (tuple((answer,) for answer in gold),)
    return RunQuestion(
        "run",
        position,
        Question(f"q{position}", f"Question {position}?", known),
        f"trace {position}",
        answers,
        tuple(RunGold(g, (g,), "predicted" if g in given else "at or below tau") for g in gold or ()),
    )


def small(position: int) -> RunQuestion:
    """One answer of each kind: right and wrong prediction, missed gold, unlisted candidate; F1 = 1/2."""
    shift = position / 100
    answers = (
        an_answer(f"right {position}", 0.9 - shift, True, f"right {position}"),
        an_answer(f"wrong {position}", 0.55 + shift, True),
        an_answer(f"missed {position}", 0.4 - shift, False, f"missed {position}"),
        an_answer(f"other {position}", 0.2 - shift, False),
    )
    return a_question(position, answers, (f"right {position}", f"missed {position}"))


RUN = [small(position) for position in range(12)]


def a_verdict(
    question: RunQuestion, answer: str, label: str, annotator: str = "Ann", at: str = ""
) -> Judgement:
    return Judgement(question.trace_id, question.question.text, answer, label, annotator, at=at)


def differing(run: list[RunQuestion]) -> list[RunQuestion]:
    """Another system, which predicts the wrong answer of every third question only, and no right one."""
    return [
        replace(
            question,
            answers=tuple(
                replace(answer, predicted=answer.answer.startswith("wrong") and question.position % 3 == 0)
                for answer in question.answers
            ),
        )
        for question in run
    ]


def drawn(plan: QueuePlan, run: list[RunQuestion] = RUN) -> tuple[QueueItem, ...]:
    return draw(run, plan, TAU, (), [differing(run)])


def near(frequency: float, probability: float, draws: int) -> bool:
    """Whether a frequency is what a probability gives, within 4.5 standard errors (wrong once in 150,000)."""
    return abs(frequency - probability) <= 4.5 * math.sqrt(probability * (1 - probability) / draws) + 1e-12


# Probabilities


def test_probabilities_are_proportional_and_sum_to_the_count() -> None:
    got = inclusion_probabilities([4, 3, 2, 1], 2, 0.2)
    assert got == pytest.approx([2 * (0.8 * share + 0.05) for share in (0.4, 0.3, 0.2, 0.1)])
    assert got.sum() == pytest.approx(2)


def test_a_unit_that_would_pass_1_is_certain_and_the_rest_share_what_is_left() -> None:
    assert inclusion_probabilities([8, 1, 1], 2, 0.1) == pytest.approx([1, 1 / 2, 1 / 2])
    assert inclusion_probabilities([90, 8, 1, 1], 3, 0.01) == pytest.approx([1, 1, 1 / 2, 1 / 2])


def test_no_probability_is_below_the_uniform_share() -> None:
    got = inclusion_probabilities([1000, 10, *[0] * 18], 5, 0.25)
    assert got.min() >= 0.25 * 5 / 20
    assert got.max() <= 1
    assert got.sum() == pytest.approx(5)


def test_a_count_that_is_not_below_the_population_takes_all_for_certain() -> None:
    for count in (3, 4):
        assert inclusion_probabilities([5, 1, 0], count, 0.2).tolist() == [1, 1, 1]


def test_units_are_sampled_with_exactly_their_probabilities() -> None:
    """1,500 draws of 7 of 20 units, the first certain; every frequency within 4.5 standard errors."""
    weights = [60, *(1 / (1 + i) for i in range(19))]
    probabilities = inclusion_probabilities(weights, 7, 0.2)
    assert sum(probabilities == 1) == 1
    counts, draws = np.zeros(20), 1500
    for seed in range(draws):
        numbers = [chance(seed, unit) for unit in range(20)]
        sample = systematic_sample(probabilities, numbers, chance(seed, "start"))
        assert len(sample) == len(set(sample)) == 7
        counts[sample] += 1
    assert all(near(f, p, draws) for f, p in zip(counts / draws, probabilities, strict=True))


def test_rounding_loses_no_unit_at_either_end() -> None:
    probabilities = inclusion_probabilities([1.0] * 7, 3, 1.0)
    numbers = [i / 7 for i in range(7)]
    for start in (0.0, 1 - 2**-53):
        assert len(systematic_sample(probabilities, numbers, start)) == 3
    assert systematic_sample(np.ones(4), numbers[:4], 0.5) == [0, 1, 2, 3]


def test_an_equal_sample_is_the_smallest_numbers() -> None:
    assert equal_sample([0.5, 0.1, 0.9, 0.3], 2) == [1, 3]
    assert equal_sample([0.5, 0.1], 9) == [0, 1]


def test_chance_depends_on_seed_and_key_alone_and_fills_0_to_1() -> None:
    numbers = [chance(3, "a", i) for i in range(2000)]
    assert numbers == [chance(3, "a", i) for i in range(2000)]
    assert len({chance(3, "a", 1), chance(4, "a", 1), chance(3, "a", 2), chance(3, "a1")}) == 4
    tenths = Counter(int(10 * number) for number in numbers)
    assert all(near(tenths[tenth] / 2000, 0.1, 2000) for tenth in range(10))
    assert chance(0, "draw", "q1", "1995") == FIXED


FIXED = 0.4280568744691484
"""Written down so that a queue drawn today can be drawn again by a later version."""


# Draws


CASES = [
    QueuePlan("paper", 7),
    QueuePlan("uniform", 7),
    QueuePlan("uniform", 3, population="all", unit="question"),
    QueuePlan("near tau", 7, population="candidates"),
    QueuePlan("near tau", 4, unit="question", uniform_share=0.5),
    QueuePlan("expected value", 7, population="all"),
    QueuePlan("disagreement", 7, population="all"),
]


@pytest.mark.parametrize("plan", CASES, ids=lambda plan: f"{plan.strategy} {plan.unit}")
def test_what_stands_beside_an_item_is_how_often_it_is_drawn(plan: QueuePlan) -> None:
    """150 draws. Each frequency within 4.5 standard errors; the Horvitz-Thompson totals of all items, of the
    wrong predictions and of the scores are right on average, within 4 standard errors; all items are reached.
    """
    members = population(RUN, plan.population)
    times: Counter[tuple[int, str]] = Counter()
    beside: dict[tuple[int, str], float] = {}
    totals, draws = [], 150
    scores = {(entry.question.position, entry.answer.answer): entry.answer.p_right for entry in members}
    for seed in range(draws):
        items = drawn(replace(plan, seed=seed))
        names = [(item.position, item.answer) for item in items]
        assert len(set(names)) == len(names)
        times.update(names)
        for name, item in zip(names, items, strict=True):
            assert beside.setdefault(name, item.inclusion) == item.inclusion
        totals.append(
            [
                sum(1 / item.inclusion for item in items),
                sum(1 / item.inclusion for item in items if item.stratum == "wrong prediction"),
                sum(scores[name] / item.inclusion for name, item in zip(names, items, strict=True)),
            ]
        )
    assert beside.keys() == scores.keys()
    assert all(near(times[name] / draws, beside[name], draws) for name in beside)
    known = [len(members), 12, sum(scores.values())]
    found = np.array(totals)  # (draws, totals)
    error = found.std(axis=0) / math.sqrt(draws)
    assert (np.abs(found.mean(axis=0) - known) <= 4 * error + 1e-9).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_draw_has_its_count_and_depends_on_seed_and_population_alone(strategy: str) -> None:
    plan = QueuePlan(strategy, 9, seed=5)
    items = drawn(plan)
    assert len(items) == 9
    assert drawn(plan) == items
    assert sorted(drawn(plan, RUN[::-1]), key=str) == sorted(items, key=str)
    assert drawn(replace(plan, seed=6)) != items


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_count_above_the_population_takes_everything_for_certain(strategy: str) -> None:
    items = drawn(QueuePlan(strategy, 1000))
    assert len(items) == 24
    assert {item.inclusion for item in items} == {1}


def test_the_paper_sample_has_as_many_missed_as_wrong_answers() -> None:
    strata = Counter((item.kind, item.stratum, item.inclusion) for item in drawn(QueuePlan("paper", 10)))
    assert strata == {("prediction", "wrong prediction", 5 / 12): 5, ("gold", "missed gold", 5 / 12): 5}


def test_where_one_kind_of_error_is_rare_the_other_fills_the_paper_sample() -> None:
    run = [
        small(0),
        small(1),
        *(a_question(i, [an_answer(f"w {i}", 0.6, True)], ["g"]) for i in range(2, 12)),
    ]
    strata = Counter((item.kind, item.inclusion) for item in drawn(QueuePlan("paper", 8), run))
    assert strata == {("gold", 1): 2, ("prediction", 6 / 12): 6}


def test_a_larger_even_sample_with_the_same_seed_holds_the_smaller() -> None:
    less, more = (
        {(item.position, item.answer) for item in drawn(QueuePlan("uniform", n, 3))} for n in (5, 9)
    )
    assert less < more


def test_the_order_of_a_queue_does_not_tell_the_kinds_apart() -> None:
    """Of 100 queues, as many begin with a missed gold answer as with a wrong prediction."""
    first = Counter(drawn(QueuePlan("paper", 8, seed))[0].kind for seed in range(100))
    assert near(first["gold"] / 100, 0.5, 100)


def test_a_question_brings_all_its_items_one_after_the_other() -> None:
    items = drawn(QueuePlan("uniform", 3, population="all", unit="question"))
    positions = [item.position for item in items]
    assert len(items) == 12
    assert [positions[i] for i in (0, 4, 8)] == list(dict.fromkeys(positions))
    assert {item.trace_id for item in items} == {f"trace {position}" for position in positions}


# Population


def test_each_answer_is_there_once_by_what_the_gold_says() -> None:
    answers = [
        an_answer("New York City", 0.9, True, "NYC"),
        an_answer("the Bronx", 0.8, True),
        an_answer("The Bronx!", 0.7, False),  # the same once more
        an_answer("NYC", 0.6, False, "NYC"),  # another spelling of what is predicted
        an_answer("Bronx, New York", 0.5, False, repeats=True),
        an_answer("Boston", 0.3, False, "Boston"),
        an_answer("Boston, MA", 0.2, False, "Boston"),
        an_answer("Albany", 0.1, False),
    ]
    listed = a_question(0, answers, ["NYC", "Boston", "never recalled"])
    unknown = a_question(1, [an_answer("x", 0.9, True), an_answer("y", 0.1, False)], None)
    entries = population([listed, unknown], "all")
    assert [(entry.answer.answer, entry.stratum) for entry in entries] == [
        ("New York City", "right prediction"),
        ("the Bronx", "wrong prediction"),
        ("Boston", "missed gold"),
        ("Albany", "unlisted candidate"),
        ("x", "prediction without gold"),
        ("y", "candidate without gold"),
    ]
    both = replace(listed.question, answers=(*listed.question.answers, (("Albany", "Bronx"),)))
    strata = {e.answer.answer: e.stratum for e in population([replace(listed, question=both)], "all")}
    assert (strata["the Bronx"], strata["Albany"]) == ("right prediction", "listed candidate")
    assert [e.answer.answer for e in population([listed], "errors")] == ["the Bronx", "Boston"]
    assert "right prediction" not in {e.stratum for e in population([listed], "candidates")}


# Worth


def test_nearness_falls_by_e_each_tenth_on_both_sides_of_tau() -> None:
    entries = population(
        [a_question(0, [an_answer(str(p), p, True) for p in (0.5, 0.6, 0.3, None)], ["g"])], "all"
    )
    assert nearness(entries, 0.5) == pytest.approx([1, math.exp(-1), math.exp(-2), 0])


def worths(question: RunQuestion, judgements: Iterable[Judgement] = ()) -> dict[str, float]:
    """15 times the value of each answer, by the first word of it."""
    entries = population([question], "all")
    values = expected_value(entries, judgements)
    return {e.answer.answer.split()[0]: 15 * value for e, value in zip(entries, values, strict=True)}


def test_the_expected_value_is_what_one_computes_by_hand() -> None:
    """a = 2 predictions, g = 2, m = 1: F1 = 1/2 now."""
    assert worths(small(5)) == pytest.approx(
        {
            "right": 0.0,  # no verdict takes a gold answer away
            "wrong": 0.6 * (0.65 * (1 - 1 / 2) + 0.35 * (4 / 5 - 1 / 2)),
            "missed": 0.0,
            "other": 0.15 * 0.35 * (1 / 2 - 2 / 5),
        }
    )


def test_where_no_gold_is_left_a_valid_answer_is_unlisted() -> None:
    question = a_question(
        0, [an_answer("right", 0.9, True, "right"), an_answer("wrong", 0.5, True)], ["right"]
    )
    assert worths(question)["wrong"] == pytest.approx(0.5 * (4 / 4 - 2 / 3))


def test_a_question_without_answers_or_without_gold_is_handled() -> None:
    no_answer = a_question(0, [an_answer("wrong", 0.5, True)], [])
    assert worths(no_answer) == pytest.approx({"wrong": 0.5 * (2 / 2 - 0)})
    assert worths(a_question(0, [an_answer("unknown", 0.5, True)], None)) == {"unknown": 0}


def test_verdicts_on_like_answers_move_the_expectation() -> None:
    """Four like wrong predictions were invalid: valid with (0 + 4 * .6) / (4 + 4)."""
    like = [an_answer(f"like {i}", 0.5, True) for i in range(4)]
    question = a_question(0, [an_answer("wrong", 0.55, True), *like], ["gold"])
    before = worths(question)["wrong"]
    said = [a_verdict(question, answer.answer, "invalid") for answer in like]
    assert worths(question, said)["wrong"] == pytest.approx(before / 2)
    assert worths(question, [replace(j, label="unsure") for j in said])["wrong"] == pytest.approx(before)


def test_a_settled_answer_is_worth_nothing_more_and_an_unsure_one_is() -> None:
    assert worths(RUN[5], [a_verdict(RUN[5], "Wrong 5!", "invalid")])["wrong"] == 0
    assert worths(RUN[5], [a_verdict(RUN[5], "wrong 5", "unsure")]) == worths(RUN[5])


def test_verdicts_that_take_longer_are_worth_less() -> None:
    """Six verdicts on wrong predictions, 30 s each; the other kinds have the overall median, 30 s too."""
    times = [
        a_verdict(RUN[i], f"wrong {i}", "unsure", at=f"2030-01-01T00:0{i // 2}:{30 * (i % 2):02}.000+00:00")
        for i in range(6)
    ]
    entries = population(RUN, "all")
    slow, fast = expected_value(entries, times), expected_value(entries, ())
    assert slow == pytest.approx([value / 2 for value in fast])


def test_annotators_or_systems_that_differ_give_weight() -> None:
    entries = population([RUN[0], RUN[1]], "errors")
    names = [entry.answer.answer for entry in entries]
    assert names == ["wrong 0", "missed 0", "wrong 1", "missed 1"]
    votes = [
        a_verdict(RUN[1], "missed 1", "listed", "Ann"),
        a_verdict(RUN[1], "missed 1", "invalid", "Bob"),
        a_verdict(RUN[0], "wrong 0", "invalid", "Ann"),
        a_verdict(RUN[0], "wrong 0", "invalid", "Bob"),
    ]
    assert disagreement(entries, votes, []) == [0, 0, 0, 1 / 2]
    assert disagreement(entries, [], [differing(RUN)]) == [0, 0, 1 / 2, 0]
    assert disagreement(entries, [], [differing(RUN), RUN]) == pytest.approx([0, 0, 4 / 9, 0])
    assert disagreement(entries, [], [RUN[1:]]) == [0, 0, 0, 0]


def test_a_system_that_gives_a_missed_gold_answer_in_other_words_differs() -> None:
    other = a_question(0, [an_answer("in other words", None, True, "missed 0")], ["missed 0"])
    entries = population([RUN[0]], "errors")
    assert disagreement(entries, [], [[other]]) == [1 / 2, 1 / 2]


# Refusals


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "best"}, "The strategy is 'best'; it must be one of paper, uniform"),
        ({"strategy": ["paper"]}, "The strategy is"),
        ({"population": "some"}, "The population is 'some'"),
        ({"unit": "passage"}, "The unit is 'passage'"),
        ({"count": 0}, "The count is 0"),
        ({"count": 2.0}, "The count is 2.0"),
        ({"count": True}, "The count is True"),
        ({"count": 10**9}, "from 1 to 100000"),
        ({"overlap": 0}, "The overlap is 0"),
        ({"seed": "1"}, "The seed is '1'"),
        ({"seed": 2**63}, "The seed is"),
        ({"uniform_share": 0}, "The uniform share is 0"),
        ({"uniform_share": 1.5}, "The uniform share is 1.5"),
        ({"uniform_share": float("nan")}, "The uniform share is nan"),
        ({"blind": 1}, "blind is 1"),
        ({"strategy": "paper", "population": "all"}, "leave population and unit"),
        ({"strategy": "paper", "count": 1}, "needs at least 2 items"),
    ],
)
def test_a_plan_that_can_not_be_followed_is_refused(changes: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        drawn(replace(QueuePlan("uniform"), **changes))


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda: draw([], QueuePlan()), "nothing to judge in the population 'errors'"),
        (lambda: draw(RUN, QueuePlan("near tau")), "no scores to compare with tau"),
        (lambda: draw(unscored(), QueuePlan("near tau"), TAU), "has a score to compare"),
        (lambda: draw(RUN, QueuePlan("disagreement")), "No two annotators or systems differ yet"),
        (lambda: draw(ungolden(), QueuePlan("expected value", population="all")), "can change F1"),
    ],
)
def test_a_run_that_does_not_suit_the_strategy_is_refused(refused: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        refused()


def unscored() -> list[RunQuestion]:
    return [a_question(0, [an_answer("x", None, True)], ["g"])]


def ungolden() -> list[RunQuestion]:
    return [a_question(0, [an_answer("x", 0.5, True)], None)]

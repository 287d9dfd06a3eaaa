"""Proposals for variants: each kind of difference is seen, none is taken for more than it is."""

from __future__ import annotations

import pytest

from rtv_core.annotation.aliases import LIKELY, RULES, suggest
from rtv_core.annotation.values import Date, amount, dates, digits, same_amount

PAIRS = [
    ("Dain", "Dáin", "the same but for accents, spacing or punctuation"),
    ("s - block", "S-Block", "the same but for accents, spacing or punctuation"),
    ("Москва", "Moskva", "the same but for accents, spacing or punctuation"),
    ("April 24, 2010", "24 April 2010", "the same but for accents, spacing or punctuation"),
    ("bone marrow", "in the bone marrow", "the same words in another form or order"),
    ("Argentina and Chile", "Chile and Argentina", "the same words in another form or order"),
    ("simulations", "a simulation", "the same words in another form or order"),
    ("twenty-eight", "28", "the same words in another form or order"),
    ("the forty-seventh", "47th", "the same words in another form or order"),
    ("10,000", "ten thousand", "the same words in another form or order"),
    ("4 July 1960", "July 4th, 1960", "the same date"),
    ("2008-12-12", "12 December 2008", "the same date"),
    ("1648-51", "from 1648 until 1651", "the same date"),
    ("950 pesos", "₱950", "the same amount"),
    ("five km", "3.1 miles", "the same amount"),
    ("six feet", "72 inches", "the same amount"),
    ("₹39.97 lakh", "3,997,000 rupees", "the same amount"),
    ("Dr. Rajendra Prasad", "Rajendra Prasad", "the same but for a title"),
    ("B. R. Ambedkar", "Bhimrao Ramji Ambedkar", "the same name with a nickname, initials or more names"),
    ("Bill Clinton", "William Jefferson Clinton", "the same name with a nickname, initials or more names"),
    ("George Barnes", "George Warren Barnes", "the same name with a nickname, initials or more names"),
    ("UNHCR", "United Nations High Commissioner Refugees", "one is short for the other"),
    ("1990", "19 July 1990", "the same date, said more or less exactly"),
    ("November 1995", "1995", "the same date, said more or less exactly"),
    ("1985", "1985–1993", "the same date, said more or less exactly"),
    ("Novak Djokovic (8 times)", "Novak Djokovic", "the same but for what is in brackets"),
    ("Colby, Wisconsin", "Colby", "the same up to the comma"),
    ("Nixon", "Richard Nixon", "the surname alone"),
    ("Galileo", "Galileo Galilei", "the first name alone"),
    ("Janissaries of old", "Janisseries of old", "spelt almost the same"),
    ("the Elk River", "Elk", "adds words"),
    ("brown dog", "the large brown dog with spots", "leaves out words"),
    ("group", "group 1", "adds or leaves out words that may change the meaning"),
    ("Henry", "Henry VIII", "adds or leaves out words that may change the meaning"),
    ("washing", "no washing or bathing", "adds or leaves out words that may change the meaning"),
]

APART = [
    ("Henry II", "Henry III"),
    ("1912", "1914"),
    ("August 2000", "November 1999"),
    ("$5", "€5"),
    ("12 meters", "12 feet"),
    ("48 hours", "24 hours"),
    ("Sam Elliott", "Sam Waterston"),
    ("", "anything"),
    ("?!", "anything"),
]


@pytest.mark.parametrize(("answer", "gold", "reason"), PAIRS)
def test_each_kind_of_variant_is_proposed_with_its_reason(answer: str, gold: str, reason: str) -> None:
    (found,) = suggest(answer, [[gold]])
    assert (found.gold, found.spelling, found.reason) == (gold, gold, reason)


@pytest.mark.parametrize(("answer", "gold"), APART)
def test_what_differs_in_what_counts_is_not_likely(answer: str, gold: str) -> None:
    assert all(found.score < LIKELY for found in suggest(answer, [[gold]]))


def test_every_rule_has_a_pair_here_or_a_test_of_its_own() -> None:
    elsewhere = {
        "adds only words of the question",
        "leaves out only words of the question",
        "almost the same words",
        "shares half of its words",
    }
    assert {rule.reason for rule in RULES} == {reason for *_, reason in PAIRS} | elsewhere


def test_words_of_the_question_count_for_nothing() -> None:
    asked = "A quadruped is an animal with how many feet?"
    assert suggest("Quadruped: four feet.", [["4"]], asked)[0].reason == "adds only words of the question"
    assert suggest("four feet", [["4"]])[0].reason == "adds words"
    asked = "which river enters the sea at Whitby"
    assert suggest("Esk", [["Esk River"]], asked)[0].reason == "leaves out only words of the question"


def test_less_is_claimed_where_less_is_shared() -> None:
    assert suggest("golden palm", [["palm tree"]])[0].reason == "shares half of its words"
    assert suggest("Tower of Babylonia", [["Tower of Babylon"]])[0].reason == "spelt almost the same"
    assert (
        suggest("Ringling Bros circus", [["the Ringling Brothers circus"]])[0].reason
        == "almost the same words"
    )


def test_the_best_gold_answer_comes_first_and_unrelated_ones_not_at_all() -> None:
    gold = [["Ginnifer Goodwin"], ["Joaquin Rafael Phoenix"], ["Phoenix, Joaquin"]]
    found = suggest("Joaquin Phoenix", gold)
    assert [s.gold for s in found] == ["Phoenix, Joaquin", "Joaquin Rafael Phoenix"]
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)


def test_a_gold_answer_is_named_by_its_first_spelling_and_shows_the_one_that_fits() -> None:
    (found,) = suggest("Bombay (city)", [["Mumbai", "Bombay"]])
    assert (found.gold, found.spelling) == ("Mumbai", "Bombay")


def test_scores_are_shares_and_say_more_for_equal_words_than_for_half_of_them() -> None:
    assert all(0 < rule.score < 1 for rule in RULES)
    by_reason = {rule.reason: rule.score for rule in RULES}
    assert (
        by_reason["the same words in another form or order"] > LIKELY > by_reason["shares half of its words"]
    )


def test_hostile_text_is_only_text() -> None:
    for text in (
        "9**9**9 m",
        "[[",
        "((((a))))",
        "\x00",
        "1e999999 kg",
        "km" * 5000,
        "0000-00-00",
        "99999 BC",
    ):
        suggest(text, [[text[::-1], "5 km"], ["1 May 2000"]], text)


def test_dates_are_read_as_far_as_they_are_said() -> None:
    assert dates("on Flag Day in 1954") == ((Date(1954),), ("on", "flag", "day", "in"))
    assert dates("March 1995")[0] == (Date(1995, 3),)
    assert dates("July 20th")[0] == (Date(None, 7, 20),)
    assert dates("the 2001–2002 season") == ((Date(2001), Date(2002)), ("the", "season"))
    assert dates("1066 BC")[0] == (Date(-1066),)
    for text in ("May", "Century 16", "2.45 billion years ago", "12th"):
        assert dates(text)[0] == ()


def test_amounts_are_read_with_unit_currency_and_scale() -> None:
    assert amount("$2.19 billion").value == 2.19e9
    assert amount("$2.19 billion").currencies == {"USD"}
    assert amount("950 pesos").currencies >= {"PHP", "MXN"}
    assert (amount("1,500 m").value, amount("1,500 m").unit) == (1500, "m")
    assert amount("200 to 500 mg") is None
    assert amount("a few") is None
    assert digits("one hundred and fifteen home runs") == "115 home runs"


@pytest.mark.parametrize("answer", ["5 ½", "6 ft ½", "3 ⅓", "7 ①", "2 m²", "9 µ"])
def test_no_answer_keeps_a_proposal_from_being_made(answer: str) -> None:
    for gold in ("5.5", "6 feet", answer):
        suggest(answer, [[gold]])


def test_amounts_are_equal_across_units_and_not_across_currencies() -> None:
    assert same_amount(amount("100 °C"), amount("212 °F"))
    assert same_amount(amount("54 Mbps"), amount("54 Mbit / s"))
    assert same_amount(amount("$5 million"), amount("5 million"))
    assert not same_amount(amount("5 km"), amount("5 kg"))
    assert not same_amount(amount("5 men"), amount("5 men only"))
    assert not same_amount(amount("£5"), amount("$5"))

"""The string rules, against examples and against each rule written out plainly."""

from __future__ import annotations

import random
import re
import string
import unicodedata

import pytest
import regex

from rtv_core.text import (
    answer_key,
    covers,
    covers_any,
    find_answer,
    normalise_answer,
    same_answer,
    split_coordinated,
    tokenize,
    without_end_marks,
)


def test_normalisation_is_the_fields() -> None:
    assert normalise_answer(" The  Lost-Boys' (a film) ") == "lostboys film"
    assert normalise_answer("A an the") == ""
    assert normalise_answer("Beyoncé") == "beyoncé"


def test_normalisation_equals_the_scoring_scripts_on_random_strings() -> None:
    rng = random.Random(5)
    letters = list("aAthe n_-'.,!\té½ª°İ中\u0300\u200d\u200b\u00a0\u2028")
    for _ in range(3000):
        text = "".join(rng.choices(letters, k=rng.randint(1, 9)))
        bare = "".join(c for c in text.lower() if c not in set(string.punctuation))
        assert normalise_answer(text) == " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Beyoncé", "Beyonce"),
        ("Jean-Luc", "Jean Luc"),
        ("24 April 2010", "April 24, 2010"),
        ("04 April", "April 4"),
        ("The Beatles", "Beatles"),
        ("Rubik's Cube", "Rubik’s Cube"),
        ("Straße", "STRASSE"),
        ("ﬁlm", "film"),
        ("100 %", "100%"),
    ],
)
def test_spellings_of_one_answer_share_a_key(one: str, other: str) -> None:
    assert answer_key(one) == answer_key(other)
    assert same_answer(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C"),
        ("C#", "C"),
        ("$5", "5"),
        ("1.5", "15"),
        ("May 4", "May 5"),
        ("12 March 2010", "10 March 2012"),
        ("Paris 1900 London", "London 1900 Paris"),
        ("The", "A"),
        ("!", "?"),
    ],
)
def test_different_answers_have_different_keys(one: str, other: str) -> None:
    assert answer_key(one) != answer_key(other)


def test_either_rule_makes_two_strings_the_same_answer() -> None:
    assert same_answer("1,000", "1000")  # by normalisation
    assert same_answer("Beyoncé", "Beyonce")  # by key
    assert not same_answer("1995", "1996")


def test_only_blank_text_is_without_a_key() -> None:
    assert answer_key(" \n") == ""
    assert all(map(answer_key, ("!", "+", "the", "中", "½")))


# Coverage


@pytest.mark.parametrize(
    ("text", "answer", "strict", "official"),
    [
        ("It came out in 1995.", "1995", True, True),
        ("about 150 million", "15", False, True),
        ("The Lost Boys is a film", "Lost Boy", False, True),
        ("seen by Mr. Jack Smith", "Mr Jack Smith", False, True),
        ("the King of Spain", "King Spain", False, True),
        ("BEYONCÉ sang", "beyoncé", True, True),
        ("Beyonce\u0301 sang", "Beyoncé", True, True),
        ("Beyonce sang", "Beyoncé", False, False),
        ("U.S. troops", "U.S.", True, True),
        ("US troops", "U.S.", False, True),
        ("he won 1:0 there", "1:0", True, True),
        ("he won 10 there", "1:0", False, True),
        ("blue", "blue whale", False, False),
        ("", "x", False, False),
        ("x", "", False, False),
        ("x", " \u200b", False, False),
        ("to the point", "the", True, False),
        ("so C++ it is", "C++", True, True),
    ],
)
def test_coverage_by_both_rules(text: str, answer: str, strict: bool, official: bool) -> None:
    assert covers(text, answer) == strict
    assert covers(text, answer, "official") == official


def test_any_spelling_covers() -> None:
    assert covers_any("out in 2010", ["April 24, 2010", "2010"])
    assert not covers_any("out in 2010", ["2012"])
    assert not covers_any("out in 2010", [])


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(ValueError, match="unknown coverage rule 'loose': use one of strict, official"):
        covers("x", "x", "loose")


def test_strict_coverage_equals_dprs_rule_on_random_texts() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        text, answer = _random_text(rng, 12), _random_text(rng, 3)
        words, wanted = _tokens(text), _tokens(answer)
        runs = [words[i : i + len(wanted)] for i in range(len(words) - len(wanted) + 1)]
        assert covers(text, answer) == (bool(wanted) and wanted in runs), (text, answer)


def test_official_coverage_equals_the_released_rule_on_random_texts() -> None:
    rng = random.Random(4)
    for _ in range(2000):
        text, answer = _random_text(rng, 12), _random_text(rng, 3)
        words, wanted = _kept(_tokens(text)), _kept(_tokens(answer))
        runs = ["".join(words[i : i + len(wanted)]) for i in range(len(words) - len(wanted) + 1)]
        expected = bool(wanted) and any(run.startswith("".join(wanted)) for run in runs)
        assert covers(text, answer, "official") == expected, (text, answer)


def test_covers_and_find_answer_agree() -> None:
    rng = random.Random(6)
    for _ in range(500):
        text, answer = _random_text(rng, 12), _random_text(rng, 2)
        for rule in ("strict", "official"):
            assert covers(text, answer, rule) == bool(find_answer(text, answer, rule))


# Offsets


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("1995, then 1995 again", "1995", ["1995", "1995"]),
        ("İstanbul and İzmir", "izmir", []),  # the dot of İ is a mark of its own
        ("İstanbul and İzmir", "İZMIR", ["İzmir"]),
        ("Große Straße 5", "straße 5", ["Straße 5"]),
        ("e\u0301te\u0301 né en été", "été", ["e\u0301te\u0301", "été"]),
        ("👩‍👩‍👧 in Rio", "rio", ["Rio"]),
        ("\u202eRio\u202c and \x00Rio", "Rio", ["Rio", "Rio"]),
        ("a a a", "a a", ["a a", "a a"]),
        ("한국 한국", "한국", ["한국", "한국"]),
    ],
)
def test_offsets_point_into_the_original_text(text: str, answer: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_answer(text, answer)] == found


def test_official_offsets_span_the_small_words_and_the_whole_last_token() -> None:
    text = "The King of the Lost Boys, again"
    spans = find_answer(text, "king lost boy", "official")
    assert [text[start:end] for start, end in spans] == ["King of the Lost Boys"]


def test_every_strict_token_lies_where_its_span_says() -> None:
    rng = random.Random(9)
    for _ in range(300):
        text = _random_text(rng, 10)
        place = tokenize(text)
        words = place.padded.split()
        assert len(words) == len(place.spans) == len(place.starts)
        for word, (start, end) in zip(words, place.spans, strict=True):
            assert "".join(unicodedata.normalize("NFD", c).lower() for c in text[start:end]) == word


# Coordinated answers


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ann, Bob and Cid", ["Ann", "Bob", "Cid"]),
        ("Ann, Bob, and Cid", ["Ann", "Bob", "Cid"]),
        ("AC/DC", ["AC", "DC"]),
        ("Kim (Seoul)", ["Kim", "Seoul"]),
        ("Ann & Bob; Cid or Di", ["Ann", "Bob", "Cid", "Di"]),
        ("Ann as well as Bob", ["Ann", "Bob"]),
        ("1,000 and 2,500", ["1,000", "2,500"]),
        ("Portland, Oregon", ["Portland", "Oregon"]),
        ("Android", []),
        ("Ann,", []),
        ("", []),
        (" and ", []),
    ],
)
def test_a_list_in_one_span_is_cut_into_its_parts(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in split_coordinated(text)] == parts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Neverland.", "Neverland"),
        ("Safe Haven,", "Safe Haven"),
        ("in 1945.", "in 1945"),
        ("the lake –", "the lake"),
        ("Sønderborg.", "Sønderborg"),
        ("U.S.", "U.S."),
        ("Martin Luther King Jr.", "Martin Luther King Jr."),
        ("Acme Inc.", "Acme Inc."),
        ("St. Helena.", "St. Helena."),
        ("What?", "What?"),
        ("...", "..."),
        (",", ","),
        ("", ""),
    ],
)
def test_the_marks_that_end_a_phrase_are_left_out(text: str, left: str) -> None:
    assert without_end_marks(text) == left


WORDS = [
    "a",
    "of",
    "The",
    "Mr",
    "1",
    "15",
    "150",
    "x",
    "xy",
    "É",
    "e\u0301",
    "İ",
    "ß",
    ".",
    ",",
    "-",
    "+",
    "中",
]


def _random_text(rng: random.Random, most: int) -> str:
    words = rng.choices(WORDS, k=rng.randint(1, most))
    return "".join(word + rng.choice(["", " ", "  "]) for word in words)


def _tokens(text: str) -> list[str]:
    folded = "".join(unicodedata.normalize("NFD", c).lower() for c in text)
    return regex.findall(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]", folded)


def _kept(words: list[str]) -> list[str]:
    solid = [w for w in words if regex.fullmatch(r"[\p{L}\p{N}\p{M}]+", w)]
    small = {"the", "of", "on", "to", "for", "mr", "miss", "mrs", "dr"}
    return [w for w in solid if w not in small] or solid or words

"""SQuAD's answers that are lists: taken apart only where the question asks for several."""

from __future__ import annotations

import pytest

from rtv_core.training.lists import list_parts


@pytest.mark.parametrize(
    ("question", "answer", "parts"),
    [
        ("Which three nations held the fort?", "Arvel, Besk and Corin", ["Arvel", "Besk", "Corin"]),
        ("Who were the two founders?", "Ada Brun and Cai Dorn", ["Ada Brun", "Cai Dorn"]),
        ("What are the parts of a flute?", "head, body, and foot", ["head", "body", "foot"]),
        ("What colors was it painted?", "red and yellow", ["red", "yellow"]),
    ],
)
def test_a_list_that_was_asked_for_is_taken_apart(question, answer, parts):
    assert list_parts(question, answer) == parts


@pytest.mark.parametrize(
    ("question", "answer", "why"),
    [
        ("Who wrote it?", "Ada Brun and Cai Dorn", "nobody asks for several"),
        ("What play did she see?", "Romeo and Juliet", "one name"),
        ("Which three nations held the fort?", "Arvel", "one part"),
        ("When were the two games?", "June 1, 2009", "a date"),
        ("What are the years of the reigns?", "1837 and 1901", "numbers"),
        ("What are the two rules?", "players pass the ball and they must not run", "a sentence"),
        ("What two rivers meet?", "the Arvel which is long and the Besk", "a clause"),
        ("What are the styles?", "a sumptuous and composite style of ornament", "one description"),
        ("What are the places?", "Arvel and in the south", "a part that begins with a preposition"),
        ("Who were the people?", "Ada Brun and other guests", "a name and a word"),
        ("What are the powers?", "courts of the whole old land and the crown", "a long part"),
        ("How did the two firms work?", "speed and care", "it asks how"),
    ],
)
def test_another_answer_stays_whole(question, answer, why):
    assert list_parts(question, answer) == [], why

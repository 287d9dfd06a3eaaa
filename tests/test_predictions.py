"""Other systems' files: every form read, every mistake named by file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rtv_core.errors import InputError
from rtv_core.predictions import (
    Predicted,
    PredictedAnswer,
    aligned,
    predicted_question,
    read_predictions,
)
from rtv_core.records import Question
from rtv_core.wire import from_json, to_json

QUESTIONS = [
    Question("1", "Who sang it?", ((("Beyoncé",), ("Jay-Z", "Jay Z")),)),
    Question("2", "when was  it sung", ((("2003",),),)),
    Question("3", "Who sang it?", ((("Beyoncé",),),)),
]


def test_ambigqa_predictions_are_lists_or_single_answers_by_id(tmp_path: Path) -> None:
    path = _write(tmp_path, json.dumps({"1": ["Jay-Z", "Beyoncé"], "2": "2003", "3": []}, indent=1))
    assert [(p.id, [a.answer for a in p.answers]) for p in read_predictions(path)] == [
        ("1", ["Jay-Z", "Beyoncé"]),
        ("2", ["2003"]),
        ("3", []),
    ]


def test_records_stand_one_a_line_or_in_an_array_with_predictions_or_one(tmp_path: Path) -> None:
    records = [
        {"question": "Who?", "predictions": ["a", {"answer": "b"}], "x": 1},
        {"id": 2, "prediction": "c"},
    ]
    for text in ("\n".join(map(json.dumps, records)), json.dumps(records)):
        assert [
            (p.id, p.question, [a.answer for a in p.answers])
            for p in read_predictions(_write(tmp_path, text))
        ] == [
            ("", "Who?", ["a", "b"]),
            ("2", "", ["c"]),
        ]


def test_a_single_record_is_not_taken_for_answers_by_id(tmp_path: Path) -> None:
    (found,) = read_predictions(_write(tmp_path, '{"id": "7", "predictions": ["a"]}'))
    assert (found.id, found.answers) == ("7", (PredictedAnswer("a"),))


@pytest.mark.parametrize("nothing", ["[]", "null", '""', '" "'])
def test_nothing_is_no_answer(tmp_path: Path, nothing: str) -> None:
    (found,) = read_predictions(_write(tmp_path, f'{{"id": 1, "prediction": {nothing}}}'))
    assert found.answers == ()


def test_scored_answers_come_best_first_with_their_evidence(tmp_path: Path) -> None:
    evidence = [{"title": "T", "text": "Jay-Z sang."}, {"text": "No one did."}]
    answers = [{"answer": " a ", "score": 0}, {"answer": "Jay-Z", "score": 0.9, "evidence": evidence}]
    (found,) = read_predictions(_write(tmp_path, json.dumps({"id": "1", "predictions": answers})))
    best, last = found.answers
    assert (best.answer, best.score, last) == ("Jay-Z", 0.9, PredictedAnswer("a", 0.0))
    assert [(p.title, p.text) for p in best.evidence] == [("T", "Jay-Z sang."), ("", "No one did.")]
    assert len({p.id for p in best.evidence}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no prediction"),
        ("{}", "holds no prediction"),
        ('{"1": ["a"]', "line 1: not valid JSON"),
        ('{\n"1": ["a"],\n"2" ["b"]}', "line 3: not valid JSON"),
        ('{"1": ["a", 3]}', r"entry '1': field 'predictions\[1\]' is 3; it must be a text"),
        ('{"1": ["a", " "]}', r"entry '1': field 'predictions\[1\]' is ' '"),
        ('{"1": 3}', "entry '1': field 'predictions' is 3"),
        ('{"id": 1, "prediction": "a"}\n{"id": 2}', "line 2: field 'predictions' is missing"),
        ('{"id": 1, "prediction": "a"}\n"b"', "line 2: 'b' is no prediction"),
        ('{"id": 1, "prediction": "a"}\n{"predictions": []}', "line 2: field 'id' is missing"),
        ('{"id": [1], "prediction": "a"}', r"field 'id' is \[1\]"),
        ('{"question": 7, "prediction": "a"}', "field 'question' is 7"),
        ('[{"id": 1, "prediction": {"answer": ""}}]', "entry 1: field 'prediction.answer' is ''"),
        ('{"id": 1, "predictions": [{"text": "a"}]}', r"'predictions\[0\].answer' is missing"),
        (
            '{"id": 1, "predictions": [{"answer": "a", "score": 3}]}',
            r"'predictions\[0\].score' is 3; it must be",
        ),
        ('{"id": 1, "predictions": [{"answer": "a", "score": NaN}]}', r"'predictions\[0\].score' is nan"),
        (
            '{"id": 1, "predictions": [{"answer": "a", "evidence": "b"}]}',
            r"'predictions\[0\].evidence' is 'b'",
        ),
        ('{"id": 1, "predictions": [{"answer": "a", "evidence": [{}]}]}', r"evidence\[0\].text' is missing"),
        ('{"id": 1, "predictions": [{"answer": "a", "evidence": [3]}]}', r"evidence\[0\]' is 3"),
        (
            '{"id": 1, "predictions": [{"answer": "a", "evidence": [{"text": "b", "title": 3}]}]}',
            "title' is 3",
        ),
        ('{"id": 1, "prediction": "' + "a" * 10_001 + '"}', "at most 10,000 characters"),
        (
            '{"id": 1, "prediction": {"answer": "a", "score": 1}}\n{"id": 2, "prediction": "b"}',
            "line 2: an answer has no score",
        ),
    ],
)
def test_a_wrong_prediction_is_named_by_file_place_and_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_predictions(_write(tmp_path, text))
    assert "predictions.json" in str(error.value)
    assert len(str(error.value)) < 500


def test_half_characters_are_replaced(tmp_path: Path) -> None:
    (found,) = read_predictions(_write(tmp_path, '{"id": 1, "prediction": "a\\ud800"}'))
    assert found.answers == (PredictedAnswer("a?"),)


# Which question they belong to


def test_predictions_are_matched_by_id_or_by_text_and_the_rest_have_none() -> None:
    by_id, by_text = _predicted(id_="2"), _predicted(question="who sang IT")
    assert aligned([by_id, by_text], QUESTIONS) == [
        (QUESTIONS[0], by_text),
        (QUESTIONS[1], by_id),
        (QUESTIONS[2], by_text),
    ]
    assert aligned([by_id], QUESTIONS)[0] == (QUESTIONS[0], None)


def test_an_unknown_id_beside_a_known_text_goes_by_the_text() -> None:
    own = _predicted(id_="dev-17", question="When was it sung?")
    assert aligned([own], QUESTIONS)[1] == (QUESTIONS[1], own)


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([{"id_": "9"}], "line 7: there is no question '9'; the first is '1', 'Who sang it"),
        ([{"question": "Why?"}], "line 7: there is no question 'Why"),
        (
            [{"id_": "1", "question": "Why?"}],
            r"'question' is 'Why\?', but the question of id '1' is 'Who sang",
        ),
        ([{"id_": "1"}, {"id_": "1"}], "line 7: the question '1' has predictions at p.jsonl, line 7 already"),
    ],
)
def test_predictions_that_belong_to_no_question_are_refused(predicted: list[dict], message: str) -> None:
    with pytest.raises(InputError, match=message):
        aligned([_predicted(**own) for own in predicted], QUESTIONS)


# What a run holds of them


def test_answers_become_candidates_of_a_trace_that_says_where_they_come_from(tmp_path: Path) -> None:
    evidence = [{"title": "Jay Z", "text": "He sang."}, {"title": "", "text": "No one did."}]
    line = json.dumps({"id": "1", "predictions": [{"answer": "Jay Z", "evidence": evidence}, "Beyoncé"]})
    (predicted,) = read_predictions(_write(tmp_path, line))
    question, trace = predicted_question(QUESTIONS[0], predicted, 4, {"system": "JPR", "imported": "p.json"})
    assert [(a.answer, a.p_right, a.predicted, a.gold) for a in question.answers] == [
        ("Jay Z", None, True, "Jay-Z"),
        ("Beyoncé", None, True, "Beyoncé"),
    ]
    assert [gold.lost for gold in question.gold] == ["predicted", "predicted"]
    assert (question.position, question.question) == (4, QUESTIONS[0])
    assert [c.answer for c in trace.candidates] == ["Jay Z", "Beyoncé"]
    assert [[p.covers for p in body.passages] for body in trace.evidence] == [
        [("strict", "official"), ()],
        [],
    ]
    assert [hit.rank for hit in trace.hits] == [1, 2]
    assert (trace.stage, dict(trace.provenance)) == ("recalled", {"system": "JPR", "imported": "p.json"})
    assert from_json(type(trace), to_json(trace)) == trace


def test_with_tau_answers_at_or_below_it_are_rejected_but_for_the_best() -> None:
    given = (PredictedAnswer("Beyoncé", 0.6), PredictedAnswer("Jay-Z", 0.5), PredictedAnswer("jay z", 0.4))
    predicted = Predicted("line 1", "1", "", given)
    for tau, expected in ((None, [True] * 3), (0.5, [True, False, False]), (0.6, [True, False, False])):
        question, _ = predicted_question(QUESTIONS[0], predicted, 0, {}, tau)
        assert [answer.predicted for answer in question.answers] == expected, tau
        assert [answer.repeats for answer in question.answers] == [False, False, True]
    assert [gold.lost for gold in question.gold] == ["predicted", "at or below tau"]


def test_a_question_without_predictions_is_kept_as_not_answered() -> None:
    question, trace = predicted_question(QUESTIONS[1], None, 1, {})
    assert question.answers == trace.candidates == trace.evidence == ()
    assert [gold.lost for gold in question.gold] == ["not predicted"]


def _predicted(id_: str = "", question: str = "") -> Predicted:
    return Predicted("p.jsonl, line 7", id_, question, (PredictedAnswer("a"),))


def _write(folder: Path, text: str) -> Path:
    path = folder / "predictions.json"
    path.write_text(text, encoding="utf-8")
    return path

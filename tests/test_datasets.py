"""Every format read from a file made here, and every way such a file can be wrong."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from rtv_core.datasets import load_questions
from rtv_core.errors import InputError
from rtv_core.records import Question

AMBIGUOUS = {
    "id": "-807",
    "question": "When did You Don't Know Jack come out?",
    "annotations": [
        {
            "type": "multipleQAs",
            "qaPairs": [
                {"question": "... the game?", "answer": ["1995"]},
                {"question": "... the film?", "answer": ["April 24, 2010", "2010"]},
            ],
        },
        {"type": "singleAnswer", "answer": ["1995", "in 1995"]},
    ],
}
AMBIGUOUS_GOLD = ((("1995",), ("April 24, 2010", "2010")), (("1995", "in 1995"),))


def test_ambigqa_keeps_every_annotation_apart(tmp_path: Path) -> None:
    path = _write(tmp_path, json.dumps([AMBIGUOUS]))
    assert load_questions(path) == [Question("-807", AMBIGUOUS["question"], AMBIGUOUS_GOLD)]


def test_ambigqa_records_may_stand_one_a_line_with_further_fields(tmp_path: Path) -> None:
    path = _write(tmp_path, json.dumps(AMBIGUOUS | {"split": "dev", "context": "..."}) + "\n")
    assert load_questions(path)[0].answers == AMBIGUOUS_GOLD


def test_nq_open_answers_are_spellings_of_one_answer(tmp_path: Path) -> None:
    path = _write(tmp_path, '{"question": "how many seasons", "answer": ["one", "one season"]}\n' * 2)
    gold = ((("one", "one season"),),)
    assert load_questions(path) == [
        Question("1", "how many seasons", gold),
        Question("2", "how many seasons", gold),
    ]


def test_nq_oracle_answers_are_spellings_of_one_answer(tmp_path: Path) -> None:
    path = _write(tmp_path, '{"question": "who", "answers": ["Röntgen", "W. Röntgen"], "ctxs": []}')
    assert load_questions(path) == [Question("1", "who", ((("Röntgen", "W. Röntgen"),),))]


def test_plain_answers_are_lists_of_spellings(tmp_path: Path) -> None:
    path = _write(tmp_path, '{"id": 7, "question": " q ", "answers": [["a"], ["b", "B"]]}')
    assert load_questions(path) == [Question("7", "q", ((("a",), ("b", "B")),))]


def test_missing_answers_mean_unknown_and_an_empty_list_means_none(tmp_path: Path) -> None:
    path = _write(tmp_path, '{"question": "unknown"}\n{"question": "none", "answers": []}')
    assert [q.answers for q in load_questions(path)] == [(), ((),)]


def test_webquestions_answers_are_answers_of_their_own(tmp_path: Path) -> None:
    records = [
        {"qId": "wqs1", "qText": "what languages?", "answers": ["Patois", "English"]},
        {"qId": "wqs2", "qText": "what else?", "answers": []},
    ]
    assert load_questions(_write(tmp_path, json.dumps(records, indent=1))) == [
        Question("wqs1", "what languages?", ((("Patois",), ("English",)),)),
        Question("wqs2", "what else?", ((),)),
    ]


def test_webqsp_parses_are_annotations_and_empty_ones_say_nothing(tmp_path: Path) -> None:
    parses = [
        {"Answers": [{"AnswerArgument": "m.01", "EntityName": "Jamaican English"}]},
        {"Answers": []},
        {"Answers": [{"AnswerArgument": "1962", "EntityName": None}]},
    ]
    record = {
        "QuestionId": "WebQTest-0",
        "RawQuestion": "what?",
        "ProcessedQuestion": "what",
        "Parses": parses,
    }
    for indent in (None, 1):
        path = _write(tmp_path, json.dumps({"FreebaseVersion": "x", "Questions": [record]}, indent=indent))
        gold = ((("Jamaican English",),), (("1962",),))
        assert load_questions(path) == [Question("WebQTest-0", "what?", gold)]


def test_qampari_and_romqa_answers_come_with_their_aliases(tmp_path: Path) -> None:
    qampari = {
        "qid": "7__wikidata",
        "question_text": "Which films?",
        "answer_list": [{"answer_text": "Gummo", "aliases": ["Gummo", "Gummo (film)", " "]}],
    }
    romqa = {"id": 3, "question": "Which?", "complete_answer": [{"text": "a", "aliases": []}, {"text": "b"}]}
    path = tmp_path / "questions.json.bz2"
    path.write_bytes(bz2.compress(json.dumps([qampari, romqa]).encode()))
    assert load_questions(path) == [
        Question("7__wikidata", "Which films?", ((("Gummo", "Gummo (film)"),),)),
        Question("3", "Which?", ((("a",), ("b",)),)),
    ]


def test_an_answer_without_words_is_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = _write(tmp_path, '{"question": "a", "answers": [["b"], [""]]}')
    assert load_questions(path)[0].answers == ((("b",),),)
    assert "line 1: field 'answers[1]' is an answer without words" in caplog.text


def test_one_record_over_several_lines_is_one_record(tmp_path: Path) -> None:
    path = _write(tmp_path, '\n{"question": "a",\n "answer": ["b"]}\n')
    assert load_questions(path) == [Question("1", "a", ((("b",),),))]


def test_gzip_a_byte_order_mark_and_other_line_separators_change_nothing(tmp_path: Path) -> None:
    text = '\ufeff{"question": "a\u2028b", "answer": ["x\u0085y"]}\r\n\r\n'
    path = tmp_path / "questions.jsonl"
    path.write_bytes(gzip.compress(text.encode()))
    assert load_questions(path) == [Question("1", "a\u2028b", ((("x\u0085y",),),))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no question"),
        ("[]", "holds no question"),
        ('{"question": "a"}\n{"question": ', "line 2: not valid JSON"),
        ('{"question": \n{"question": "a"}', "line 1: not valid JSON"),
        ('[{"question": "a"},\n\n{"question" "b"}]', "line 3: not valid JSON"),
        ('\n{"question": "a"}\n[1]', "line 3: \\[1\\] is no question"),
        ('[{"question": "a"}, "b"]', "entry 2: 'b' is no question"),
        ('{"text": "a"}', "line 1: field 'question' is missing"),
        ('{"question": " "}', "field 'question' is ' '"),
        ('{"question": "a", "id": [1]}', "field 'id' is \\[1\\]"),
        ('{"id": "x", "question": "a"}\n{"id": "x", "question": "b"}', "line 2: the id 'x' occurs before"),
        ('{"question": "a", "answer": "b"}', "field 'answer' is 'b'; it must be a list"),
        ('{"question": "a", "answer": []}', "field 'answer' is \\[\\]"),
        ('{"question": "a", "answers": [["b"], []]}', "field 'answers\\[1\\]' is \\[\\]"),
        ('{"question": "a", "answers": [["b", ""]]}', "field 'answers\\[0\\]\\[1\\]' is ''"),
        ('{"question": "a", "answers": ["b", 3]}', "field 'answers\\[0\\]' is 'b'"),
        ('{"question": "a", "answers": null}', "field 'answers' is missing"),
        ('{"qText": " ", "answers": ["b"]}', "field 'qText' is ' '"),
        ('{"qText": "a", "answers": [["b"]]}', "field 'answers\\[0\\]' is \\['b'\\]"),
        ('{"question": "a", "complete_answer": ["b"]}', "field 'complete_answer\\[0\\]' is 'b'"),
        ('{"question_text": "a", "answer_list": [{}]}', "'answer_list\\[0\\].answer_text' is missing"),
        (
            '{"question_text": "a", "answer_list": [{"answer_text": "b", "aliases": [1]}]}',
            "'answer_list\\[0\\].aliases' is \\[1\\]",
        ),
        ('{"Questions": [{"RawQuestion": "a", "Parses": [3]}]}', "entry 1: field 'Parses\\[0\\]' is 3"),
        (
            '{"RawQuestion": "a", "Parses": [{"Answers": [{"EntityName": null}]}]}',
            "'Parses\\[0\\].Answers\\[0\\].EntityName' is missing",
        ),
        ('{"question": "a", "annotations": [3]}', "field 'annotations\\[0\\]' is 3"),
        ('{"question": "a", "annotations": [{"type": "x"}]}', "field 'annotations\\[0\\].type' is 'x'"),
        (
            '{"question": "a", "annotations": [{"type": "singleAnswer"}]}',
            "'annotations\\[0\\].answer' is missing",
        ),
        (
            '{"question": "a", "annotations": [{"type": "multipleQAs", "qaPairs": [{"answer": [7]}]}]}',
            "'annotations\\[0\\].qaPairs\\[0\\].answer\\[0\\]' is 7",
        ),
        (
            '{"question": "a", "annotations": [{"type": "multipleQAs", "qaPairs": [7]}]}',
            "'annotations\\[0\\].qaPairs\\[0\\]' is 7",
        ),
    ],
)
def test_a_wrong_record_is_named_by_file_place_and_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        load_questions(_write(tmp_path, text))
    assert "questions.json" in str(error.value)


def test_a_file_that_is_absent_cut_or_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    with pytest.raises(InputError, match="can't be read: No such file"):
        load_questions(path)
    path.write_bytes(gzip.compress(b'{"question": "a"}' * 99)[:-12])
    with pytest.raises(InputError, match="not a whole gzip file"):
        load_questions(path)
    path.write_bytes(bz2.compress(b'{"question": "a"}' * 99)[:-12])
    with pytest.raises(InputError, match="not a whole bzip2 file"):
        load_questions(path)
    path.write_bytes('{"question": "a"}\n{"question": "é"}'.encode("latin-1"))
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        load_questions(path)


def test_a_long_wrong_value_is_cut_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        load_questions(_write(tmp_path, json.dumps({"question": "a", "answer": "b" * 10_000})))
    assert len(str(error.value)) < 1000


def _write(folder: Path, text: str) -> Path:
    path = folder / "questions.json"
    path.write_text(text, encoding="utf-8")
    return path

"""Every format read from a file made here, and every way such a file can be wrong."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from rtv_core.datasets import find_clusters, load_contexts, load_questions, read_clusters
from rtv_core.datasets.nested import joined_words
from rtv_core.errors import InputError
from rtv_core.records import Passage, Question

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


SQUAD = {
    "version": "dev-v2.0",
    "data": [
        {
            "title": "Oil_crisis",
            "paragraphs": [
                {
                    "context": "It began in October 1973.",
                    "qas": [
                        {
                            "id": "57",
                            "question": "When did it begin?",
                            "answers": [
                                {"text": "October 1973", "answer_start": 12},
                                {"text": "1973", "answer_start": 20},
                                {"text": "October 1973", "answer_start": 12},
                            ],
                            "is_impossible": False,
                        },
                        {
                            "id": "58",
                            "question": "When did it end?",
                            "answers": [],
                            "plausible_answers": [{"text": "1973"}],
                            "is_impossible": True,
                        },
                        {"id": "59", "question": "Why?"},
                    ],
                }
            ],
        }
    ],
}


def test_squad_texts_are_spellings_of_one_answer_and_impossible_questions_have_none(tmp_path: Path) -> None:
    path = _write(tmp_path, json.dumps(SQUAD, indent=1))
    assert load_questions(path) == [
        Question("57", "When did it begin?", ((("October 1973", "1973"),),)),
        Question("58", "When did it end?", ((),)),
        Question("59", "Why?"),
    ]
    passage = Passage("", "Oil crisis", "It began in October 1973.")
    for found in load_contexts(path):
        assert [(p.title, p.text) for p in found.retrieved] == [(passage.title, passage.text)]


def test_quoref_texts_are_answers_of_their_own(tmp_path: Path) -> None:
    qa = {"id": "1", "question": "Who sang?", "answers": [{"text": "Ilo"}, {"text": "Brae"}]}
    paragraph = {"context": "Ilo and Brae sang.", "context_id": "x", "qas": [qa]}
    path = _write(tmp_path, json.dumps({"data": [{"title": "t", "url": "u", "paragraphs": [paragraph]}]}))
    assert load_questions(path) == [Question("1", "Who sang?", ((("Ilo",), ("Brae",)),))]


def test_multispanqa_runs_of_labelled_words_are_answers(tmp_path: Path) -> None:
    sung = "the song was sung by Ilo , Brae 's sister , and Ilo ( again ) ."
    words = sung.split()
    labels = ["O", "O", "O", "O", "O", "B", "O", "I", "I", "I", "O", "O", "B", "O", "O", "O", "O"]
    row = {"id": "z1", "type": "HUM", "question": ["who", "sang", "it"], "context": words, "num_span": 3}
    rows = [
        row | {"label": labels},
        row | {"id": "z2", "label": ["O"] * len(words)},
        row | {"id": "z3"},
        row | {"id": "z4", "label": ["B"] + ["O"] * (len(words) - 2) + ["B"]},
    ]
    path = _write(tmp_path, json.dumps({"version": 1.0, "data": rows}))
    assert load_questions(path) == [
        Question("z1", "who sang it", ((("Ilo",), ("Brae's sister",)),)),
        Question("z2", "who sang it", ((),)),
        Question("z3", "who sang it"),
        Question("z4", "who sang it", ((("the",), (".",)),)),
    ]
    assert load_contexts(path)[0].retrieved[0].text == (
        "the song was sung by Ilo, Brae's sister, and Ilo (again)."
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("`` Lost Boy '' , a song", '"Lost Boy", a song'),
        ("it is n't $ 5 , 10 %", "it isn't $5, 10%"),
        ("day - to - day [ sic ]", "day-to-day [sic]"),
        ("rock 'n' roll", "rock 'n' roll"),
        ("the Orioles ' -- based", "the Orioles ' -- based"),
    ],
)
def test_treebank_words_are_joined_as_they_are_written(words: str, text: str) -> None:
    assert joined_words(words.split()) == text


DPR = {
    "dataset": "nq_train_psgs_w100",
    "question": "big little lies season 2 how many episodes",
    "answers": ["seven"],
    "positive_ctxs": [
        {"title": "Big Little Lies", "text": "Seven episodes.", "score": 1000, "passage_id": "18768923"}
    ],
    "negative_ctxs": [{"title": "Cormac", "text": "A name.", "score": 0, "psg_id": 7}],
    "hard_negative_ctxs": [{"title": "", "text": "Six."}, {"title": "", "text": "Six."}],
}
FID = {
    "id": 0,
    "question": "who",
    "target": "Ilo",
    "answers": ["Ilo", "Ilo B."],
    "ctxs": [{"id": "1", "title": "T", "text": "Ilo.", "score": "81.2", "has_answer": True}],
}


def test_dpr_training_records_have_passages_of_three_kinds(tmp_path: Path) -> None:
    path = _write(tmp_path, json.dumps([DPR], indent=4))
    (found,) = load_contexts(path)
    assert [found.question] == load_questions(path) == [Question("1", DPR["question"], ((("seven",),),))]
    assert found.positives == (Passage("18768923", "Big Little Lies", "Seven episodes."),)
    assert found.negatives == (Passage("7", "Cormac", "A name."),)
    assert [p.text for p in found.hard_negatives] == ["Six.", "Six."]
    first, second = (p.id for p in found.hard_negatives)
    assert first == second != ""


def test_fid_records_have_their_passages_best_first(tmp_path: Path) -> None:
    several = FID | {"id": 1, "answers": [["Ilo"], ["Brae"]]}
    path = _write(tmp_path, json.dumps(FID) + "\n" + json.dumps(several))
    one, other = load_contexts(path)
    assert one.question == Question("0", "who", ((("Ilo", "Ilo B."),),))
    assert one.retrieved == (Passage("1", "T", "Ilo."),)
    assert other.question.answers == ((("Ilo",), ("Brae",)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question": "a", "answer": ["b"]}', "line 1: field 'ctxs' is missing"),
        ('{"question": "a", "ctxs": {}}', "field 'ctxs' is {}; it must be a list of passages"),
        ('{"question": "a", "ctxs": [7]}', "field 'ctxs\\[0\\]' is 7"),
        ('{"question": "a", "ctxs": [{"title": "t"}]}', "field 'ctxs\\[0\\].text' is missing"),
        ('{"question": "a", "positive_ctxs": [{"title": 1, "text": "t"}]}', "ctxs\\[0\\].title' is 1"),
        ('{"question": "a", "ctxs": [{"id": [1], "text": "t"}]}', "ctxs\\[0\\].id' is \\[1\\]"),
        ('{"id": 1, "question": "a", "ctxs": []}\n' * 2, "line 2: the id '1' occurs before"),
    ],
)
def test_a_file_without_proper_passages_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_contexts(_write(tmp_path, text))


def test_romqa_clusters_are_known_by_question(tmp_path: Path) -> None:
    row = {"question": "Which?", "complete_answer": [{"text": "a", "uri": "Q1", "aliases": [], "desc": ""}]}
    rows = [row | {"id": i, "cluster_id": i // 2} for i in range(3)]
    assert read_clusters(_write(tmp_path, json.dumps(rows))) == {"0": "0", "1": "0", "2": "1"}
    with pytest.raises(InputError, match="line 1, entry 1: field 'cluster_id' is missing"):
        read_clusters(_write(tmp_path, json.dumps([row | {"id": 1}])))
    assert find_clusters(_write(tmp_path, json.dumps([row | {"id": 1}]))) == {}
    with pytest.raises(InputError, match="line 1, entry 2: field 'cluster_id' is missing"):
        find_clusters(_write(tmp_path, json.dumps([rows[0], row | {"id": 1}])))


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
        (
            '{"Questions": [{"RawQuestion": "a",\n"Parses": [3]}]}',
            "line 1, Questions\\[0\\]: field 'Parses\\[0\\]' is 3",
        ),
        ('[\n{"question": "a"},\n{"question": 3}]', "line 3, entry 2: field 'question' is 3"),
        ('{"data": []}', "holds no question"),
        ('{"data": [3]}', "line 1, data\\[0\\]: 3 is no article or question"),
        ('{"data": [{"id": 1,\n"text": "a passage"}]}', "line 1, data\\[0\\]: field 'question' is missing"),
        ('{"data": []}\n{"data": []}', "line 2: another value"),
        (
            '{"data": [\n{"title": "t", "paragraphs": [\n{"qas": []}]}]}',
            "line 3, data\\[0\\].paragraphs\\[0\\]: field 'context' is missing",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "c",\n"qas": [\n{"question": "q", "answers": ["a"]}]}]}]}',
            "line 3, data\\[0\\].paragraphs\\[0\\].qas\\[0\\]: field 'answers\\[0\\]' is 'a'",
        ),
        (
            '{"data": [{"question": ["q"], "context": ["a", "b"], "label": ["B"]}]}',
            "field 'label' is 1; it must be as long as context, 2",
        ),
        (
            '{"data": [{"question": ["q"], "context": ["a", "b"], "label": ["B", "X"]}]}',
            "field 'label\\[1\\]' is 'X'; it must be B, I or O",
        ),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "questions", "answers"),
    [
        ("questions/ambignq/train_light.json.gz", 10_036, None),
        ("questions/ambignq/dev_light.json.gz", 2_002, 2.2),
        ("questions/webquestions/test.json", 2_032, None),
        ("questions/nq-open/NQ-open.dev.jsonl.gz", 3_610, 1.0),
        ("questions/nq-open/NQ-open.efficientqa.test.1.1.jsonl.gz", 1_769, 1.0),
        ("questions/qampari/qampari.json.gz", 1_000, 14.4),
        ("questions/multispanqa-test.jsonl.gz", 382, 3.0),
        ("reading/nq-oracle/nq-open-oracle.jsonl.gz", 2_655, 1.0),
        ("reading/squad/dev-v1.1.json.gz", 10_570, 1.0),
        ("reading/squad/dev-v2.0.json.gz", 11_873, 0.5),
    ],
)
def test_a_real_file_has_the_questions_that_its_authors_count(
    data: Path, name: str, questions: int, answers: float | None
) -> None:
    found = load_questions(data / name)
    assert len(found) == questions
    if answers is not None:  # the mean over questions of the mean over annotations
        counts = [sum(map(len, q.answers)) / len(q.answers) for q in found]
        assert sum(counts) / len(counts) == pytest.approx(answers, abs=0.05)


@pytest.mark.slow
def test_unanswerable_questions_of_real_squad_have_no_answer(data: Path) -> None:
    found = load_questions(data / "reading/squad/dev-v2.0.json.gz")
    assert sum(not any(question.answers) for question in found) == 5_945


def _write(folder: Path, text: str) -> Path:
    path = folder / "questions.json"
    path.write_text(text, encoding="utf-8")
    return path

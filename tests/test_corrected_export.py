"""Corrected gold as a file: what scores the corrected F1 here scores it again from the file."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from rtv_core.analysis.corrected import correct_gold
from rtv_core.analysis.rulings import settle
from rtv_core.analysis.scores import rescored, run_scores
from rtv_core.annotation.export import ambigqa_file, corrected_ambigqa, fits_ambigqa
from rtv_core.cli import main
from rtv_core.datasets import load_questions
from rtv_core.metrics import f1_official
from rtv_core.outcomes import given_outcome
from rtv_core.records import Candidate, Judgement, Question, Run, RunAnswer, RunQuestion, Trace
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore

HOSTILE = ['"><svg onload=alert(1)>', "a\u2028b\x85c", '"quoted\\"', "=1+1", "e\u0301 İ ß", "\x00\x1f", "["]


def asked(gold, *answers: str, position: int = 0) -> RunQuestion:
    given = tuple(RunAnswer(answer, (answer,), None, True, "") for answer in answers)
    question = Question(f"q{position}", f"question {position}", gold)
    found = given_outcome(given, question)
    return RunQuestion("run", position, question, f"trace{position}", found.answers, found.gold)


def said(answer: str, label: str, position: int = 0, gold: str = "") -> Judgement:
    own = f"trace{position}", f"question {position}"
    return Judgement(*own, answer, label, "Ann", gold=gold, blind=True)


QUESTIONS = [
    asked(((("1995",), ("April 24, 2010", "2010")),), "1995", "24 April 2010", "2012"),
    asked(((("Ada",),), (("Ada",), ("Bea", "B."))), "Bea", "Cleo", position=1),
    asked(((("x",),),), "y", position=2),
    asked(((),), "z", position=3),
    asked((), "w", position=4),
    asked(((("one",), ("two",)), (("one",),)), "two", "one", "three", position=5),
]
VERDICTS = [
    said("24 April 2010", "variant", gold="2010"),
    said("2012", "unlisted"),
    said("Cleo", "unlisted", 1),
    said("y", "invalid", 2),
    said("three", "unlisted", 5),
]


def written(path: Path, questions) -> Path:
    path.write_text("".join(ambigqa_file(corrected_ambigqa(questions))), encoding="utf-8", newline="")
    return path


def test_the_file_scores_exactly_the_corrected_f1(tmp_path: Path) -> None:
    corrected = correct_gold(QUESTIONS, settle(VERDICTS)).questions
    again = {question.id: question for question in load_questions(written(tmp_path / "gold.json", corrected))}
    kept = [question for question in QUESTIONS if question.question.id in again]
    gold = [again[question.question.id] for question in kept]
    own = [corrected[question.position] for question in kept]
    assert gold == own
    assert run_scores(kept, gold) == rescored(kept, own).corrected
    assert run_scores(kept, gold).f1.mean > run_scores(kept).f1.mean
    assert [question.question.id for question in kept] == ["q0", "q1", "q2", "q5"]


def test_the_records_are_of_the_official_shape_and_rule() -> None:
    first, second, *_ = corrected_ambigqa(q.question for q in QUESTIONS)
    pairs = [
        {"question": "question 0", "answer": answer} for answer in (["1995"], ["April 24, 2010", "2010"])
    ]
    assert first["annotations"] == [{"type": "multipleQAs", "qaPairs": pairs}]
    assert second["annotations"][0] == {"type": "singleAnswer", "answer": ["Ada"]}
    assert [annotation["type"] for annotation in second["annotations"]] == ["singleAnswer", "multipleQAs"]
    answers = [[p["answer"] for p in a["qaPairs"]] for a in first["annotations"]]
    assert f1_official(["2010", "1995"], answers).f1 == 1


def test_what_was_added_is_told_and_scoring_does_not_see_it(tmp_path: Path) -> None:
    added = {"q0": [("2012", ""), ("24 April 2010", "2010")]}
    first, second, *_ = corrected_ambigqa([q.question for q in QUESTIONS], added)
    assert first["added"] == [
        {"answer": "2012", "gold": ""},
        {"answer": "24 April 2010", "gold": "2010"},
    ]
    assert "added" not in second
    (tmp_path / "gold.json").write_text("".join(ambigqa_file([first])), encoding="utf-8")
    assert load_questions(tmp_path / "gold.json") == [QUESTIONS[0].question]


@pytest.mark.parametrize("answers", [(), ((),), ((("a",),), ()), (((),),), ((("a", " "),),)])
def test_gold_that_the_format_can_not_say_is_left_out(answers) -> None:
    question = Question("q", "Who?", answers)
    assert not fits_ambigqa(question)
    assert "".join(ambigqa_file(corrected_ambigqa([question]))) == "[]\n"


def test_hostile_answers_come_back_as_they_were(tmp_path: Path) -> None:
    gold = (tuple((text, f"{text}{text}") for text in HOSTILE),)
    questions = [Question(text, f"{text}?", gold) for text in HOSTILE]
    assert load_questions(written(tmp_path / "gold.json", questions)) == questions


def test_random_gold_comes_back_and_scores_alike(tmp_path: Path) -> None:
    rng = random.Random(4)
    words = ["a b", "a", "b", "the b", "c-d", "cd", "Ä", "a,b"]

    def answer() -> tuple[str, ...]:
        return tuple(rng.sample(words[:1] + words[2:], rng.randint(1, 3)))

    questions = []
    for position in range(60):
        gold = tuple(tuple(answer() for _ in range(rng.randint(1, 4))) for _ in range(rng.randint(1, 3)))
        given = rng.sample(["a b", "b", "c-d", "cd", "Ä", "x", "y"], rng.randint(0, 5))
        questions.append(asked(gold, *given, position=position))
    labels = ("unlisted", "invalid", "variant")
    verdicts = [
        said(a.answer, rng.choice(labels), q.position, gold=q.question.answers[0][0][0])
        for q in questions
        for a in q.answers
    ]
    corrected = correct_gold(questions, settle(verdicts)).questions
    again = load_questions(written(tmp_path / "gold.json", corrected))
    assert tuple(again) == corrected
    assert run_scores(questions, again) == rescored(questions, corrected).corrected


# The command


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "rtv.db"
    runs, store = RunStore(path), JudgementStore(path)
    run = runs.create(Run("", "dev", "RTV", "", 0, False, None, 10, {"model": "one"}))
    for question in QUESTIONS:
        candidates = tuple(Candidate(a.answer, a.spellings, 0.5, ()) for a in question.answers)
        runs.add_question(run.id, question, Trace(question.question, candidates=candidates, stage="recalled"))
    kept = {question.position: question.trace_id for question in runs.questions("dev")}
    for number, verdict in enumerate(VERDICTS):
        own = kept[int(verdict.trace_id.removeprefix("trace"))]
        store.judge(replace(verdict, trace_id=own), str(number))
    return path


def test_the_command_writes_what_scores_the_corrected_f1(database: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "gold.json"
    main(["judgements", "gold", "--run", "dev", "--store", str(database), "--out", str(out)])
    assert capsys.readouterr().out.splitlines() == [
        f"{out}: 4 questions; 3 answers and 1 spelling added on 3 of them.",
        "Left out: 2 questions (gold unknown, or “no answer”: the format can't say so).",
    ]
    again = {question.id: question for question in load_questions(out)}
    questions = RunStore(database).questions("dev")
    kept = [question for question in questions if question.question.id in again]
    rulings = settle(JudgementStore(database).current())
    corrected = correct_gold(kept, rulings).questions
    assert run_scores(kept, [again[q.question.id] for q in kept]) == rescored(kept, corrected).corrected
    assert json.loads(out.read_text(encoding="utf-8"))[0]["added"] == [
        {"answer": "2012", "gold": ""},
        {"answer": "24 April 2010", "gold": "April 24, 2010"},
    ]


def test_the_database_is_never_written_over(database: Path, capsys) -> None:
    content = database.read_bytes()
    for command in (["gold", "--run", "dev"], ["export"]):
        with pytest.raises(SystemExit):
            main(["judgements", *command, "--store", str(database), "--out", str(database)])
        assert "is the database itself" in capsys.readouterr().err
    assert database.read_bytes() == content

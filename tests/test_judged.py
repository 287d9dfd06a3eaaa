"""A sample of wrong predictions drawn, judged and collected, and the one that the repository keeps."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import CoverGatherer, PatternRecaller, TableVerifier, WordRetriever

from benchmarks.judged import FILES, LAST, analysed, collect_verdicts, draw_sample, render
from rtv_core.errors import InputError, MismatchError
from rtv_core.evaluation import run_questions
from rtv_core.pipeline import Pipeline
from rtv_core.records import Passage, Question, QueuePlan
from rtv_core.settings import Settings
from rtv_core.store.exported import read_export
from rtv_core.store.runs import RunStore

YEARS = ("1901", "1902", "1903", "1904", "1905")
PASSAGES = tuple(Passage(year, f"Flood of {year}", f"The river rose in {year}.") for year in YEARS)
QUESTIONS = (
    Question("a", "When did the river rise?", ((("1901",), ("early 1902",)),)),
    Question("b", "In which years did the river rise?", ((("1905",),),)),
)
PLAN = QueuePlan(strategy="uniform", count=4, overlap=2, population="wrong")


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """The folder that `draw` wrote, of a run whose wrong predictions are 1902 to 1904, or 1901 to 1904."""
    settings = Settings().with_values({"verifier.tau": 0.5})
    scores = dict.fromkeys(YEARS, 0.9)
    retriever = WordRetriever(PASSAGES)
    stages = retriever, PatternRecaller(r"\b\d{4}\b"), CoverGatherer(), TableVerifier(scores)
    run_questions(Pipeline(*stages, settings), QUESTIONS, RunStore(tmp_path / "runs.db"), "test")
    assert draw_sample(QUESTIONS, tmp_path / "runs.db", "test", PLAN, tmp_path / "out") == 4
    return tmp_path / "out"


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def verdicts(folder: Path, name: str, labels: dict[int, str], **more: str) -> tuple[str, Path]:
    path = folder / f"{name}.jsonl"
    rows = [{"item": item, "label": label, **more} for item, label in labels.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name, path


def test_the_sample_holds_wrong_predictions_alone_with_their_chances(drawn) -> None:
    rows = json.loads((drawn / "sample.json").read_text(encoding="utf-8"))["items"]
    wrong = {("a", year) for year in YEARS[1:]} | {("b", year) for year in YEARS[:-1]}
    assert {(row["question"], row["answer"]) for row in rows} < wrong
    assert {row["inclusion"] for row in rows} == {4 / len(wrong)}
    assert all(row["answer"] in row["evidence"] for row in rows)


def test_the_sheet_shows_neither_score_nor_gold(drawn) -> None:
    for row in lines(drawn / "sheet.jsonl"):
        assert set(row) == {"item", "question", "answer", "passages"}
        assert all(set(passage) == {"title", "text"} for passage in row["passages"])
        assert row["passages"]


def test_collected_verdicts_correct_the_score_and_the_last_reading_settles(drawn) -> None:
    first = verdicts(drawn, "first", dict.fromkeys(range(1, 5), "unlisted"))
    second = verdicts(drawn, "second", {1: "invalid", 2: "invalid", 3: "unlisted", 4: "unlisted"})
    last = verdicts(drawn, LAST, {1: "invalid", 2: "unlisted"}, note="seen twice")
    assert collect_verdicts(QUESTIONS, drawn, [first, second, last]) == 10
    found = analysed(QUESTIONS, drawn)
    assert Counter(r.label for q in found.questions for r in found.rulings.on(q)) == {
        "unlisted": 3,
        "invalid": 1,
    }
    assert found.headline.raw.mean < found.headline.corrected.mean
    said = [entry.judgement for entry in read_export(drawn / "judgements.jsonl")]
    assert all(judgement.blind and judgement.p_right is None for judgement in said)
    text = render(found)
    assert text.startswith("Automatic judgements by a language model, not by people")
    assert "estimated from 4 of 8 wrong predictions" in text
    assert "percent agreement 0.500" in text
    assert "placed beside the gold" in text


def test_readings_that_place_an_answer_differently_agree_that_it_is_right(drawn) -> None:
    first = verdicts(drawn, "first", {1: "unlisted", 2: "invalid"})
    second = verdicts(drawn, "second", {1: "variant", 2: "invalid"}, gold="early 1902")
    collect_verdicts(QUESTIONS, drawn, [first, second])
    assert "percent agreement 1.000" in render(analysed(QUESTIONS, drawn))


def test_a_verdict_on_no_item_is_refused(drawn) -> None:
    with pytest.raises(InputError, match="the sample has no item 5"):
        collect_verdicts(QUESTIONS, drawn, [verdicts(drawn, "first", {5: "invalid"})])


@pytest.mark.parametrize("line", ["", "[]", '{"item": 1}', '{"item": "x", "label": "invalid"}'])
def test_a_line_that_is_no_verdict_is_named(drawn, line) -> None:
    path = drawn / "first.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1.*is no verdict"):
        collect_verdicts(QUESTIONS, drawn, [("first", path)])


def test_another_gold_is_not_what_was_drawn_from(drawn) -> None:
    collect_verdicts(QUESTIONS, drawn, [verdicts(drawn, "first", {1: "invalid"})])
    other = replace(QUESTIONS[0], answers=((("1902",), ("1903",)),))
    with pytest.raises(MismatchError, match="was not drawn from these predictions and this gold"):
        analysed((other, QUESTIONS[1]), drawn)


def test_the_kept_judgements_are_a_language_models_blind_and_at_least_two_an_item() -> None:
    rows = json.loads((FILES / "sample.json").read_text(encoding="utf-8"))["items"]
    assert len(rows) == 200
    said = [entry.judgement for entry in read_export(FILES / "judgements.jsonl")]
    assert {judgement.annotator.partition(",")[0] for judgement in said} == {"language model"}
    assert all(judgement.blind for judgement in said)
    ballots = Counter((judgement.trace_id, judgement.answer) for judgement in said)
    assert len(ballots) == 200
    assert set(ballots.values()) == {2, 3}
    assert {answer for _, answer in ballots} == {row["answer"] for row in rows}

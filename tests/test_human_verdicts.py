"""Published verdicts: read as their files have them, kept as runs once, and counted as one counts by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.human_verdicts import half_of, short_cases
from rtv_core.analysis.corrected import correct_gold
from rtv_core.analysis.rulings import Counting, settle
from rtv_core.analysis.scores import run_scores
from rtv_core.cli import main
from rtv_core.cli.verdicts import SETS
from rtv_core.errors import InputError, MissingError
from rtv_core.human_verdicts import VERDICT_SETS, import_verdicts, is_exact, read_verdicts
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")

EVOUNA = (
    ("who sang roar", "Katy Perry/Katheryn Hudson", ("Katy Perry", True), False),
    ("who shot first", "Han Solo", ("Solo", True), False),
    ("when did it come out", "1995", ("1996", False), False),
    ("when is it", "2010", ("2010", False), False),
    ("who is he", "Bob", (None, True), False),
    ("who is she", "Ann", ("Ann", None), False),
    ("what is next", None, ("this", "nan"), True),
)
"""Question, gold, first system's answer and verdict, improper. The others say "no" and are wrong."""

TABLE = (
    ("1", "who sang roar", "Katy Perry", "Yes", "Yes", "Yes", ""),
    ("1", "who sang roar", 'the singer of "Firework"', "Yes", "No", "Yes", "Yes"),
    ("2", "when did it come out", "1996", "No", "No", "No", ""),
    ("2", "when did it come out", "in 1995", "Yes", "Yes", "Yes", ""),
    ("2", "when did it come out", "nineties", "Yes", "Yes", "Yes", ""),
    ("2", "when did it come out", "The nineties", "No", "No", "No", ""),
)
HEADER = ("id", "Question", "Model answer", "Acceptable?", "annotator1", "annotator2", "annotator3")

OUTPUTS = {
    "NQ_DPR.jsonl": ("katy perry", "1996", "rain"),
    "NQ_FiD.jsonl": ('the singer of "firework"', "nineties.", "snow"),
}
"""Each system's answers to the two questions and to one that is not in the table."""


@pytest.fixture
def evouna(tmp_path: Path) -> Path:
    records = []
    for question, gold, (answer, verdict), improper in EVOUNA:
        record = {"question": question, "golden_answer": gold, "improper": improper}
        for system in SYSTEMS:
            own = (answer, verdict) if system == "fid" else ("no", False)
            record |= {f"answer_{system}": own[0], f"judge_{system}": own[1]}
        records.append(record)
    with gzip.open(tmp_path / "NQ.json.gz", "wt", encoding="utf-8") as file:
        json.dump(records, file)
    return tmp_path


@pytest.fixture
def openqa(tmp_path: Path) -> Path:
    lines = ["\t".join(row) for row in (HEADER, *TABLE)]
    (tmp_path / "NQ301_human.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = (
        ("who sang roar", ["Katy Perry"]),
        ("when did it come out", ["1995"]),
        ("what falls", ["rain"]),
    )
    (tmp_path / "model_outputs").mkdir()
    for name, answers in OUTPUTS.items():
        records = [
            {"question": question, "answer": gold, "prediction": answer}
            for (question, gold), answer in zip(questions, answers, strict=True)
        ]
        text = "\n".join(map(json.dumps, records))
        (tmp_path / "model_outputs" / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_evouna_gives_each_systems_answers_that_have_a_verdict(evouna: Path) -> None:
    found = read_verdicts(evouna, "evouna-nq")
    assert [question.id for question in found.questions] == ["1", "2", "3", "4", "5", "6"]
    assert found.questions[0].answers == ((("Katy Perry", "Katheryn Hudson"),),)
    assert [system.system for system in found.systems] == [
        "DPR+FiD",
        "GPT-3.5",
        "ChatGPT-3.5",
        "GPT-4",
        "Bing Chat",
    ]
    fid = found.systems[0]
    assert [(v.question.id, v.answer, v.accepted, is_exact(v)) for v in fid.verdicts] == [
        ("1", "Katy Perry", True, True),
        ("2", "Solo", True, False),
        ("3", "1996", False, False),
        ("4", "2010", False, True),
    ]
    assert (fid.without, found.systems[1].without) == (2, 0)
    assert len(found.verdicts) == 4 + 4 * 6


def test_openqa_matches_an_answer_as_written_or_else_as_normalised(openqa: Path) -> None:
    found = read_verdicts(openqa, "openqa-eval")
    assert [(q.id, q.answers) for q in found.questions] == [
        ("1", ((("Katy Perry",),),)),
        ("2", ((("1995",),),)),
    ]
    dpr, fid = found.systems
    assert (dpr.system, fid.system) == ("DPR", "FiD")
    assert [(v.answer, v.accepted) for v in dpr.verdicts] == [("katy perry", True), ("1996", False)]
    assert [(v.answer, v.accepted) for v in fid.verdicts] == [('the singer of "firework"', True)]
    assert fid.without == 1, "equal texts with different verdicts give none"
    assert fid.verdicts[0].votes == (("annotator1", False), ("annotator2", True), ("annotator3", True))
    assert len(found.verdicts) == len(TABLE)


def test_verdicts_become_listed_unlisted_and_invalid(evouna: Path, tmp_path: Path) -> None:
    store = tmp_path / "rtv.db"
    runs = import_verdicts(read_verdicts(evouna, "evouna-nq"), store)
    assert [run.name for run in runs][:2] == ["evouna-nq DPR+FiD", "evouna-nq GPT-3.5"]
    assert runs[0].system == "DPR+FiD"
    assert runs[0].provenance["imported"] == "NQ.json.gz"
    assert not runs[0].scored
    said = [
        next(iter(JudgementStore(store).current(question.trace_id)))
        for question in RunStore(store).questions(runs[0].id)
    ]
    assert [(j.answer, j.label, j.gold) for j in said] == [
        ("Katy Perry", "listed", "Katy Perry"),
        ("Solo", "unlisted", ""),
        ("1996", "invalid", ""),
        ("2010", "invalid", ""),
    ]
    assert {(j.annotator, j.blind) for j in said} == {("evouna", False)}
    assert "does not tell" in said[1].note


def test_the_analysis_gives_what_is_counted_by_hand(evouna: Path, tmp_path: Path) -> None:
    store = tmp_path / "rtv.db"
    run = import_verdicts(read_verdicts(evouna, "evouna-nq"), store)[0]
    questions = RunStore(store).questions(run.id)
    rulings = settle(JudgementStore(store).current(), Counting(adjudicators=frozenset({"evouna"})))
    corrected = correct_gold(questions, rulings)
    assert run_scores(questions).precision.mean == 2 / 4, "Katy Perry, 2010"
    assert run_scores(questions, corrected.questions).precision.mean == 3 / 4, "and Solo"
    assert [(a.position, a.answer) for a in corrected.additions] == [(1, "Solo")]


def test_importing_twice_changes_nothing(evouna: Path, tmp_path: Path) -> None:
    store, verdicts = tmp_path / "rtv.db", read_verdicts(evouna, "evouna-nq")
    done: list[tuple[int, int]] = []
    first = import_verdicts(verdicts, store, progress=lambda *step: done.append(step))
    before = JudgementStore(store).current()
    assert import_verdicts(verdicts, store) == first
    assert JudgementStore(store).current() == before
    assert done == [(number, 28) for number in range(1, 29)]


def test_single_annotators_are_kept_where_asked_for(openqa: Path, tmp_path: Path) -> None:
    store = tmp_path / "rtv.db"
    import_verdicts(read_verdicts(openqa, "openqa-eval"), store, each_annotator=True)
    said = {(j.annotator, j.label) for j in JudgementStore(store).current() if "firework" in j.answer}
    assert said == {
        ("openqa-eval", "unlisted"),
        ("openqa-eval 1", "invalid"),
        ("openqa-eval 2", "unlisted"),
        ("openqa-eval 3", "unlisted"),
    }


def test_the_command_says_what_it_kept(
    openqa: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "rtv.db")
    main(["verdicts", "import", str(openqa), "--set", "openqa-eval", "--store", store])
    out = capsys.readouterr().out
    assert "openqa-eval DPR: 2 questions judged by 'openqa-eval'\n" in out
    assert "openqa-eval FiD: 1 questions judged by 'openqa-eval'; 1 without a verdict left out" in out
    assert tuple(VERDICT_SETS) == SETS


def test_what_is_missing_or_broken_is_said(tmp_path: Path, openqa: Path) -> None:
    with pytest.raises(InputError, match="no set of verdicts 'nq'"):
        read_verdicts(tmp_path, "nq")
    with pytest.raises(MissingError, match=r"no TQ\.json or TQ\.json\.gz"):
        read_verdicts(tmp_path, "evouna-tq")
    (tmp_path / "TQ.json").write_text('[{"question": "who", "improper": "no"}]', encoding="utf-8")
    with pytest.raises(InputError, match=r"TQ\.json, line 1, entry 1: field 'improper' is 'no'"):
        read_verdicts(tmp_path, "evouna-tq")
    table = openqa / "NQ301_human.tsv"
    table.write_text(table.read_text(encoding="utf-8").replace("\tYes\t", "\tMaybe\t", 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: field 'Acceptable\?' is 'Maybe'; it must be Yes, No"):
        read_verdicts(openqa, "openqa-eval")


def test_the_benchmark_takes_each_short_answer_that_is_not_exact_once(evouna: Path) -> None:
    cases = list(short_cases(read_verdicts(evouna, "evouna-nq")))
    assert sorted((case.accepted, case.proposed) for case in cases) == [(False, False)] * 7 + [(True, True)]
    assert {half_of(v) for v in read_verdicts(evouna, "evouna-nq").verdicts} == {0, 1}

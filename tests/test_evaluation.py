"""A question set answered into the store: resumable, whatever stops it, and never mixed with another run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from fakes import CoverGatherer, PatternRecaller, TableVerifier, WordRetriever

from rtv_core.cli import main
from rtv_core.cli.evaluate import evaluate
from rtv_core.errors import InputError, MismatchError
from rtv_core.evaluation import import_predictions, run_questions, run_summary
from rtv_core.metrics import f1_optimal
from rtv_core.pipeline import Pipeline
from rtv_core.predictions import Predicted, PredictedAnswer
from rtv_core.records import Hit, Passage, Question
from rtv_core.settings import Settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore

ROOT = Path(__file__).resolve().parents[1]
PASSAGES = (
    Passage("1", "Jack", "The first game came out in 1995."),
    Passage("2", "Jack", "The film came out in 2010, seven years after 2003."),
    Passage("3", "Moon", "People walked on the moon in 1969."),
)
QUESTIONS = (
    Question("a", "When did the first game come out?", ((("1995",), ("2010",), ("1888",)),)),
    Question("b", "When did people walk on the moon?", ((("1969",),), (("1970",),))),
    Question("c", "When did the film come out?", ((("2010",), ("2003", "in 2003")),)),
    Question("d", "When will it rain?"),
)
SCORES = MappingProxyType({"1995": 0.9, "1969": 0.8, "2010": 0.5, "2003": 0.2})


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.db")


class Counting(WordRetriever):
    """Counts its questions, and is stopped by Ctrl-C at the one that it may not answer."""

    stop_at: int | None = None
    asked = 0

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        if self.asked == self.stop_at:
            raise KeyboardInterrupt
        self.asked += 1
        return super().search(questions, k)


def pipeline(retriever: WordRetriever | None = None, **values: object) -> Pipeline:
    settings = Settings().with_values({"verifier.tau": 0.6, "retriever.passages": 3} | values)
    return Pipeline(
        retriever or WordRetriever(PASSAGES),
        PatternRecaller(r"\d{4}"),
        CoverGatherer(),
        TableVerifier(SCORES),
        settings,
        MappingProxyType({"models": "fake"}),
    )


# Our own runs


def test_every_question_is_kept_with_trace_answers_and_the_fate_of_its_gold(
    store: RunStore, tmp_path: Path
) -> None:
    run = run_questions(pipeline(), QUESTIONS, store, "dev")
    assert (run.questions, run.system, run.tau, run.k, run.scored) == (4, "RTV", 0.6, 10, True)
    assert store.is_complete(run.id)
    kept = store.questions("dev")
    assert [question.question for question in kept] == list(QUESTIONS)
    assert [[answer.answer for answer in q.answers if answer.predicted] for q in kept] == [
        ["1995", "1969"],
        ["1995", "1969"],
        ["1995", "1969"],
        ["1995", "1969"],
    ]
    assert [[gold.lost for gold in q.gold] for q in kept] == [
        ["predicted", "at or below tau", "not retrieved"],
        ["predicted"],
        ["at or below tau", "at or below tau"],
        [],
    ]
    trace = JudgementStore(tmp_path / "runs.db").load_trace(kept[2].trace_id)
    assert trace.complete
    assert kept[2].seconds == pytest.approx(sum(trace.seconds.values()))


def test_a_runs_provenance_says_models_settings_and_questions(store: RunStore) -> None:
    facts = run_questions(pipeline(), QUESTIONS, store, "dev").provenance
    assert facts["models"] == "fake"
    assert json.loads(facts["settings"])["verifier"]["tau"] == 0.6
    assert facts["questions"] == "4"
    assert len(facts["questions_sha256"]) == 64


def test_a_stopped_run_goes_on_where_it_was(store: RunStore) -> None:
    retriever = Counting(PASSAGES)
    retriever.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        run_questions(pipeline(retriever), QUESTIONS, store, "dev")
    before = store.questions("dev")
    assert [question.position for question in before] == [0, 1]
    assert not store.is_complete("dev")
    retriever.stop_at, seen = None, []
    run_questions(pipeline(retriever), QUESTIONS, store, "dev", lambda *done: seen.append(done))
    assert seen == [(2, 4), (3, 4), (4, 4)]
    assert retriever.asked == 4
    assert store.questions("dev")[:2] == before
    assert store.is_complete("dev")


def test_a_finished_run_asks_nothing_again(store: RunStore) -> None:
    retriever = Counting(PASSAGES)
    first = run_questions(pipeline(retriever), QUESTIONS, store, "dev")
    assert run_questions(pipeline(retriever), QUESTIONS, store, "dev") == first
    assert retriever.asked == 4


def test_a_limited_run_stays_open_for_the_other_questions(store: RunStore) -> None:
    assert run_questions(pipeline(), QUESTIONS, store, "dev", limit=2).questions == 2
    assert not store.is_complete("dev")
    assert run_questions(pipeline(), QUESTIONS, store, "dev").questions == 4
    assert store.is_complete("dev")


def test_a_run_of_the_same_name_made_otherwise_is_refused(store: RunStore) -> None:
    run = run_questions(pipeline(), QUESTIONS, store, "dev", limit=1)
    retriever = Counting(PASSAGES)
    others = (
        (replace(pipeline(retriever), provenance={"models": "other"}), QUESTIONS, "its models is fake"),
        (pipeline(retriever, **{"verifier.tau": 0.7}), QUESTIONS, "its tau is 0.6, now it would be 0.7"),
        (pipeline(retriever, **{"recaller.span": 0.1}), QUESTIONS, "its settings is"),
        (pipeline(retriever), QUESTIONS[:2], "its questions is 4, now it would be 2"),
        (pipeline(retriever), (*QUESTIONS[:3], replace(QUESTIONS[3], id="e")), "its questions_sha256 is"),
    )
    for other, questions, said in others:
        with pytest.raises(MismatchError, match="There is a run 'dev' already") as error:
            run_questions(other, questions, store, "dev")
        assert said in str(error.value)
    assert retriever.asked == 0
    assert store.runs() == [run]


@pytest.mark.parametrize("text", ["?!", "x" * 1001, "When\ud800?"])
def test_a_question_that_can_not_be_asked_is_named_before_any_is(store: RunStore, text: str) -> None:
    questions = [*QUESTIONS, Question("bad", text)]
    with pytest.raises(InputError, match="Question 'bad' can't be asked"):
        run_questions(pipeline(), questions, store, "dev")
    assert store.runs() == []


WRITER = """
    import sys
    from test_evaluation import QUESTIONS, pipeline
    from rtv_core.evaluation import run_questions
    from rtv_core.store.runs import RunStore

    questions = [QUESTIONS[i % 4].__class__(str(i), QUESTIONS[i % 4].text) for i in range(200)]

    def say(done, wanted):
        print(done, flush=True)

    run_questions(pipeline(), questions, RunStore(sys.argv[1]), "dev", say)
"""


def test_a_run_that_is_killed_loses_no_finished_question(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        said = [int(writer.stdout.readline()) for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        said += [int(line) for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -signal.SIGKILL
    kept = RunStore(path).questions("dev")
    assert len(kept) >= said[-1] >= 4
    assert [question.position for question in kept] == list(range(len(kept)))
    assert all(question.answers for question in kept)


# Other systems' runs


def test_other_systems_answers_become_a_run_that_can_be_judged(store: RunStore, tmp_path: Path) -> None:
    run = import_predictions(_predicted(), QUESTIONS, store, "jpr dev", "JPR", {"imported": "p.json"})
    assert (run.system, run.scored, run.tau, run.questions) == ("JPR", False, None, 4)
    assert (run.provenance["imported"], run.provenance["questions"]) == ("p.json", "4")
    assert store.is_complete(run.id)
    kept = store.questions(run.id)
    assert [[(a.answer, a.gold) for a in q.answers] for q in kept] == [
        [("1995", "1995"), ("2001", "")],
        [],
        [("In 2003", "2003")],
        [],
    ]
    trace = JudgementStore(tmp_path / "runs.db").load_trace(kept[0].trace_id)
    assert dict(trace.provenance) == {"system": "JPR", "imported": "p.json"}


def test_an_import_twice_is_one_and_of_other_predictions_refused(store: RunStore) -> None:
    def bring(file: str) -> object:
        return import_predictions(_predicted(), QUESTIONS, store, "jpr", "JPR", {"imported": file})

    assert bring("p.json") == bring("p.json")
    with pytest.raises(MismatchError, match=r"its imported is p.json, now it would be q.json"):
        bring("q.json")
    assert len(store.questions("jpr")) == 4


def test_tau_needs_scores(store: RunStore) -> None:
    with pytest.raises(InputError, match="the predictions have no scores"):
        import_predictions(_predicted(), QUESTIONS, store, "jpr", "JPR", {}, tau=0.5)
    scored = [Predicted("line 1", "a", "", (PredictedAnswer("1995", 0.7), PredictedAnswer("1996", 0.2)))]
    run = import_predictions(scored, QUESTIONS, store, "jpr", "JPR", {}, tau=0.5)
    assert (run.scored, run.tau) == (True, 0.5)
    assert [a.predicted for a in store.question(run.id, 0).answers] == [True, False]


def test_questions_without_a_prediction_are_counted_as_not_answered(
    store: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    run = import_predictions(_predicted(), QUESTIONS, store, "jpr", "JPR", {})
    assert "2 of 4 questions have no prediction" in caplog.text
    assert "3 with gold · F1 " in run_summary(store.questions(run.id))


# What a run amounts to


def test_the_summary_gives_f1_and_hits_with_intervals_over_questions_with_gold(store: RunStore) -> None:
    run = run_questions(pipeline(), QUESTIONS, store, "dev")
    given = ["1995", "1969"]
    f1 = [f1_optimal(given, question.answers).f1 for question in QUESTIONS[:3]]
    assert f1 == pytest.approx([2 / 5, 2 / 3, 0])
    said = run_summary(store.questions(run.id))
    assert said.startswith("3 with gold · F1 35.6 [0.0, 66.7] optimal, 35.6 [0.0, 66.7] official")
    assert "F1 of 2 with several answers 20.0 [0.0, 40.0] optimal" in said
    assert said.endswith("#Hit 2 [0, 3]")


def test_a_run_without_any_gold_has_no_measures(store: RunStore) -> None:
    run = run_questions(pipeline(), QUESTIONS[3:], store, "dev")
    assert run_summary(store.questions(run.id)) == "no gold is known"


# Commands


def test_evaluate_prints_one_line_of_measures_and_shows_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(pipeline(), QUESTIONS, tmp_path / "runs.db", "dev", limit=2)
    out = capsys.readouterr().out
    assert out.startswith("dev: 2 of 4 questions · F1 53.3 [40.0, 66.7] optimal")
    assert out.count("\n") == 1


def test_runs_are_imported_listed_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = [{"id": q.id, "question": q.text, "answers": list(q.answers[0])} for q in QUESTIONS[:3]]
    Path("gold.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    Path("jpr.json").write_text(json.dumps({"a": ["1995", "2001"], "b": "1969"}), encoding="utf-8")
    _call("runs", "import", "jpr.json", "--questions", "gold.jsonl", "--name", "jpr dev", "--system", "JPR")
    assert capsys.readouterr().out.startswith("jpr dev: 3 questions · F1 46.7 ")
    run_questions(pipeline(), QUESTIONS, RunStore("rtv.db"), "ours", limit=1)
    _call("runs", "list")
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" · ")[0] for line in lines] == [
        "ours · RTV · 1 of 4 questions, open · tau 0.60",
        "jpr dev · JPR · 3 questions",
    ]
    _call("runs", "show", "jpr dev")
    shown = capsys.readouterr().out
    assert "2   33.3 %  predicted" in shown
    assert "4   66.7 %  not predicted" in shown
    assert "  imported: jpr.json\n" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs", "list"], "There are no runs in rtv.db. Name the file by --store."),
        (["runs", "show", "dev", "--store", "empty.db"], "There is no run 'dev'. Known: none."),
        (["evaluate", "--questions", "absent.jsonl", "--name", "x"], "absent.jsonl can't be read"),
        (["evaluate", "--questions", "q.jsonl", "--name", "x", "--index", "nowhere"], "no index in nowhere"),
        (["evaluate", "--questions", "q.jsonl", "--name", "x", "--set", "tau=1"], "mean 'verifier.tau'"),
        (
            ["runs", "import", "q.jsonl", "--questions", "q.jsonl", "--name", "x", "--system", "y"],
            "q.jsonl, line 1: field 'predictions' is missing",
        ),
    ],
)
def test_what_a_person_can_mend_is_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    RunStore("empty.db")
    Path("q.jsonl").write_text('{"question": "When?"}', encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 1
    assert said in capsys.readouterr().err


def _call(*arguments: str) -> None:
    main(arguments)


def _predicted() -> list[Predicted]:
    return [
        Predicted("line 1", "a", "", (PredictedAnswer("1995"), PredictedAnswer("2001"))),
        Predicted("line 2", "", "when did the film come out", (PredictedAnswer("In 2003"),)),
    ]

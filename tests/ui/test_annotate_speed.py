"""How much of the server's time a verdict takes, on a run as large as those that people judge."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from statistics import median

import pytest
from fakes import FakeWorkbench

from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    QueueItem,
    QueuePlan,
    Run,
    RunAnswer,
    RunQuestion,
    Source,
    Span,
    Trace,
    Verdict,
)
from rtv_core.store.database import connect
from rtv_core.store.events import event_row
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.ui.annotate.actions import answer

QUESTIONS, CANDIDATES = 2000, 50
WRITTEN = 40
"""The questions with traces of their own; the others repeat them in other positions."""

JUDGED = 300


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> FakeWorkbench:
    """A run of 2,000 questions with 50 candidates each and their evidence."""
    path = tmp_path_factory.mktemp("large") / "rtv.db"
    store, runs = JudgementStore(path), RunStore(path)
    run = runs.create(Run("", "large", "fake", "", 0, True, 0.5, 10)).id
    chance = random.Random(7)
    runs.add_questions(run, [_question(number, chance) for number in range(WRITTEN)])
    with connect(path) as db:
        for table, columns in (
            (
                "run_questions",
                "turn || question_id, question, question_key, gold_json, trace_id, seconds, sources",
            ),
            ("run_answers", "number, answer, answer_key, spellings_json, p_right, predicted, gold, repeats"),
        ):
            db.execute(
                f"WITH turns (turn) AS (SELECT 1 UNION ALL SELECT turn + 1 FROM turns "
                f"WHERE turn < {QUESTIONS // WRITTEN - 1}) INSERT INTO {table} "
                f"SELECT run_id, position + turn * {WRITTEN}, {columns} FROM turns, {table}"
            )
        db.commit()
    return FakeWorkbench((), "x", store=store, runs=runs, queues=QueueStore(path))


def _question(number: int, chance: random.Random) -> tuple[RunQuestion, Trace]:
    question = Question(f"q{number}", f"When was thing {number} built?", (((f"gold {number}",),),))
    words = [f"word{i}" for i in range(2000)]
    hits = tuple(
        Hit(
            Passage(f"{number}-{i}", f"Title {i}", " ".join(chance.choices(words, k=100))),
            0.5,
            1.0,
            i,
            None,
            i,
        )
        for i in range(1, 101)
    )
    found = [f"answer {number} {i}" for i in range(CANDIDATES)]
    candidates = tuple(
        Candidate(
            text,
            (text,),
            0.5,
            tuple(Source(hit.passage.id, hit.rank, Span(0, 5, 0.5), 0.5) for hit in hits[:3]),
        )
        for text in found
    )
    evidence = tuple(
        Evidence(
            c, question.text, tuple(EvidencePassage(hit, ("strict",), 0.5, False) for hit in hits[i : i + 10])
        )
        for i, c in enumerate(candidates)
    )
    verdicts = (Verdict((0.1, 0.2, 0.3), (0.1,) * 10),) * CANDIDATES
    trace = Trace(question, hits, (), candidates, evidence, verdicts, stage="verified")
    answers = tuple(RunAnswer(text, (text,), 0.9 - i / 60, i < 20, "") for i, text in enumerate(found))
    return RunQuestion("", number, question, "", answers, ()), trace


def test_a_verdict_and_the_next_item_take_under_100_ms_of_the_servers_time(workbench: FakeWorkbench) -> None:
    run = workbench.runs.run("large").id
    asked = [workbench.runs.question(run, position) for position in range(WRITTEN)]
    items = [
        QueueItem(question.position, question.trace_id, "prediction", given.answer, 0.5, "wrong prediction")
        for number in range(20)
        for question in asked
        for given in question.answers[number : number + 1]
    ]
    queue = workbench.queues.create(run, QueuePlan("uniform", len(items)), items, "long")
    _judge(workbench.store.path, items[:JUDGED])
    place, taken = _place(_do(workbench, queue, "open")), []
    for _ in range(9):
        start = time.process_time()
        drawn = _do(workbench, queue, "judge", place=place, label="invalid")
        taken.append(time.process_time() - start)
        assert "data-failed" not in drawn
        place = _place(drawn)
    assert place == JUDGED + 10
    assert median(taken) < 0.1, taken
    assert len(drawn) < 100_000


def _judge(path: Path, items: list[QueueItem]) -> None:
    with connect(path) as db:
        for number, item in enumerate(items):
            said = Judgement(
                item.trace_id, "", item.answer, "invalid", "Ann", blind=True, at=f"2026-11-30T{number:012}"
            )
            db.table("events").insert(event_row(said, f"before {number}"))


def _do(workbench: FakeWorkbench, queue: str, action: str, **event: object) -> str:
    event = {"action": action, "queue": queue, "token": f"token {time.perf_counter_ns()}", **event}
    return answer(workbench, "Ann", event)


def _place(drawn: str) -> int:
    return int(re.search(r'data-place="(\d+)"', drawn)[1])

import gzip
import hashlib
import json
import logging
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from encoders import WordEncoder
from fakes import CoverGatherer, PatternRecaller, TableVerifier, WordRetriever
from tiny import ANSWERS, PASSAGES, QUESTIONS, candidate_of, hits_of, tiny_network

from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.evidence import rank_evidence
from rtv_core.pipeline import Pipeline
from rtv_core.reading.network import FORBIDDEN
from rtv_core.reading.reader import Reader
from rtv_core.reading.weights import read_card, save_network, write_card
from rtv_core.recall.extractive import ExtractiveRecaller
from rtv_core.recall.merge import unite
from rtv_core.records import EVIDENCE_SIZES, Hit, Passage, Question, Reading
from rtv_core.retrieval.index import Index, build_index, open_index
from rtv_core.settings import RecallerSettings, Settings
from rtv_core.text import answer_key, same_answer
from rtv_core.training import run as run_module
from rtv_core.training.calibrate import (
    Calibration,
    calibrate,
    calibrated_scores,
    fit_logistic,
    fit_rows,
    silent_share,
)
from rtv_core.training.courses import RECALLER_COURSES
from rtv_core.training.examples import (
    Example,
    answer_spans,
    build_examples,
    load_examples,
    sample_sources,
    save_examples,
)
from rtv_core.training.loop import LoopSettings, run_steps
from rtv_core.training.losses import relevance_loss, single_span_loss, span_loss, span_targets
from rtv_core.training.recaller import Item, RecallerPlan, plan_recaller, recall_losses, train_recaller
from rtv_core.training.run import EXAMPLES, open_training, prepare_examples
from rtv_core.training.sources import (
    SourceQuestion,
    held_out_contexts,
    held_out_nq,
    near_any,
    read_sources,
)
from rtv_core.training.verifier import (
    RANDOM_SPANS,
    Group,
    VerifierPlan,
    _candidates,
    _rehearsed,
    _thin,
    plan_verifier,
    train_verifier,
    verify_losses,
)
from rtv_core.verify.embedded import FACTS, EmbeddedVerifier, RereadingVerifier

# Sources: the public sets


def even(question: str) -> bool:
    return int(hashlib.sha1(question.encode()).hexdigest(), 16) % 2 == 0


NUMBERED = [f"who rode horse{i} at track{i}" for i in range(200)]
TRAINED = [question for question in NUMBERED if not even(question)]
HELD_OUT = [question for question in NUMBERED if even(question)]


def write(path: Path, content: object) -> None:
    """JSON, or JSON lines for a list of rows in a .jsonl.gz file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in content) if ".jsonl" in path.name else None
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(lines or json.dumps(content))


def squad_like(*questions: tuple[str, str, list[str]]) -> dict[str, object]:
    paragraphs = [
        {
            "context": context,
            "qas": [
                {"id": "1", "question": text, "answers": [{"text": a, "answer_start": 0} for a in answers]}
            ],
        }
        for text, context, answers in questions
    ]
    return {"version": "1", "data": [{"title": "T", "paragraphs": paragraphs}]}


def squad_two(*questions: tuple[str, str, bool]) -> dict[str, object]:
    """A question, its context and whether it can't be answered."""
    paragraphs = [
        {
            "context": context,
            "qas": [
                {
                    "id": "1",
                    "question": text,
                    "is_impossible": impossible,
                    "answers": [] if impossible else [{"text": context, "answer_start": 0}],
                    "plausible_answers": [{"text": context, "answer_start": 0}],
                }
            ],
        }
        for text, context, impossible in questions
    ]
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": paragraphs}]}


def multispanqa(question: str, context: str, *answers: list[str], split: str = "train") -> dict[str, object]:
    pairs = [{"question": question, "answer": spellings} for spellings in answers]
    return {
        "id": "m",
        "question": question,
        "split": split,
        "context": context,
        "annotations": [{"type": "multipleQAs", "qaPairs": pairs}],
    }


def nq(question: str, context: str, *answers: str) -> dict[str, object]:
    return {
        "question": question,
        "answers": list(answers),
        "ctxs": [{"title": "T", "text": context, "hasanswer": True, "isgold": True}],
    }


@pytest.fixture
def data(tmp_path) -> Path:
    """Every set in its real form, with one or two questions each."""
    root = tmp_path / "data"
    write(
        root / "reading/squad/train-v1.1.json.gz",
        squad_like(
            ("who sang it", "Beyla sang.", ["Beyla", "Beyla "]),
            ("no answer", "None.", []),
            ("what two towns are here", "Ost and Pell are here.", ["Ost and Pell"]),
        ),
    )
    write(
        root / "reading/squad/dev-v2.0.json.gz",
        squad_two(("who never sang it", "Beyla sang.", True), ("who sang blue", "Beyla sang blue.", False)),
    )
    write(
        root / "reading/nq-oracle/nq-open-oracle.jsonl.gz",
        [
            nq(TRAINED[0], "Ana Lind won.", "Ana Lind", "Lind"),
            *(nq(question, f"Nobody knows {question}.", "Nobody") for question in HELD_OUT),
        ],
    )
    write(
        root / "reading/quoref/official-QUOREF-valid.json.gz",
        squad_like(("who are they", "Ilo and Brae.", ["Ilo", "Brae"])),
    )
    write(root / "reading/quoref/in_house-QUOREF-valid.json.gz", squad_like(("who else", "Sef.", ["Sef"])))
    document = {
        "title": "T",
        "sents": [["Velda", "is", "by", "Ana", "Lind", "and", "Holm", "."], ["Lind", "wrote", "Orla", "."]],
        "vertexSet": [
            [{"name": "Velda", "type": "MISC"}],
            [{"name": "Ana Lind", "type": "PER"}, {"name": "Lind", "type": "PER"}],
            [{"name": "Holm", "type": "PER"}],
            [{"name": "Orla", "type": "MISC"}],
        ],
        "labels": [
            {"r": "P50", "h": 0, "t": 2, "evidence": [0]},
            {"r": "P50", "h": 0, "t": 1, "evidence": [0]},
            {"r": "P50", "h": 3, "t": 1, "evidence": [1]},
            {"r": "P0000", "h": 0, "t": 1, "evidence": []},
        ],
    }
    write(root / "reading/re-docred/dev_revised.json.gz", [document])
    write(root / "reading/re-docred/test_revised.json.gz", [])
    write(
        root / "questions/multispanqa-train.jsonl.gz",
        [multispanqa("which lakes are fed", "Ilo, Brae.", ["Ilo"], ["Brae", "Braë"])],
    )
    for split in ("dev", "test"):
        write(
            root / f"questions/multispanqa-{split}.jsonl.gz",
            [multispanqa(f"which {split} moons are there", f"The {split} context.", ["x"], split=split)],
        )
    write(
        root / "questions/ambignq/train_light.json.gz",
        [
            {
                "id": "1",
                "question": "When did it open?",
                "annotations": [
                    {"type": "singleAnswer", "answer": ["1887", "in 1887"]},
                    {
                        "type": "multipleQAs",
                        "qaPairs": [
                            {"question": "first", "answer": ["1887", "in 1887"]},
                            {"question": "again", "answer": ["1952"]},
                        ],
                    },
                ],
            }
        ],
    )
    write(
        root / "questions/webquestions/trainmodel.json.gz",
        [
            {"qId": "1", "answers": ["Dorn", "Karo"], "qText": "where did she live?"},
            {"qId": "2", "answers": ["http://a.b/c"], "qText": "what site is it?"},
        ],
    )
    return root


def test_each_set_gives_its_questions_with_answers_and_context(data):
    assert read_sources(data) == [
        SourceQuestion("squad", "who sang it", (("Beyla",),), "Beyla sang.", False),
        SourceQuestion(
            "squad-lists", "what two towns are here", (("Ost",), ("Pell",)), "Ost and Pell are here.", False
        ),
        SourceQuestion("squad-2.0", "who never sang it", (), "Beyla sang.", False),
        SourceQuestion(
            "squad-2.0-answered", "who sang blue", (("Beyla sang blue.",),), "Beyla sang blue.", False
        ),
        SourceQuestion("nq", TRAINED[0], (("Ana Lind",), ("Lind",)), "Ana Lind won.", True),
        SourceQuestion("quoref", "who are they", (("Ilo",), ("Brae",)), "Ilo and Brae.", False),
        SourceQuestion("quoref", "who else", (("Sef",),), "Sef.", False),
        *(
            SourceQuestion(
                "re-docred", text, answers, "Velda is by Ana Lind and Holm . Lind wrote Orla .", False, about
            )
            for text, answers, about in (
                ("who wrote Velda", (("Ana Lind", "Lind"), ("Holm",)), ("Velda",)),
                ("what books did Holm write", (("Velda",),), ("Holm",)),
                ("what books did Ana Lind write", (("Velda",), ("Orla",)), ("Ana Lind", "Lind")),
                ("who wrote Orla", (("Ana Lind", "Lind"),), ("Orla",)),
            )
        ),
        SourceQuestion(
            "multispanqa", "which lakes are fed", (("Ilo",), ("Brae", "Braë")), "Ilo, Brae.", True
        ),
        SourceQuestion("ambignq", "When did it open?", (("1887", "in 1887"), ("1952",)), "", True),
        SourceQuestion("webquestions", "where did she live?", (("Dorn",), ("Karo",)), "", True),
    ]


def test_nq_questions_of_even_hash_and_dev_and_test_questions_never_come_out_of_any_set(data):
    unseen = [HELD_OUT[0], "which dev moons are there", "which test moons are there"]
    asked = [q for text in unseen for q in (text, text.capitalize() + "?", text.upper().replace(" ", "  "))]
    write(
        data / "reading/squad/train-v1.1.json.gz",
        squad_like(*((q, "Beyla sang.", ["Beyla"]) for q in [*asked, "who sang it"])),
    )
    write(
        data / "questions/ambignq/train_light.json.gz",
        [
            {"id": "1", "question": q, "annotations": [{"type": "singleAnswer", "answer": ["x"]}]}
            for q in asked
        ],
    )
    write(
        data / "questions/webquestions/trainmodel.json.gz",
        [{"qId": "1", "answers": ["x"], "qText": q} for q in asked],
    )
    write(
        data / "questions/multispanqa-train.jsonl.gz",
        [multispanqa(q, "Ilo.", ["Ilo"]) for q in [*asked, "which lakes are fed"]],
    )
    out = read_sources(data)
    assert not {answer_key(q.text) for q in out} & {answer_key(text) for text in [*unseen, *HELD_OUT]}
    assert {q.text for q in out} >= {"who sang it", "which lakes are fed", TRAINED[0]}


def of_parity(question: str, is_even: bool) -> str:
    """The question with as many question marks as its hash needs."""
    while even(question) != is_even:
        question += "?"
    return question


@pytest.mark.parametrize("holder", ["dev", "test", "nq", None])
def test_near_copies_of_held_out_questions_come_out_of_no_set(data, holder):
    held = "who wrote velda"
    asked = ["The one who first wrote the Velda", "where do figs grow best"]
    write(
        data / "reading/squad/train-v1.1.json.gz",
        squad_like(*((text, "Karo.", ["Karo"]) for text in asked)),
    )
    write(
        data / "reading/squad/dev-v2.0.json.gz",
        squad_two(*((text, "Karo.", impossible) for text in asked for impossible in (True, False))),
    )
    write(
        data / "reading/nq-oracle/nq-open-oracle.jsonl.gz",
        [nq(of_parity(text, False), "Karo.", "Karo") for text in asked]
        + [nq(of_parity(held, True), "Ana Lind.", "Ana Lind")] * (holder == "nq"),
    )
    write(
        data / "reading/quoref/official-QUOREF-valid.json.gz",
        squad_like(*((text, "Karo.", ["Karo"]) for text in asked)),
    )
    write(
        data / "questions/multispanqa-train.jsonl.gz",
        [multispanqa(text, "Karo.", ["Karo"]) for text in asked],
    )
    write(
        data / "questions/ambignq/train_light.json.gz",
        [
            {"id": text, "question": text, "annotations": [{"type": "singleAnswer", "answer": ["Karo"]}]}
            for text in asked
        ],
    )
    write(
        data / "questions/webquestions/trainmodel.json.gz",
        [{"qId": text, "answers": ["Karo"], "qText": text} for text in asked],
    )
    if holder in ("dev", "test"):
        write(
            data / f"questions/multispanqa-{holder}.jsonl.gz",
            [multispanqa(held, "Ana Lind.", ["Ana Lind"], split=holder)],
        )
    sets = {"squad", "squad-2.0", "squad-2.0-answered", "nq", "quoref", "re-docred"}
    sets |= {"multispanqa", "ambignq", "webquestions"}
    out = read_sources(data)
    copied = {q.set for q in out if "velda" in q.text.casefold()}
    assert copied == (set() if holder else sets)
    # The facts of the documents are turned into other questions, too.
    assert {q.set for q in out if "velda" not in q.text.casefold()} == sets


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("who won the 1950 cup in karo", True),
        ("WHO WON, in Karo, the 1950 Cup?", True),
        ("who won a cup in karo", True),
        ("won 1950", True),  # two of four words
        ("who won 1950 races", False),  # two of five
        ("won", False),
        ("who won the 1950 cup of dorn and its shield", True),  # three of six
        ("who won the 1950 cup of dorn and its silver shield", False),  # three of seven
        ("who was in the", False),  # small words alone
        ("", False),
        ("?!", False),
    ],
)
def test_a_near_copy_shares_half_of_the_content_words(question, near):
    tell = near_any(["who won the 1950 cup in karo", "where do figs grow", "?"])
    assert tell(question) is near
    assert not near_any([])(question)


def test_questions_of_small_words_alone_are_compared_by_these():
    tell = near_any(["who is it"])
    assert tell("Who is it?")
    assert not tell("where did they do that")
    assert not tell("who is karo")


def test_the_contexts_of_dev_test_and_held_out_questions_are_known(data, tmp_path):
    expected = [
        "The dev context.",
        "The test context.",
        *(f"Nobody knows {question}." for question in HELD_OUT),
    ]
    assert held_out_contexts(data) == expected
    assert held_out_contexts(tmp_path / "nowhere") == []


def test_the_held_out_half_of_nq_is_that_of_even_sha1():
    assert [held_out_nq(question) for question in NUMBERED] == [even(question) for question in NUMBERED]
    assert 60 < len(HELD_OUT) < 140


def test_a_set_that_is_absent_is_left_out_with_a_warning(data, caplog):
    (data / "reading/squad/train-v1.1.json.gz").unlink()
    with caplog.at_level(logging.WARNING):
        sets = {question.set for question in read_sources(data)}
    assert "squad" not in sets
    assert sets > {"squad-2.0", "nq", "quoref", "re-docred", "multispanqa", "ambignq", "webquestions"}
    assert "Leaving out squad: no file" in caplog.text


def test_a_folder_without_any_set_is_refused(tmp_path):
    with pytest.raises(MissingError, match="no training sets"):
        read_sources(tmp_path)


def test_the_share_of_a_set_is_drawn_by_seed_with_several_answers_first():
    single = [SourceQuestion("squad", f"s{i}", (("a",),), "", False) for i in range(20)]
    several = [SourceQuestion("squad", f"m{i}", (("a",), ("b",)), "", False) for i in range(3)]
    other = [SourceQuestion("nq", f"n{i}", (("a",),), "", True) for i in range(4)]
    questions = [*single, *several, *other, SourceQuestion("unnamed", "u", (("a",),), "", True)]
    shares = {"squad": (0, 8), "nq": (0, 99)}
    drawn = sample_sources(questions, shares, seed=1)
    assert Counter(q.set for q in drawn) == {"squad": 8, "nq": 4}
    assert {q.text for q in drawn} >= {"m0", "m1", "m2"}
    assert drawn == sample_sources(questions, shares, seed=1)
    assert drawn != sample_sources(questions, shares, seed=2)


def test_shares_that_do_not_overlap_have_no_question_in_common():
    questions = [SourceQuestion(name, f"{name} {i}", (("a",),), "", False) for name in "xy" for i in range(9)]
    first = sample_sources(questions, {"x": (0, 5), "y": (0, 9)}, seed=1)
    rest = sample_sources(questions, {"x": (5, 99)}, seed=1)
    assert Counter(q.set for q in rest) == {"x": 4}
    assert {q.text for q in first + rest} == {q.text for q in questions}
    assert not set(first) & set(rest)


# Examples: what the retriever returns for them


@pytest.mark.parametrize(
    ("text", "is_open", "row", "rank", "status"),
    [
        ("It is Karo.", False, 7, None, "positive"),  # its own context
        ("It is Karo.", True, 7, 90, "positive"),
        ("It is Karo.", True, 1, 20, "positive"),  # open, well ranked
        ("It is Karo.", True, 1, 21, "unknown"),
        ("It is Karo.", True, 1, None, "unknown"),
        ("It is Karo.", False, 1, 1, "unknown"),
        ("It is Kåro.", False, 7, None, "negative"),
        ("It is Karos.", True, 1, 1, "negative"),
        ("It is KARO!", True, 1, 1, "positive"),
        ("The second spelling.", True, 1, 1, "positive"),
    ],
)
def test_a_passage_answers_does_not_or_may(text, is_open, row, rank, status):
    example = Example("s", "q", (("Karo", "second spelling"), ("Dorn",)), is_open, (7,), (), ())
    assert example.status(row, rank, Passage("1", "Karo", text)) == status


@pytest.mark.parametrize(
    ("title", "text", "is_open", "row", "status"),
    [
        ("", "The Old Velda is a town.", False, 1, "unknown"),
        ("Velda (town)", "It is a town.", False, 1, "unknown"),
        ("Velda (town)", "It is a town.", True, 1, "unknown"),
        ("", "It is a town.", False, 1, "negative"),
        ("", "The Veldas sang.", False, 1, "negative"),
        ("", "Velda is by Karo.", False, 1, "unknown"),
        ("", "Velda is by Karo.", True, 1, "positive"),
        ("Velda", "Velda is a town.", False, 7, "negative"),  # its own context, known as a whole
    ],
)
def test_another_passage_on_the_entity_asked_for_may_answer(title, text, is_open, row, status):
    example = Example("s", "q", (("Karo",),), is_open, (7,), (), (), ("Velda", "Old Velda"))
    assert example.status(row, 1, Passage("1", title, text)) == status
    if status == "unknown" and "Karo" not in text:
        assert replace(example, about=()).status(row, 1, Passage("1", title, text)) == "negative"


@pytest.mark.parametrize(
    ("text", "row", "status"),
    [
        ("It was the US.", 1, "unknown"),  # so short that it may stand there by chance
        ("It was the United States.", 1, "positive"),
        ("It was us.", 1, "unknown"),
        ("It was Dorn.", 1, "negative"),
        ("It was the US.", 7, "positive"),
        ("It was us.", 7, "negative"),
        ("It was the UNITED STATES.", 7, "positive"),
        ("It was Ivy.", 1, "unknown"),
        ("It was Ives.", 1, "positive"),  # four characters
    ],
)
def test_a_short_answer_counts_in_its_own_context_alone_and_as_written(text, row, status):
    answers = (("US", "United States"), ("Ivy",), ("Ives",))
    example = Example("s", "q", answers, True, (7,), (), ())
    assert example.status(row, 1, Passage("1", "", text)) == status


def test_short_answers_have_spans_where_they_stand_as_written():
    text = "The US told us: IVES, not Ivy or ivy or the U.S. of 5 %."
    spans = answer_spans(Passage("1", "", text), (("US",), ("Ivy", "ivy"), ("Ives",), ("of 5",), ("the",)))
    assert [(text[a:b], a) for a, b in spans] == [
        ("US", 4),
        ("IVES", 16),
        ("Ivy", 26),
        ("ivy", 33),
        ("the", 40),
        ("of 5", 49),
    ]


def test_answer_spans_are_every_place_of_every_answer_and_none_inside_another_of_the_same():
    text = "Barack Obama met Obama and Dorn; Dorn Obama left."
    spans = answer_spans(Passage("1", "", text), (("Obama", "Barack Obama"), ("Dorn",), ("Karo",)))
    assert [(text[a:b], a) for a, b in spans] == [
        ("Barack Obama", 0),
        ("Obama", 17),
        ("Dorn", 27),
        ("Dorn", 33),
        ("Obama", 38),
    ]


CONTEXT = (
    "The Orla -- a river -- rises in the hills (at 900 m). It feeds three lakes:\nMerin, Tovo and Sund. "
    "Then it turns south and ends in the sea, near the town of Karo, where it is called the Velda."
)
BLOCKS = (
    Passage("c0", "Orla", "The Orla - a river - rises in the hills ( at 900 m ) . It feeds three lakes :"),
    Passage("c1", "Orla", "Merin,  Tovo and Sund. Then it turns south and ends in the sea,"),
    Passage("c2", "", "near the town of Karo , where it is called the Velda ."),
    Passage("d0", "", "The Orla - a river - rises in the hills ( at 900 m ) . It feeds no lakes at all ."),
    Passage("d1", "Karo", "The town of Karo lies on a river whose name is Velda or Orla."),
)


def built(questions, passages, rows, forbidden=()) -> list[Example]:
    """The examples, with the same rows retrieved for every question."""

    def search(asked, k):
        dense = np.linspace(0.9, 0.1, len(rows))
        return np.tile(dense, (len(asked), 1)), np.tile(rows, (len(asked), 1))

    return list(build_examples(questions, passages, search, forbidden))


def asking(answer: str, context: str = CONTEXT, is_open: bool = True) -> SourceQuestion:
    return SourceQuestion("multispanqa", f"where is {answer}", ((answer,),), context, is_open)


def test_the_rows_cut_from_a_context_are_found_whatever_its_spacing_and_marks():
    (example,) = built([asking("Merin")], BLOCKS, [4, 1, 3])
    assert example.gold == (0, 1, 2)
    assert example.rows == (4, 1, 3)
    assert example.dense == (0.9, 0.5, 0.1)


def test_passages_that_repeat_dev_and_test_contexts_are_neither_retrieved_nor_gold():
    # The first and the fourth are nearly alike.
    (example,) = built([asking("Velda")], BLOCKS, [1, 3, 4, 0], forbidden=[CONTEXT[: CONTEXT.index("Merin")]])
    assert example.gold == (1, 2)
    assert example.rows == (1, 4)
    assert example.dense == pytest.approx((0.9, 0.3667))
    whole = built([asking("Velda", context="")], BLOCKS, [4, 1, 3, 0, 2], forbidden=[CONTEXT])
    assert [(e.gold, e.rows, e.dense) for e in whole] == [((), (4,), (0.9,))]
    assert built([asking("Merin")], BLOCKS, [4, 1, 3, 0, 2], forbidden=[CONTEXT]) == []


LONG = Passage("l", "", " ".join(f"x{i}" for i in range(27)))
"""A passage of 20 runs of eight words."""


@pytest.mark.parametrize(
    ("first", "words", "is_read"),
    [
        (0, 10, True),  # 3 of 20 runs
        (12, 10, True),
        (0, 11, False),  # 4 of 20
        (12, 11, False),
        (0, 27, False),
    ],
)
def test_a_passage_that_shares_a_fifth_of_its_runs_with_a_test_context_is_never_read(first, words, is_read):
    shared = LONG.text.split()[first : first + words]
    context = "Before it, " + " -- ".join(shared).upper() + ", and after."
    passages = (LONG, *BLOCKS)
    (example,) = built([asking("Velda", context="")], passages, [0, 3, 5], forbidden=["Other.", context])
    assert (0 in example.rows) == is_read
    assert {3, 5} <= set(example.rows)
    # Nor is it read where it is the context of a question.
    gold = built([asking("x1", context=LONG.text)], passages, [5], forbidden=[context])
    assert [e.gold for e in gold] == ([(0,)] if is_read else [])


def test_runs_that_are_shared_in_another_order_repeat_nothing():
    words = LONG.text.split()
    context = " ".join(word for i in range(0, 21, 7) for word in [*words[i : i + 7], "but"])
    (example,) = built([asking("Velda", context="")], (LONG, *BLOCKS), [0, 5], forbidden=[context])
    assert example.rows == (0, 5)


def seeming(context: str = CONTEXT) -> SourceQuestion:
    return SourceQuestion("squad-2.0", "where is no river", (), context, False)


def test_a_question_without_answers_is_kept_with_the_context_that_seems_to_answer_it():
    (example,) = built([seeming()], BLOCKS, [4, 1])
    assert (example.answers, example.gold, example.rows) == ((), (0, 1, 2), (4, 1))
    assert {example.status(row, None, BLOCKS[row]) for row in example.gold} == {"negative"}
    assert built([seeming("Of all this the corpus says nothing.")], BLOCKS, [4, 1]) == []
    assert built([seeming()], BLOCKS, [4, 1], forbidden=[CONTEXT]) == []


def test_the_entity_asked_for_comes_along_with_its_question():
    (example,) = built([replace(asking("Velda"), about=("Karo", "Old Karo"))], BLOCKS, [4, 1])
    assert example.about == ("Karo", "Old Karo")


def test_a_short_passage_of_a_test_context_is_kept_out_too():
    passages = (Passage("1", "", "It feeds three lakes."), *BLOCKS[2:])
    context = "It feeds three lakes. Then it turns south and ends in the sea near Dorn."
    (example,) = built([asking("Velda", context="")], passages, [0, 1, 3], forbidden=[context])
    assert 0 not in example.rows


def test_a_question_that_no_read_passage_answers_is_left_out():
    assert built([asking("Zanzibar")], BLOCKS, [4, 1]) == []
    assert built([asking("Velda", context="")], BLOCKS, [1, 0]) == []
    assert len(built([asking("Velda", context="")], BLOCKS, [1, 4])) == 1


def test_a_short_string_anywhere_makes_no_question_answerable():
    passages = (Passage("1", "", "He won 900 races, and the sun shone."), *BLOCKS)
    assert built([asking("900", context="")], passages, [0, 1]) == []
    assert len(built([asking("900")], passages, [0, 1])) == 1  # read in its own context


def test_an_answer_that_is_ranked_too_low_makes_no_question_answerable():
    many = tuple(Passage(f"x{i}", "", "Nothing stands here at all.") for i in range(25))
    answering = Passage("y", "", "The Velda is here.")
    assert built([asking("Velda", context="")], (*many, answering), [*range(20), 25]) == []
    assert len(built([asking("Velda", context="")], (*many, answering), [*range(19), 25])) == 1


def test_examples_come_back_as_they_were_saved(tmp_path):
    asked = [asking("Merin"), replace(asking("Velda", context=""), about=("Karo", "Kåro")), seeming()]
    examples = built(asked, BLOCKS, [4, 1, 3])
    path = tmp_path / "examples.jsonl.gz"
    assert save_examples(examples, path, "these sets") == 3
    assert load_examples(path, "these sets") == examples
    assert [p.name for p in tmp_path.iterdir()] == ["examples.jsonl.gz"]


def test_examples_that_were_made_from_something_else_are_refused(tmp_path):
    path = tmp_path / "examples.jsonl.gz"
    save_examples(built([asking("Merin")], BLOCKS, [4, 1, 3]), path, "these sets")
    with pytest.raises(MismatchError, match=r"made over another index or from other sets\. Delete the file"):
        load_examples(path, "those sets")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        _, *rows = file
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(rows)  # as an earlier version wrote them: nothing says what they were made from
    with pytest.raises(MismatchError, match="Delete the file"):
        load_examples(path, "these sets")


def test_examples_whose_making_broke_off_are_not_there(tmp_path):
    def breaking():
        yield from built([asking("Merin")], BLOCKS, [4, 1, 3])
        raise KeyboardInterrupt

    path = tmp_path / "examples.jsonl.gz"
    with pytest.raises(KeyboardInterrupt):
        save_examples(breaking(), path, "")
    assert not path.exists()


def indexed(passages: Sequence[Passage], folder: Path, encoder: WordEncoder) -> Index:
    corpus = folder.with_suffix(".jsonl")
    rows = [{"id": p.id, "title": p.title, "text": p.text} for p in passages]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    build_index(corpus, folder, encoder)
    return open_index(folder, encoder.fingerprint)


EVERYTHING = RECALLER_COURSES["first"].shares


def test_examples_are_made_once_over_an_index_without_the_passages_of_the_test(data, tmp_path):
    encoder = WordEncoder()
    index, path = indexed(PASSAGES, tmp_path / "index", encoder), tmp_path / "out" / "examples.jsonl.gz"
    write(
        data / "questions/multispanqa-test.jsonl.gz",
        [multispanqa("which test moons", PASSAGES[3].text, ["Ilo"], split="test")],
    )
    write(
        data / "reading/nq-oracle/nq-open-oracle.jsonl.gz",
        [nq(TRAINED[0], PASSAGES[0].text, "Merin"), nq(HELD_OUT[0], PASSAGES[1].text, "Ana Lind")],
    )
    examples = prepare_examples(data, index, encoder, path, EVERYTHING)
    named = {e.text: [index.passages[row].id for row in (*e.gold, *e.rows)] for e in examples}
    assert named[TRAINED[0]][0] == "p00"
    assert HELD_OUT[0] not in named
    assert not any({"p01", "p03"} & set(ids) for ids in named.values())
    assert len(named[TRAINED[0]]) == 1 + len(PASSAGES) - 2
    asked = len(encoder.texts)
    assert prepare_examples(data, index, encoder, path, EVERYTHING) == examples
    assert len(encoder.texts) == asked


def test_a_stage_takes_the_examples_of_the_one_before_only_where_they_are_the_same(
    data, tmp_path, monkeypatch
):
    write(data / "reading/nq-oracle/nq-open-oracle.jsonl.gz", [nq(TRAINED[0], PASSAGES[0].text, "Merin")])
    encoder = WordEncoder()
    monkeypatch.setattr(run_module, "SentenceEncoder", lambda: encoder)
    indexed(PASSAGES, tmp_path / "index", encoder)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    _, _, examples = open_training(data, tmp_path / "index", one, EVERYTHING)
    asked = len(encoder.texts)
    assert open_training(data, tmp_path / "index", two, EVERYTHING, one)[2] == examples
    assert (len(encoder.texts), (two / EXAMPLES).exists()) == (asked, False)
    fewer = open_training(data, tmp_path / "index", three, {"nq": (1, 9)}, one)[2]
    assert (fewer, (three / EXAMPLES).exists()) == ([], True)


def test_examples_made_over_another_index_or_from_other_sets_are_refused(data, tmp_path):
    write(data / "reading/nq-oracle/nq-open-oracle.jsonl.gz", [nq(TRAINED[0], PASSAGES[0].text, "Merin")])
    encoder = WordEncoder()
    index, path = indexed(PASSAGES, tmp_path / "index", encoder), tmp_path / "examples.jsonl.gz"
    examples = prepare_examples(data, index, encoder, path, EVERYTHING)
    assert examples
    others = [
        (data, indexed(PASSAGES[:-1], tmp_path / "shorter", encoder)),
        (data, indexed(PASSAGES, tmp_path / "encoded", WordEncoder(fingerprint="1" * 64))),
    ]
    for sets, other in others:
        with pytest.raises(MismatchError, match="made over another index or from other sets"):
            prepare_examples(sets, other, encoder, path, EVERYTHING)
    (data / "reading/squad/train-v1.1.json.gz").unlink()
    with pytest.raises(MismatchError, match="made over another index or from other sets"):
        prepare_examples(data, index, encoder, path, EVERYTHING)
    path.unlink()
    assert (
        prepare_examples(data, index, encoder, path, EVERYTHING) == examples
    )  # no passage answers those left out


# Losses


def test_span_targets_are_the_spans_of_the_answers_and_only_text_can_be_one():
    _, _, form = tiny_network()
    passage = Passage("1", "Velda", "Ana Lind and Per Holm sang.")
    short = Passage("2", "", "Dorn")
    pairs = form.pairs("who sang", [passage, short])
    answers = [[(0, 8), (13, 21)], []]
    possible, wanted = span_targets(pairs, answers, len(pairs[0].ids) + 2, 3)
    at = pairs[0].text_at
    assert wanted.nonzero().tolist() == [[0, at, 1], [0, at + 3, 1]]
    expected = [
        [row, first, last - first]
        for row, pair in enumerate(pairs)
        for first in range(pair.text_at, pair.text_at + len(pair.offsets))
        for last in range(first, min(first + 3, pair.text_at + len(pair.offsets)))
    ]
    assert possible.nonzero().tolist() == expected


def test_an_answer_that_is_cut_off_or_too_long_is_no_target():
    _, _, form = tiny_network()
    text = "Ana Lind and Per Holm sang " * 40
    (pair,) = form.pairs("who sang", [Passage("1", "", text)])
    end = pair.offsets[-1][1]
    last = pair.text_at + len(pair.offsets) - 1
    long = (0, len("Ana Lind and Per"))
    for span, length, targets in (
        ((end - 4, end), 3, [[0, last, 0]]),
        ((end - 4, end + 5), 3, []),  # begins in the last token that was kept
        ((end + 1, end + 5), 3, []),
        (long, 3, []),
        (long, 4, [[0, pair.text_at, 3]]),
    ):
        _, wanted = span_targets([pair], [[span]], len(pair.ids), length)
        assert wanted.nonzero().tolist() == targets


def slow_span_loss(scores, possible, wanted) -> list[float]:
    losses = []
    for row in range(len(scores)):
        others, right = 1.0, 1.0
        for i in range(scores.shape[1]):
            for d in range(scores.shape[2]):
                if wanted[row, i, d]:
                    right += math.exp(-scores[row, i, d])
                elif possible[row, i, d]:
                    others += math.exp(scores[row, i, d])
        losses.append(math.log(others) + math.log(right))
    return losses


def test_the_span_loss_is_the_sum_over_wanted_and_other_spans():
    torch.manual_seed(0)
    scores = torch.randn(4, 6, 3) * 3
    possible = torch.rand(4, 6, 3) < 0.7
    wanted = torch.zeros_like(possible)
    for row, count in enumerate((0, 1, 4)):  # none, one, several; in the last row nothing is possible
        places = possible[row].nonzero()[:count]
        wanted[row, places[:, 0], places[:, 1]] = True
    possible[3] = False
    losses = span_loss(scores, possible, wanted)
    assert losses.tolist() == pytest.approx(slow_span_loss(scores, possible, wanted), rel=1e-5)
    assert losses[3].item() == pytest.approx(0, abs=1e-6)


def test_the_span_loss_ignores_what_is_no_possible_span():
    scores = torch.randn(1, 5, 3)
    possible = torch.zeros(1, 5, 3, dtype=torch.bool)
    possible[0, 1:4, :2] = True
    wanted = torch.zeros_like(possible)
    wanted[0, 2, 1] = True
    changed = torch.where(possible, scores, torch.full_like(scores, 50.0))
    assert torch.equal(span_loss(scores, possible, wanted), span_loss(changed, possible, wanted))


def test_the_span_loss_wants_right_spans_up_and_others_down():
    scores = torch.zeros(1, 4, 2, requires_grad=True)
    possible = torch.ones(1, 4, 2, dtype=torch.bool)
    possible[0, 3] = False
    wanted = torch.zeros_like(possible)
    wanted[0, 1, 1] = wanted[0, 2, 0] = True
    span_loss(scores, possible, wanted).sum().backward()
    gradient = scores.grad[0]
    assert bool((gradient[wanted[0]] < 0).all())
    assert bool((gradient[possible[0] & ~wanted[0]] > 0).all())
    assert gradient[3].tolist() == [0, 0]


def test_losses_of_extreme_scores_stay_finite_in_bfloat16_too():
    scores = torch.tensor([[[300.0, -300.0], [9000.0, -9000.0]]]).to(torch.bfloat16).requires_grad_()
    possible = torch.ones(1, 2, 2, dtype=torch.bool)
    wanted = torch.tensor([[[False, True], [False, True]]])
    loss = span_loss(scores, possible, wanted)
    loss.sum().backward()
    assert loss.dtype == torch.float32
    assert loss.isfinite().all()
    assert scores.grad.isfinite().all()


def test_the_relevance_loss_is_binary_cross_entropy():
    losses = relevance_loss(torch.tensor([2.0, 2.0, -500.0]), torch.tensor([True, False, True]))
    assert losses.tolist() == pytest.approx([math.log(1 + math.exp(-2)), math.log(1 + math.exp(2)), 500])


# Plans: what a run sees, in order


def world_examples(name: str = "nq", is_open: bool = False) -> list[Example]:
    """One example a question of the tiny world: its passage well ranked, all others behind it."""
    examples = []
    for i, (question, answers) in enumerate(zip(QUESTIONS, ANSWERS, strict=True)):
        rows = [(i + j) % len(PASSAGES) for j in range(len(PASSAGES))]
        rows[0], rows[2] = rows[2], rows[0]
        dense = tuple(round(0.9 - 0.03 * j, 2) for j in range(len(rows)))
        examples.append(
            Example(name, question, tuple((a,) for a in answers), is_open, (i,), tuple(rows), dense)
        )
    return examples


def texts(item) -> list[str]:
    return [item.passage.text[a:b] for a, b in item.answers]


def test_a_recaller_s_plan_depends_on_its_seed_alone():
    plan = RecallerPlan(batch=3, alpha_neg=0.5, seed=7)
    batches = plan_recaller(world_examples(), PASSAGES, plan)
    assert batches == plan_recaller(world_examples(), PASSAGES, plan)
    assert batches != plan_recaller(world_examples(), PASSAGES, replace(plan, seed=8))


@pytest.mark.parametrize("alpha_neg", [0.0, 0.4, 1.0])
def test_a_recaller_sees_each_example_with_its_answers_and_irrelevant_passages_by_alpha_neg(alpha_neg):
    plan = RecallerPlan(batch=16, alpha_neg=alpha_neg, repeats=(("nq", 50),))
    items = [item for batch in plan_recaller(world_examples(), PASSAGES, plan) for item in batch]
    positive = [item for item in items if item.answers]
    assert Counter(item.question for item in positive) == dict.fromkeys(QUESTIONS, 50)
    for item in positive:
        assert texts(item) == list(ANSWERS[QUESTIONS.index(item.question)])
    negative = [item for item in items if not item.answers]
    assert len(negative) == pytest.approx(alpha_neg * len(positive), abs=40 * (0 < alpha_neg < 1))
    for item in negative:
        assert item.passage != PASSAGES[QUESTIONS.index(item.question)]


def seeming_examples(name: str = "squad-2.0") -> list[Example]:
    """The questions of the tiny world as if nothing answered them."""
    return [replace(example, set=name, answers=()) for example in world_examples()]


def test_a_recaller_reads_of_a_question_without_answers_its_context_alone_as_irrelevant():
    examples = [replace(example, gold=(i, 8)) for i, example in enumerate(seeming_examples())]
    plan = RecallerPlan(batch=16, alpha_neg=1.0, repeats=(("squad-2.0", 30),))
    items = [item for batch in plan_recaller(examples, PASSAGES, plan) for item in batch]
    own = [Item(question, PASSAGES[i], ()) for i, question in enumerate(QUESTIONS)]
    other = [Item(question, PASSAGES[8], ()) for question in QUESTIONS]
    assert set(items) == {*own, *other}
    assert Counter(item.question for item in items) == dict.fromkeys(QUESTIONS, 30)
    # Once, if nothing is said of the set, beside questions that are answered.
    plan = RecallerPlan(batch=16, alpha_neg=0.0, repeats=())
    items = [i for b in plan_recaller(seeming_examples() + world_examples(), PASSAGES, plan) for i in b]
    assert sorted(bool(item.answers) for item in items) == [False] * 8 + [True] * 8


def test_a_batch_holds_passages_of_like_length_and_no_more_than_the_plan_says():
    plan = RecallerPlan(batch=8, alpha_neg=1.0, repeats=(("nq", 4),))
    batches = plan_recaller(world_examples(), PASSAGES, plan)
    assert {len(batch) for batch in batches} == {8}
    ranges = sorted(
        (min(len(i.passage.text) for i in b), max(len(i.passage.text) for i in b)) for b in batches
    )
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))
    assert [min(len(i.passage.text) for i in b) for b in batches] != sorted(low for low, _ in ranges)


def test_a_verifier_s_plan_depends_on_its_seed_alone():
    plan = VerifierPlan(passages=6, questions=2, shares=(("nq", 8),), repeats=(("nq", 2),), seed=7)
    steps = plan_verifier(world_examples(), PASSAGES, plan)
    assert steps == plan_verifier(world_examples(), PASSAGES, plan)
    assert steps != plan_verifier(world_examples(), PASSAGES, replace(plan, seed=8))
    assert {len(step) for step in steps} == {2}
    assert Counter(g.question for step in steps for g in step) == dict.fromkeys(QUESTIONS, 2)
    fewer = plan_verifier(world_examples(), PASSAGES, replace(plan, shares=(("nq", 3), ("squad", 9))))
    assert sum(map(len, fewer)) == 6


def groups_of(examples, **plan) -> list[Group]:
    plan = {"passages": 6, "shares": (("nq", 99),), "repeats": (("nq", 5),), "unanswered": 0.0} | plan
    return [g for step in plan_verifier(examples, PASSAGES, VerifierPlan(**plan)) for g in step]


def test_a_verifier_s_group_holds_the_context_and_retrieved_passages_by_rank():
    groups = groups_of(world_examples())
    for group in groups:
        i = QUESTIONS.index(group.question)
        ids = [hit.passage.id for hit in group.hits]
        assert len(set(ids)) == len(ids) <= 6
        assert [hit.rank for hit in group.hits] == sorted(hit.rank for hit in group.hits)
        for hit, status, spans in zip(group.hits, group.statuses, group.spans, strict=True):
            assert hit.dense == round(0.9 - 0.03 * (hit.rank - 1), 2)
            own = hit.passage == PASSAGES[i]
            assert status == ("positive" if own else "negative")
            assert [hit.passage.text[a:b] for a, b in spans] == (list(ANSWERS[i]) if own else [])
        assert group.statuses.count("positive") == 1
        assert group.hits[group.statuses.index("positive")].rank == 3
    assert {group.k for group in groups} == set(EVIDENCE_SIZES)
    assert any(max(hit.rank for hit in group.hits) > 8 for group in groups)


def test_of_some_sets_fewer_passages_are_read():
    own = [replace(example, set="squad") for example in world_examples()]
    shares = (("nq", 99), ("squad", 99))
    groups = groups_of([*world_examples(), *own], shares=shares, repeats=(), fewer=(("squad", 3),))
    counts = [len(group.hits) for group in groups]
    assert sum(count <= 3 for count in counts) == len(own)
    assert sum(count == 6 for count in counts) >= len(own) // 2
    assert all("positive" in group.statuses for group in groups)


def test_the_answer_of_a_question_that_several_people_read_is_the_one_most_of_them_gave(data):
    two = squad_two(("who sang blue", "Beyla sang blue.", False))
    answers = [{"text": text, "answer_start": 0} for text in ("Beyla sang", "Beyla", "Beyla")]
    two["data"][0]["paragraphs"][0]["qas"][0]["answers"] = answers
    write(data / "reading/squad/dev-v2.0.json.gz", two)
    (question,) = (q for q in read_sources(data) if q.set.startswith("squad-2.0"))
    assert question.answers == (("Beyla",),)


def test_unanswered_groups_hold_no_passage_that_is_known_to_answer():
    groups = groups_of(world_examples(), unanswered=1.0)
    assert len(groups) == 40
    assert not any("positive" in group.statuses for group in groups)


@pytest.mark.parametrize("unanswered", [0.0, 1.0])
def test_a_group_of_a_question_without_answers_holds_its_context_and_nothing_right(unanswered):
    examples = [replace(e, rows=e.rows[3:], dense=e.dense[3:]) for e in seeming_examples()]
    groups = groups_of(examples, unanswered=unanswered, shares=(("squad-2.0", 9),), repeats=())
    assert len(groups) == 8
    for group in groups:
        own = group.hits[-1]
        assert own.passage == PASSAGES[QUESTIONS.index(group.question)]
        assert own.rank == len(PASSAGES) - 3
        assert group.answers == ()
        assert set(group.statuses) == {"negative"}
        assert set(group.spans) == {()}


def test_of_a_long_context_that_only_seems_to_answer_two_passages_are_read_for_sure():
    example = replace(seeming_examples()[0], gold=(11, 12, 13), rows=tuple(range(11)))
    ((group,),) = plan_verifier(
        [replace(example, dense=example.dense[:11])], PASSAGES, VerifierPlan(passages=6)
    )
    assert [hit.passage.id for hit in group.hits][-2:] == ["p11", "p12"]


def test_passages_on_the_entity_asked_for_are_unknown_in_a_group():
    example = replace(world_examples()[0], about=("Dorn", "Orla"))
    ((group,),) = plan_verifier([example], PASSAGES, VerifierPlan(passages=14, unanswered=0.0, repeats=()))
    statuses = {hit.passage.id: status for hit, status in zip(group.hits, group.statuses, strict=True)}
    on_it = {p.id for p in PASSAGES if "Dorn" in f"{p.title} {p.text}"} & set(statuses)
    assert len(on_it) == 2
    assert {name for name, status in statuses.items() if status == "unknown"} == on_it
    assert statuses["p00"] == "positive"


def test_at_most_four_answering_passages_are_read():
    same = tuple(Passage(f"s{i}", "", f"Karo is number {i}.") for i in range(9)) + PASSAGES
    rows = tuple(range(20))
    example = Example("nq", "where", (("Karo",),), True, (), rows, tuple(1 - r / 100 for r in rows))
    plan = VerifierPlan(passages=10, unanswered=0.0, repeats=())
    ((group,),) = plan_verifier([example], same, plan)
    assert group.statuses.count("positive") == 4
    assert "unknown" not in group.statuses


def test_a_context_that_was_not_retrieved_is_read_as_one_of_the_worst_ranked():
    example = world_examples()[0]
    rows = tuple(row for row in example.rows if row != 0)
    example = replace(example, rows=rows, dense=example.dense[: len(rows)])
    ((group,),) = plan_verifier([example], PASSAGES, VerifierPlan(passages=6, unanswered=0.0, repeats=()))
    assert group.hits[-1].passage == PASSAGES[0]
    assert group.hits[-1].rank == len(rows)
    assert group.statuses[-1] == "positive"


def test_wrong_candidates_are_thinned_to_ten_a_right_one_and_right_ones_stay():
    for right_count, wrong_count, kept_wrong in ((2, 35, 20), (0, 35, 10), (3, 5, 5), (0, 0, 0)):
        labels = [True] * right_count + [False] * wrong_count
        random.Random(1).shuffle(labels)
        evidence = list(range(len(labels)))
        kept, right = _thin(evidence, labels, 10, random.Random(2))
        assert (right.count(True), right.count(False)) == (right_count, kept_wrong)
        assert [labels[i] for i in kept] == right
        assert kept == sorted(set(kept))
        assert (kept, right) == _thin(evidence, labels, 10, random.Random(2))


# Losses of a batch


def test_a_relevant_passage_whose_answers_were_cut_off_teaches_nothing_about_spans():
    network, _, form = tiny_network()
    (batch,) = plan_recaller(world_examples()[:1], PASSAGES, RecallerPlan(alpha_neg=0.0, repeats=()))
    (item,) = batch
    taught = recall_losses(network, form, [item])
    long = replace(item, answers=((0, len(item.passage.text)),))
    untaught = recall_losses(network, form, [long])
    assert taught["span"] > 0
    assert untaught["span"] == 0
    assert untaught["relevance"] == taught["relevance"] > 0


def group_of(i: int, *others: Passage, status: str = "negative") -> Group:
    passages = (PASSAGES[i], *others)
    spans = tuple(answer_spans(PASSAGES[i], [(a,) for a in ANSWERS[i]]))
    return Group(
        QUESTIONS[i],
        tuple((a,) for a in ANSWERS[i]),
        hits_of(passages),
        ("positive", *(status for _ in others)),
        (spans, *(() for _ in others)),
        10,
    )


def test_a_passage_that_may_answer_teaches_the_recaller_nothing():
    network, _, form = tiny_network()
    alone = verify_losses(network, form, [group_of(0)], VerifierPlan(), random.Random(0))
    unknown = group_of(0, PASSAGES[8], PASSAGES[9], status="unknown")
    known = group_of(0, PASSAGES[8], PASSAGES[9])
    beside, against = (
        verify_losses(network, form, [g], VerifierPlan(), random.Random(0)) for g in (unknown, known)
    )
    for name in ("span", "relevance"):
        assert beside[name].item() == pytest.approx(alone[name].item(), rel=1e-4)
        assert against[name].item() != pytest.approx(alone[name].item(), rel=1e-3)
    nothing = replace(unknown, statuses=("unknown",) * 3, spans=((),) * 3)
    losses = verify_losses(network, form, [nothing], VerifierPlan(), random.Random(0))
    assert (losses["span"].item(), losses["relevance"].item()) == (0, 0)


def candidates_of(proposed: Sequence[Sequence[str]], *statuses: str) -> dict[str, bool]:
    """The candidates of a group that the verifier learns from, and whether they are right.

    The question has the answers "Karo" and "Dorn"; passage i proposes the words `proposed[i]`.
    """
    _, _, form = tiny_network()
    passages = [Passage(str(i), "", f"{' '.join(words)}.") for i, words in enumerate(proposed)]
    pairs = form.pairs("where", passages)
    scores = torch.full((len(pairs), max(len(pair.ids) for pair in pairs), 3), FORBIDDEN)
    for row, (pair, words) in enumerate(zip(pairs, proposed, strict=True)):
        for word in words:
            start = passages[row].text.index(word)
            first, last = pair.tokens_of(start, start + len(word))
            scores[row, first, last - first] = 2.0
    answers = (("Karo", "Old Karo"), ("Dorn",))
    group = Group("where", answers, hits_of(passages), statuses, ((),) * len(passages), 10)
    # As many rows before it: the group of another question.
    relevance = torch.zeros(2 * len(pairs))
    rows = range(len(pairs), 2 * len(pairs))
    evidence, right = _candidates(group, pairs, scores, relevance, rows)
    return {body.candidate.answer: value for body, value in zip(evidence, right, strict=True)}


def test_a_right_string_counts_only_where_some_passage_is_known_to_support_it():
    proposed = [["Karo", "Orla"], ["Dorn", "Sund"]]
    every = {"Karo": True, "Dorn": True, "Orla": False, "Sund": False}
    assert candidates_of(proposed, "positive", "positive") == every
    assert candidates_of(proposed, "positive", "negative") == every
    wrong = {"Orla": False, "Sund": False}
    assert candidates_of(proposed, "negative", "negative") == wrong
    assert candidates_of(proposed, "unknown", "negative") == {"Sund": False}


def test_a_wrong_candidate_that_only_passages_of_unknown_status_gave_is_left_out():
    proposed = [["Karo", "Orla"], ["Orla", "Sund"], ["Merin", "Sund"]]
    assert candidates_of(proposed, "unknown", "unknown", "unknown") == {}
    assert candidates_of(proposed, "positive", "unknown", "unknown") == {"Karo": True, "Orla": False}
    known = {"Karo": True, "Orla": False, "Sund": False, "Merin": False}
    assert candidates_of(proposed, "positive", "unknown", "negative") == known


def test_a_question_of_which_nothing_is_known_gives_the_verifier_nothing_to_learn():
    network, _, form = tiny_network()
    group = group_of(0, PASSAGES[8])
    nothing = replace(group, statuses=("unknown",) * 2, spans=((),) * 2)
    assert "verify" in verify_losses(network, form, [group], VerifierPlan(), random.Random(0))
    assert set(verify_losses(network, form, [nothing], VerifierPlan(), random.Random(0))) == {
        "span",
        "relevance",
    }


def test_candidates_may_be_known_answers_and_random_spans_instead_of_proposals():
    network, _, form = tiny_network()
    seen = []
    network.verifier.register_forward_pre_hook(lambda _, given: seen.append(len(given[0].words)))
    group = group_of(0, PASSAGES[8])
    drawn = []
    for seed in (0, 0, 1):
        losses = verify_losses(
            network, form, [group], VerifierPlan(invalid=1000, own_candidates=False), random.Random(seed)
        )
        drawn.append(losses["verify"].item())
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(2 <= count <= 2 * RANDOM_SPANS + len(group.spans[0]) for count in seen)


def test_a_candidate_whose_evidence_is_read_anew_is_taught_what_it_is_scored_by():
    network, _, form = tiny_network()
    group = group_of(0, PASSAGES[8], PASSAGES[9])
    facts, labels = [], []

    def cross_entropy(logits, target):
        facts.append((logits[:, 0] - logits[:, 1]).detach())
        labels.append(target)
        return logits.sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "cross_entropy", cross_entropy)
        losses = verify_losses(
            network, form, [group], VerifierPlan(invalid=1000, reread=True), random.Random(0)
        )
    losses["verify"].backward()
    assert network.encoder.encoder.layer[0].attention.self.query.weight.grad.abs().sum() > 0
    reader = Reader(network, form)
    readings = ExtractiveRecaller(reader).recall(group.question, group.hits)
    candidates = unite(group.hits, readings, RecallerSettings(relevance=0.0, span=0.0, candidates=60))
    dense = [hit.dense for hit in group.hits]
    evidence = [rank_evidence(c, "", group.hits, dense, "strict") for c in candidates]
    scored = RereadingVerifier(reader).calibration_facts(group.question, evidence)[-1, :, 0]
    assert sorted(facts[0].tolist()) == pytest.approx(sorted(scored.tolist()), abs=1e-4)
    assert int((labels[0] == 0).sum()) == len(ANSWERS[0])


def test_spans_that_compete_for_one_answer_have_the_loss_of_a_choice():
    scores = torch.tensor([[[1.0, 2.0], [0.5, FORBIDDEN]], [[1.0, 2.0], [0.5, FORBIDDEN]]])
    possible = torch.tensor([[[True, True], [True, False]]] * 2)
    wanted = torch.tensor([[[True, False], [True, False]], [[False, False], [False, False]]])
    everything = 1 + math.e + math.e**2 + math.e**0.5
    found = single_span_loss(scores, possible, wanted).tolist()
    assert found == pytest.approx([-math.log((math.e + math.e**0.5) / everything), math.log(everything)])


def test_the_verifier_s_loss_is_the_same_for_questions_together_as_for_each():
    network, _, form = tiny_network()
    groups = [group_of(0, PASSAGES[8]), group_of(3, PASSAGES[9], PASSAGES[10])]
    together = verify_losses(network, form, groups, VerifierPlan(invalid=1000), random.Random(0))["verify"]
    counts = []
    network.verifier.register_forward_pre_hook(lambda _, given: counts.append(len(given[0].words)))
    apart = [
        verify_losses(network, form, [g], VerifierPlan(invalid=1000), random.Random(0))["verify"].item()
        for g in groups
    ]
    expected = sum(count * loss for count, loss in zip(counts, apart, strict=True)) / sum(counts)
    assert together.item() == pytest.approx(expected, rel=1e-4)


# Runs


class Killed(Exception):
    """Stands for a run that is stopped from outside."""


LOOP = LoopSettings(encoder_rate=1e-3, head_rate=3e-3, checkpoint_every=2, log_every=1)
RECALLER = RecallerPlan(batch=4, alpha_neg=0.5, repeats=(("nq", 2),), seed=3)
VERIFIER = VerifierPlan(passages=4, questions=2, shares=(("nq", 8),), repeats=(("nq", 2),), seed=3)


def run(
    stage: str,
    folder: Path,
    network_seed: int = 0,
    stop_after: int | None = None,
    passages: Sequence[Passage] = PASSAGES,
    **plan: object,
):
    """Train a tiny network; returns it and the steps that were reported. `plan` changes the stage's plan."""
    network, _, form = tiny_network(network_seed)
    steps = []

    def progress(done: int, of: int) -> None:
        steps.append(done)
        if done == stop_after:
            raise Killed

    train, own = {"recaller": (train_recaller, RECALLER), "verifier": (train_verifier, VERIFIER)}[stage]
    try:
        train(network, form, world_examples(), passages, folder, replace(own, **plan), LOOP, progress)
    except Killed:
        return None, steps
    return network, steps


def same_weights(one, other) -> bool:
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


@pytest.mark.parametrize("stage", ["recaller", "verifier"])
def test_a_run_that_was_stopped_goes_on_and_ends_as_an_unbroken_one(stage, tmp_path):
    whole, steps = run(stage, tmp_path / "whole")
    assert steps == list(range(1, len(steps) + 1))
    _, before = run(stage, tmp_path / "broken", stop_after=5)
    torch.manual_seed(99)  # whatever else drew numbers meanwhile
    resumed, after = run(stage, tmp_path / "broken")
    assert before == [1, 2, 3, 4, 5]
    assert after == list(range(5, len(steps) + 1))
    assert same_weights(whole, resumed)
    assert not same_weights(whole, tiny_network()[0])


def test_what_is_rehearsed_goes_on_after_a_stop_and_changes_the_weights(tmp_path):
    whole, _ = run("verifier", tmp_path / "whole", rehearsed=2)
    run("verifier", tmp_path / "broken", stop_after=5, rehearsed=2)
    resumed, _ = run("verifier", tmp_path / "broken", rehearsed=2)
    assert same_weights(whole, resumed)
    assert not same_weights(whole, run("verifier", tmp_path / "without")[0])
    line = json.loads((tmp_path / "whole/log.jsonl").read_text().splitlines()[0])
    assert line["rehearsed span"] > 0
    assert line["rehearsed relevance"] > 0


def test_rehearsal_reads_every_example_and_then_begins_anew():
    plan = replace(VERIFIER, rehearsed=4)
    batches = _rehearsed(world_examples(), PASSAGES, plan, 50)
    assert len(batches) == 50
    assert all(len(batch) <= 4 for batch in batches)
    assert {item.question for batch in batches for item in batch} == set(QUESTIONS)
    assert batches == _rehearsed(world_examples(), PASSAGES, plan, 50)
    assert _rehearsed(world_examples(), PASSAGES, VERIFIER, 50) == []


@pytest.mark.parametrize("stage", ["recaller", "verifier"])
def test_the_same_seed_gives_the_same_weights_and_leaves_the_embeddings(stage, tmp_path):
    one, _ = run(stage, tmp_path / "one")
    other, _ = run(stage, tmp_path / "other")
    assert same_weights(one, other)
    start = tiny_network()[0].state_dict()
    changed = {name for name, tensor in one.state_dict().items() if not torch.equal(tensor, start[name])}
    assert not any(name.startswith("encoder.embeddings.") for name in changed)
    assert any(name.startswith("encoder.encoder.") for name in changed)
    assert not one.training
    log = [json.loads(line) for line in (tmp_path / "one/log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log] == list(range(1, log[-1]["of"] + 1))
    assert all(math.isfinite(line["span"]) for line in log)


def weight_losses(network):
    """A loss of one weight alone, that step 1 makes not a number."""
    return lambda step: {"loss": network.relevance.weight.sum() * (math.nan if step == 1 else 1.0)}


def test_a_step_without_a_finite_gradient_is_left_out(tmp_path, caplog):
    network, _, _ = tiny_network()
    with caplog.at_level(logging.WARNING):
        run_steps(network, [0, 1, 2], weight_losses(network), tmp_path, LOOP)
    assert all(tensor.isfinite().all() for tensor in network.state_dict().values())
    assert "Step 1 has no finite gradient" in caplog.text


OTHERWISE = [replace(p, text=p.text.replace("turns", "flows")) for p in PASSAGES]
"""The same passages with one other word, which changes no span."""


@pytest.mark.parametrize("stage", ["recaller", "verifier"])
def test_a_checkpoint_of_another_run_is_refused_and_the_same_run_goes_on(stage, tmp_path):
    run(stage, tmp_path, stop_after=3)
    kept = (tmp_path / "checkpoint.pt").read_bytes()
    others = ({"network_seed": 1}, {"passages": OTHERWISE}, {"seed": 4})
    for other in others:
        with pytest.raises(InputError, match=r"another training\. Name another folder by --out"):
            run(stage, tmp_path, **other)
    assert (tmp_path / "checkpoint.pt").read_bytes() == kept
    _, steps = run(stage, tmp_path)
    assert steps[0] == 3


def test_a_plan_that_would_make_the_same_batches_is_another_plan_all_the_same(tmp_path):
    run("verifier", tmp_path, stop_after=3)
    with pytest.raises(InputError, match="another training"):
        run("verifier", tmp_path, invalid=9)


def test_a_checkpoint_of_the_other_stage_or_without_a_plan_is_refused(tmp_path):
    run("recaller", tmp_path, stop_after=3)
    with pytest.raises(InputError, match="another training"):
        run("verifier", tmp_path)
    kept = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    del kept["plan"]
    torch.save(kept, tmp_path / "checkpoint.pt")
    with pytest.raises(InputError, match="another training"):
        run("recaller", tmp_path)


@pytest.fixture(scope="module")
def overfit(tmp_path_factory):
    """A tiny network that has seen eight examples many times, first as recaller, then as verifier."""
    folder = tmp_path_factory.mktemp("overfit")
    network, _, form = tiny_network()
    loop = LoopSettings(encoder_rate=2e-3, head_rate=1e-2, checkpoint_every=1000)
    plan = RecallerPlan(batch=16, alpha_neg=0.6, repeats=(("nq", 280),), seed=1)
    train_recaller(network, form, world_examples(), PASSAGES, folder / "recaller", plan, loop)
    recaller = ExtractiveRecaller(Reader(network, form))
    readings = [recaller.recall(question, hits_of(PASSAGES)) for question in QUESTIONS]
    plan = VerifierPlan(
        passages=5, questions=4, unanswered=0.0, shares=(("nq", 8),), repeats=(("nq", 24),), seed=1
    )
    train_verifier(network, form, world_examples(), PASSAGES, folder / "verifier", plan, loop)
    return readings, Reader(network, form)


def test_eight_examples_are_learned_by_the_recaller(overfit):
    readings, _ = overfit
    learned = 0
    for i, own in enumerate(readings):
        spans = sorted((span for span in own[i].spans if span.score > 0.5), key=lambda span: span.start)
        learned += [PASSAGES[i].text[span.start : span.end] for span in spans] == list(ANSWERS[i])
    assert learned >= 7


def test_the_verifier_ranks_the_right_candidates_of_eight_examples_above_wrong_ones(overfit):
    _, reader = overfit
    above = below = 0
    for i, question in enumerate(QUESTIONS):
        hits = hits_of([PASSAGES[row] for row in world_examples()[i].rows])
        readings = ExtractiveRecaller(reader).recall(question, hits)
        candidates = unite(hits, readings, RecallerSettings(relevance=0.0, span=0.0))
        evidence = [rank_evidence(c, "", hits, [h.dense for h in hits], "strict") for c in candidates]
        scores = [verdict.at(10) for verdict in EmbeddedVerifier(reader).verify(question, evidence)]
        right = [any(same_answer(c.answer, answer) for answer in ANSWERS[i]) for c in candidates]
        assert sum(right) == len(ANSWERS[i])
        pairs = [
            (scores[a], scores[b])
            for a in range(len(scores))
            for b in range(len(scores))
            if right[a] and not right[b]
        ]
        above += sum(one > other for one, other in pairs)
        below += sum(one <= other for one, other in pairs)
    assert above + below > 50
    assert above / (above + below) > 0.97


# Calibration


class _AnnaRecaller(PatternRecaller):
    """Surer of Anna than of Bert."""

    def _read(self, hit: Hit) -> Reading:
        reading = super()._read(hit)
        text = hit.passage.text
        spans = (replace(span, score=0.6 if text[span.start] == "A" else 0.3) for span in reading.spans)
        return replace(reading, spans=tuple(spans))


class _FactsVerifier(TableVerifier):
    """Its only fact is the logit of its score, in another unit for each evidence size."""

    def calibration_facts(self, question, evidence):
        scores = [verdict.at(10) for verdict in self.verify(question, evidence)]
        logits = np.array([[math.log(p / (1 - p))] for p in scores]).reshape(-1, 1)
        return np.stack([logits * k for k in EVIDENCE_SIZES])


def races(scores: dict[str, float]) -> Pipeline:
    """Race i was won by Anna i before Bert i; the verifier gives the scores."""
    passages = [Passage(f"p{i}", "", f"Race {i} was won by Anna{i} before Bert{i}.") for i in range(6)]
    return Pipeline(
        WordRetriever(passages),
        PatternRecaller(r"(Anna|Bert)\d"),
        CoverGatherer(),
        _FactsVerifier(scores),
        Settings(),
    )


ANNAS = tuple(f"Anna{j}" for j in range(6))


def test_calibration_chooses_a_threshold_for_the_recaller_alone_too():
    scores = {f"Anna{i}": 0.95 for i in range(6)} | {f"Bert{i}": 0.91 for i in range(6)}
    pipeline = replace(races(scores), recaller=_AnnaRecaller(r"(Anna|Bert)\d"))
    assert calibrate(pipeline, asked_of_races()).recaller_tau == 0.3  # the lowest that leaves all Berts out


def asked_of_races(answers: Sequence[str] = ANNAS) -> list[Question]:
    gold = (tuple((answer,) for answer in answers),)
    return [Question(str(i), f"who won race {i}", gold) for i in range(2)]


def test_calibration_moves_the_scores_so_that_tau_parts_right_from_wrong():
    pipeline = races({f"Anna{i}": 0.95 for i in range(6)} | {f"Bert{i}": 0.91 for i in range(6)})
    done = []
    result = calibrate(pipeline, asked_of_races(), lambda *step: done.append(step))
    assert done == [(1, 2), (2, 2)]
    assert (result.f1, result.questions) == (1.0, 2)
    for p, right in ((0.95, True), (0.91, False)):
        logit = math.log(p / (1 - p))
        moved = [
            offset + slope * logit * k for (offset, slope), k in zip(result.rows, (1, 5, 10), strict=True)
        ]
        # Each size has a row of its own, which undoes that its facts are larger.
        assert moved == pytest.approx([moved[0]] * 3, rel=1e-4)
        assert (1 / (1 + math.exp(-moved[2])) > result.tau) == right


def test_questions_of_which_no_candidate_or_every_one_is_right_calibrate_nothing():
    pipeline = races({f"Anna{i}": 0.95 for i in range(6)} | {f"Bert{i}": 0.91 for i in range(6)})
    everyone = [f"{name}{i}" for name in ("Anna", "Bert") for i in range(6)]
    for answers in (["Zoe"], everyone):
        with pytest.raises(
            InputError, match=r"are right: a calibration needs right and wrong ones\. Name dev"
        ):
            calibrate(pipeline, asked_of_races(answers))


def test_a_verifier_that_scores_wrong_candidates_higher_is_not_calibrated():
    pipeline = races({f"Anna{i}": 0.91 for i in range(6)} | {f"Bert{i}": 0.95 for i in range(6)})
    with pytest.raises(InputError, match=r"scores wrong candidates higher\. Train it longer"):
        calibrate(pipeline, asked_of_races())


def drawn_facts(
    slopes: Sequence[float], totals: Sequence[float], offset: float
) -> tuple[np.ndarray, np.ndarray]:
    """The facts of each size, whose slopes are these, and labels drawn by them."""
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(20_000, 1 + len(totals)))
    p = 1 / (1 + np.exp(-(columns @ [2.0, *totals] + offset)))
    right = (rng.random(len(p)) < p).astype(float)
    facts = np.stack([columns] * len(slopes))
    facts[:, :, 0] *= 2.0 / np.array(slopes)[:, None]
    return facts, right


def test_each_evidence_size_has_a_row_of_offset_slope_and_totals():
    facts, right = drawn_facts((0.5, 1.0, 4.0), (0.0, -0.7), 0.4)
    rows = fit_rows(facts, right, facts[:, :0])
    assert len(rows) == len(EVIDENCE_SIZES)
    for row, slope in zip(rows, (0.5, 1.0, 4.0), strict=True):
        offset, own, *totals = row
        assert own == pytest.approx(slope, rel=0.1)
        assert offset == pytest.approx(0.4, abs=0.1)
        assert totals == pytest.approx([0.0, -0.7], abs=0.1)


@pytest.mark.parametrize("size", range(len(EVIDENCE_SIZES)))
def test_no_size_may_have_a_slope_that_does_not_rise(size):
    facts, right = drawn_facts((1.0, 1.0, 1.0), (0.3,), 0.0)
    for wrong in (-facts[size, :, 0], np.zeros(len(right))):
        bad = facts.copy()
        bad[size, :, 0] = wrong
        with pytest.raises(InputError, match=f"With {EVIDENCE_SIZES[size]} evidence passages"):
            fit_rows(bad, right, bad[:, :0])


def test_candidates_of_questions_without_an_answer_lower_the_scores_by_their_share():
    facts, right = drawn_facts((1.0, 1.0, 1.0), (0.3,), 0.0)
    alone = np.array(fit_rows(facts, right, facts[:, :0]))
    beside = np.array(fit_rows(facts, right, facts))
    # A quarter of as many again are wrong, whatever their facts: the odds fall from 1 to .5 / .75.
    assert (beside[:, 0] < alone[:, 0] - 0.2).all()
    assert (beside[:, 1] > 0).all()


def test_a_question_is_left_unanswered_where_no_candidate_is_above_tau():
    rows = [[0.0, 1.0]] * len(EVIDENCE_SIZES)
    logits = ([-2.0, 0.0], [1.0, -3.0], [])
    facts = [np.array([[[value] for value in own]] * len(EVIDENCE_SIZES)).reshape(3, -1, 1) for own in logits]
    assert silent_share(facts, rows, 0.5) == pytest.approx(2 / 3)  # .5 is not above
    assert silent_share(facts, rows, 0.4) == pytest.approx(1 / 3)


def test_calibration_asks_again_without_the_passages_that_cover_an_answer():
    scores = {f"Anna{i}": 0.95 for i in range(6)} | {f"Bert{i}": 0.91 for i in range(6)}
    pipeline = races(scores)
    seen = []

    class Watching(_FactsVerifier):
        def calibration_facts(self, question, evidence):
            seen.append(sorted({p.hit.passage.id for body in evidence for p in body.passages}))
            return super().calibration_facts(question, evidence)

    calibrate(replace(pipeline, verifier=Watching(scores)), asked_of_races(["Anna1", "Anna2"])[:1])
    assert seen == [[f"p{i}" for i in range(6)], ["p0", "p3", "p4", "p5"]]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_single_class_is_not_fitted(value):
    facts, right = drawn_facts((1.0, 1.0, 1.0), (0.3,), 0.0)
    with pytest.raises(InputError, match="Of 20,000 candidates"):
        fit_rows(facts, np.full(len(right), value), facts[:, :9])
    with pytest.raises(InputError, match="Of 0 candidates 0 are right"):
        fit_rows(facts[:, :0], right[:0], facts[:, :9])


def test_calibrated_scores_are_those_that_the_embedded_verifier_gives():
    _, _, form = tiny_network()
    reader = Reader(tiny_network(seed=4)[0], form)
    hits = hits_of(PASSAGES)
    evidence = [
        rank_evidence(candidate_of(answer, hits), "", hits, [hit.dense for hit in hits], "strict")
        for answer in ("Merin", "1887", "Zanzibar")
    ]
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(len(EVIDENCE_SIZES), 1 + FACTS)).tolist()
    facts = EmbeddedVerifier(reader).calibration_facts(QUESTIONS[0], evidence)
    verdicts = EmbeddedVerifier(reader, rows).verify(QUESTIONS[0], evidence)
    scores = calibrated_scores(facts, rows)
    assert np.array(scores) == pytest.approx(np.array([verdict.p_right for verdict in verdicts]), abs=1e-5)
    assert np.array(scores).std(axis=1).min() > 1e-3  # so that the sizes are seen to differ
    assert calibrated_scores(facts[:, :0], rows) == []


def test_a_calibration_is_written_into_the_card_beside_what_is_there(tmp_path):
    network, card, _ = tiny_network()
    card = replace(card, stage="verifier", training={"verifier": {"seed": 2}})
    rows = tuple((0.1 * size, 1.5, *(0.01 * i for i in range(FACTS - 1))) for size in EVIDENCE_SIZES)
    applied = Calibration(rows, 0.6, 0.4, 136, 0.5, 0.2).applied(card)
    assert applied.tau == 0.6
    assert applied.training == {
        "verifier": {"seed": 2},
        "calibration": {"f1": 0.4, "questions": 136, "tau": 0.6, "silent": 0.5, "recaller_tau": 0.2},
    }
    assert replace(applied, calibration=None, tau=0.5, training=card.training) == card
    save_network(network, card, tmp_path)
    write_card(applied, tmp_path)
    read = read_card(tmp_path)
    assert read == applied
    assert read.calibration == [list(row) for row in rows]


def test_a_calibration_recovers_the_logistic_function_that_made_the_labels():
    rng = np.random.default_rng(3)
    facts = rng.normal(size=(20_000, 3)) * [1.0, 5.0, 0.2]
    p = 1 / (1 + np.exp(-(facts @ [2.0, -0.4, 3.0] - 1.0)))
    weights, offset = fit_logistic(facts, (rng.random(len(p)) < p).astype(float))
    assert weights == pytest.approx([2.0, -0.4, 3.0], rel=0.1)
    assert offset == pytest.approx(-1.0, abs=0.1)


def test_a_fact_that_never_changes_gets_no_weight():
    rng = np.random.default_rng(3)
    facts = np.column_stack([rng.normal(size=2000), np.full(2000, np.float32(0.1))])
    weights, _ = fit_logistic(facts, (facts[:, 0] + rng.normal(size=2000) > 0).astype(float))
    assert weights[1] == 0
    assert weights[0] > 1

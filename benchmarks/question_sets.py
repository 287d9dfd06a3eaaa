"""Which questions are asked: MultiSpanQA dev and test, the held-out half of NQ-open, and the demo's.

`--data DIR` holds questions/multispanqa-{dev,test}.jsonl.gz and reading/nq-oracle/nq-open-oracle.jsonl.gz.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtv_core.datasets import load_questions
from rtv_core.errors import InputError
from rtv_core.factory import DEMO_QUESTIONS
from rtv_core.metrics import is_multi
from rtv_core.records import Passage, Question
from rtv_core.text import covers_any
from rtv_core.training.sources import held_out_nq

__all__ = ["SPLITS", "QuestionSet", "load_question_set", "without_one_passage"]

SPLITS = ("dev", "test", "nq", "demo")
COMPLETE = DEMO_QUESTIONS.with_name("complete.jsonl")


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`single_answer`: the best candidate alone is the prediction. `demo`: asked over the demo corpus."""

    split: str
    label: str
    questions: tuple[Question, ...]
    single_answer: bool = False
    demo: bool = False


def load_question_set(split: str, data: Path, nq_count: int) -> QuestionSet:
    """The questions of one of `SPLITS`. Raises InputError for another name or a file that can't be read."""
    if split in ("dev", "test"):
        questions = load_questions(data / f"questions/multispanqa-{split}.jsonl.gz")
        return QuestionSet(split, f"MultiSpanQA {split}", tuple(questions))
    if split == "nq":
        oracle = load_questions(data / "reading/nq-oracle/nq-open-oracle.jsonl.gz")
        held_out = [question for question in oracle if held_out_nq(question.text)]
        chosen = hashed_subset(held_out, nq_count)
        share = "" if len(chosen) == len(held_out) else f", {len(chosen):,} of {len(held_out):,} by hash"
        return QuestionSet(split, f"NQ-open, held-out half{share}", chosen, single_answer=True)
    if split == "demo":
        return QuestionSet(split, "demo, complete lists", tuple(load_questions(COMPLETE)), demo=True)
    raise InputError(f"There is no split {split!r}. Use some of {','.join(SPLITS)}.")


def hashed_subset(questions: Iterable[Question], count: int) -> tuple[Question, ...]:
    """The `count` questions of lowest SHA-256: always the same, and a larger count only adds to them."""
    ordered = sorted(questions, key=lambda q: (hashlib.sha256(q.text.encode()).hexdigest(), q.id))
    return tuple(ordered[:count])


def without_one_passage(questions: Sequence[Question], passages: Iterable[Passage]) -> set[str]:
    """The ids of the questions of several answers whose gold no single passage covers.

    A passage must cover every answer of one annotation, strictly. The whole corpus is read once.
    """
    left = {question.id: question for question in questions if is_multi(question)}
    for passage in passages:
        for question in [q for q in left.values() if _covers_all(passage.text, q)]:
            del left[question.id]
    return set(left)


def _covers_all(text: str, question: Question) -> bool:
    return any(all(covers_any(text, spellings) for spellings in a) for a in question.answers)

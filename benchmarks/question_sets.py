"""Which questions are asked: MultiSpanQA dev and test, the held-out half of NQ-open, and the demo's.

`--data DIR` holds questions/multispanqa-{dev,test}.jsonl.gz and reading/nq-oracle/nq-open-oracle.jsonl.gz.

Run: python -m benchmarks.question_sets nq --data DIR --out nq.json

writes one of them down, in AmbigQA's format, for commands that take a file of questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rtv_core.annotation.export import ambigqa_file, corrected_ambigqa
from rtv_core.datasets import load_questions
from rtv_core.errors import InputError, RtvError
from rtv_core.factory import DEMO_QUESTIONS
from rtv_core.metrics import is_multi
from rtv_core.records import Passage, Question
from rtv_core.text import covers_any
from rtv_core.training.sources import held_out_nq

__all__ = ["NQ_COUNT", "SPLITS", "QuestionSet", "load_question_set", "without_one_passage"]

NQ_COUNT = 300
"""So many of NQ-open's held-out questions are asked, unless told otherwise."""

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


@click.command()
@click.argument("split", type=click.Choice([name for name in SPLITS if name != "demo"]))
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Where the public sets lie.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option("--nq-count", default=NQ_COUNT, show_default=True, help="NQ-open questions, at most.")
def main(split: str, data: Path, out: Path, nq_count: int) -> None:
    """Write the questions of a split, with their gold answers, to a file of AmbigQA's format."""
    try:
        chosen = load_question_set(split, data, nq_count)
        out.write_text("".join(ambigqa_file(corrected_ambigqa(chosen.questions))), encoding="utf-8")
    except (RtvError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{chosen.label}: {len(chosen.questions):,} written to {out}.")


if __name__ == "__main__":
    main()

"""Two runs of benchmarks.quality, question by question.

Run: python -m benchmarks.compare OUT_A OUT_B

Only questions that both runs answered count. A difference is B's figure less A's, with its 95 % interval from
resamples of the questions that are the same for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from benchmarks.measures import RECALLED_OF_COVERED, applies, difference, interval
from benchmarks.results import ALL, SplitResult, load_results
from benchmarks.rows import DEPTHS
from benchmarks.table import cell, markdown
from rtv_core.errors import RtvError

__all__ = ["comparison", "main"]

FIGURES = {
    **{f"mrecall@{k}": (f"MRecall@{k}", 100) for k in DEPTHS},
    f"answer_recall@{DEPTHS[-1]}": (f"answer recall@{DEPTHS[-1]}", 100),
    RECALLED_OF_COVERED: ("covered gold answers recalled", 100),
    "candidates": ("candidates a question", 1),
    "f1": ("F1", 100),
    "exact_match": ("exact match of the best candidate", 100),
    "recall": ("recall", 100),
    "unanswered": ("no answer, left unanswered", 100),
}
"""What is compared: its name in the table and its factor there."""


@click.command()
@click.argument("out_a", type=click.Path(path_type=Path))
@click.argument("out_b", type=click.Path(path_type=Path))
def main(out_a: Path, out_b: Path) -> None:
    """Print a table for each split and group of questions that both runs have."""
    try:
        print(comparison(load_results(out_a), load_results(out_b)))
    except RtvError as error:
        raise click.ClickException(str(error)) from error


def comparison(a: Sequence[SplitResult], b: Sequence[SplitResult]) -> str:
    """The tables; a line that says so where the runs share no question."""
    others = {result.split: result for result in b}
    tables = [_tables(result, others[result.split]) for result in a if result.split in others]
    return "\n\n".join(table for some in tables for table in some) or "The two runs share no question."


def _tables(a: SplitResult, b: SplitResult) -> Iterator[str]:
    """A table of the questions that both runs have, then one of each smaller group among them."""
    shared = [i for i in a.groups[ALL] if a.questions[i] == b.questions.get(i)]
    for group in sorted(a.groups, key=lambda name: (name != ALL, name)):
        ids = [i for i in shared if i in set(a.groups[group])]
        if ids and (group == ALL or len(ids) < len(shared)):
            label = a.label if group == ALL else f"{a.label}, {group}"
            header = ["of", "figure", "A", "B", "B - A"]
            yield markdown(f"{label}, {len(ids):,} questions", header, _rows(a, b, ids))


def _rows(a: SplitResult, b: SplitResult, ids: Sequence[str]) -> Iterator[list[str]]:
    # Seconds have a "recall" too, which is a stage.
    for subject in (name for name in a.measures if name in b.measures and name != "seconds"):
        runs = (a.measures[subject], b.measures[subject])
        for figure, (name, factor) in FIGURES.items():
            if both := [i for i in ids if all(applies(figure, run, i) for run in runs)]:
                cells = [*(interval(figure, run, both) for run in runs), difference(figure, *runs, both)]
                yield [subject, name, *(cell(found, factor) for found in cells)]


if __name__ == "__main__":
    main()

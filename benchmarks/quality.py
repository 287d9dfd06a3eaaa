"""Quality of retrieval, recall and verification, beside plain baselines.

Run: python -m benchmarks.quality --data DIR --index DIR --out DIR [--models DIR] [--splits dev,test,nq,demo]

`--data` is laid out as benchmarks.question_sets says; `--index` is the index of the corpus that all sets but
the demo's are asked over. Rows are kept in OUT as JSON lines; a question with a row is not asked again. The
tables go to standard output, the values by question into OUT/results.json, and two runs are compared by
python -m benchmarks.compare. Every tau and the logistic regression come from dev; test is reported, nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from benchmarks.question_sets import NQ_COUNT, SPLITS, QuestionSet, load_question_set, without_one_passage
from benchmarks.results import SplitResult, figures_of, save_results, split_result
from benchmarks.rows import RowFile, collect
from benchmarks.systems import build_systems
from benchmarks.table import render_report
from rtv_core.errors import RtvError
from rtv_core.factory import MODELS, Models, load_models
from rtv_core.settings import Settings, load_settings

__all__ = ["main", "measure"]


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--index", type=click.Path(path_type=Path), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--models", type=click.Path(path_type=Path), default=MODELS, show_default=True)
@click.option("--splits", default=",".join(SPLITS), show_default=True)
@click.option("--nq-count", default=NQ_COUNT, show_default=True, help="NQ-open questions asked, at most.")
@click.option("--set", "overrides", multiple=True)
def main(
    data: Path, index: Path, out: Path, models: Path, splits: str, nq_count: int, overrides: tuple[str, ...]
) -> None:
    """Answer what is missing, then print the tables."""
    try:
        sets = [load_question_set(split, data, nq_count) for split in dict.fromkeys(splits.split(","))]
        settings = load_settings("embedded", overrides)
        out.mkdir(parents=True, exist_ok=True)
        results = measure(sets, settings, out, lambda demo: load_models(None if demo else index, models))
        figures = {result.split: figures_of(result) for result in results}
        save_results(results, figures, out)
    except RtvError as error:
        raise click.ClickException(str(error)) from error
    print(render_report(results, figures), end="")


def measure(
    sets: Sequence[QuestionSet], settings: Settings, out: Path, load: Callable[[bool], Models]
) -> list[SplitResult]:
    """Ask what OUT lacks, and measure all of it. `load` gives the models, over the demo corpus or not."""
    rows, several = {}, {}
    # One corpus after the other: both in memory at once would be a waste.
    for demo in sorted({asked.demo for asked in sets}):
        models = load(demo)
        pipeline = models.pipeline(settings)
        for asked in (asked for asked in sets if asked.demo == demo):
            rows[asked.split] = collect(pipeline, asked.questions, RowFile(out / f"{asked.split}.jsonl"))
            if asked.split == "test":
                apart = [row.question for row in rows["test"] if not row.in_one]
                several["test"] = without_one_passage(apart, models.retriever.index.passages)
    dev = rows.get("dev", [])
    systems = build_systems(dev)
    taus = {system.name: system.best_tau(dev) for system in systems} if dev else {}
    return [split_result(s, rows[s.split], systems, taus, several.get(s.split)) for s in sets]


if __name__ == "__main__":
    main()

"""`evaluate`: a question set answered into the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtv_core.cli.options import STORE, progress_bar, stay_offline, with_settings
from rtv_core.settings import load_settings

if TYPE_CHECKING:
    from rtv_core.pipeline import Pipeline
    from rtv_core.records import Question

__all__ = ["command", "evaluate"]


@click.command("evaluate")
@with_settings
@click.option(
    "--questions", "source", type=click.Path(path_type=Path), required=True, help="With gold answers."
)
@click.option("--name", required=True, help="The run's name; that of a stopped run goes on with it.")
@click.option("--system", default="RTV", show_default=True, help="What the run's system is called.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only the first so many questions.")
@click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Where runs are kept."
)
def command(
    index: Path | None,
    profile: str,
    overrides: tuple[str, ...],
    source: Path,
    name: str,
    system: str,
    limit: int | None,
    store: Path,
) -> None:
    """Answer a question set and keep every trace. Stopped and started again, it goes on where it was."""
    settings = load_settings(profile, overrides)
    from rtv_core.datasets import load_questions

    questions = load_questions(source)
    if index is not None:
        from rtv_core.retrieval.manifest import read_manifest

        read_manifest(index)  # says that there is no index before the models are loaded
    stay_offline()
    from rtv_core.factory import load_models

    evaluate(load_models(index).pipeline(settings), questions, store, name, system, limit)


def evaluate(
    pipeline: Pipeline,
    questions: Sequence[Question],
    store: Path,
    name: str,
    system: str = "RTV",
    limit: int | None = None,
) -> None:
    """Run the questions with a progress bar, then print one line of measures."""
    from rtv_core.evaluation import run_questions, run_summary
    from rtv_core.store.runs import RunStore

    runs = RunStore(store)
    with progress_bar("questions") as progress:
        run = run_questions(pipeline, questions, runs, name, progress, system, limit)
    count = f"{run.questions:,} of {len(questions):,} questions"
    click.echo(f"{run.name}: {count} · {run_summary(runs.questions(run.id))}")

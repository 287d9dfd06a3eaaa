"""`runs`: what systems answered, ours and others', to be judged and analysed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtv_core.cli.options import STORE
from rtv_core.errors import MissingError

if TYPE_CHECKING:
    from rtv_core.records import Run
    from rtv_core.store.runs import RunStore

__all__ = ["command"]

LONGEST_FACT = 100

_STORE = click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Where runs are kept."
)


@click.group("runs")
def command() -> None:
    """What systems answered, question by question."""


@command.command("list")
@_STORE
def list_runs(store: Path) -> None:
    """Every run, newest first."""
    runs = _opened(store)
    found = runs.runs()
    for run in found:
        click.echo(_line(run, runs.is_complete(run.id)))
    if not found:
        click.echo("There are no runs yet. Make one: `python -m rtv_core evaluate` or `runs import`.")


@command.command("import")
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option("--questions", type=click.Path(path_type=Path), required=True, help="With gold answers.")
@click.option("--name", required=True, help="The run's name.")
@click.option("--system", required=True, help="Whose predictions they are.")
@click.option(
    "--tau",
    type=click.FloatRange(0, 1),
    default=None,
    help="Only answers scored above it are predicted; without it, all.",
)
@_STORE
def import_run(
    predictions: Path, questions: Path, name: str, system: str, tau: float | None, store: Path
) -> None:
    """Keep another system's PREDICTIONS: AmbigQA's {id: [answer, ...]}, or JSON lines with predictions."""
    from rtv_core.datasets import load_questions
    from rtv_core.evaluation import import_predictions, run_summary
    from rtv_core.predictions import file_facts, read_predictions
    from rtv_core.store.runs import RunStore

    gold, predicted = load_questions(questions), read_predictions(predictions)
    runs = RunStore(store)
    run = import_predictions(predicted, gold, runs, name, system, file_facts(predictions), tau)
    click.echo(f"{run.name}: {run.questions:,} questions · {run_summary(runs.questions(run.id))}")


@command.command("show")
@click.argument("name")
@_STORE
def show_run(name: str, store: Path) -> None:
    """What a run is, its measures, and the stage at which gold answers were lost."""
    from rtv_core.analysis.blame import stage_blame
    from rtv_core.evaluation import run_summary

    runs = _opened(store)
    run = runs.run(name)
    click.echo(_line(run, runs.is_complete(run.id)))
    questions = runs.questions(run.id)
    click.echo(run_summary(questions))
    for stage in stage_blame(questions):
        click.echo(f"  {stage.count:>7,}  {100 * stage.share:5.1f} %  {stage.name}")
    for fact, value in sorted(run.provenance.items()):
        click.echo(f"  {fact}: {value if len(value) <= LONGEST_FACT else value[: LONGEST_FACT - 1] + '…'}")


def _line(run: Run, complete: bool) -> str:
    of = run.provenance.get("questions", "")
    count = (
        f"{run.questions:,} questions" if complete else f"{run.questions:,} of {of or '?'} questions, open"
    )
    tau = "" if run.tau is None else f" · tau {run.tau:.2f}"
    return f"{run.name} · {run.system} · {count}{tau} · {run.at[:16].replace('T', ' ')}"


def _opened(store: Path) -> RunStore:
    from rtv_core.store.runs import RunStore

    if not store.is_file():
        raise MissingError(f"There are no runs in {store}. Name the file by --store.")
    return RunStore(store)

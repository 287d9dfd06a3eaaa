"""`train`: the embedded reader stage by stage, the baselines it is compared with, and the paper's models."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rtv_core.cli import train_t5
from rtv_core.cli.options import progress_bar, stay_offline
from rtv_core.settings import Settings

__all__ = ["command"]


@click.group("train")
def command() -> None:
    """Train the embedded reader: first the recaller, then recaller and verifier together; or a baseline.

    Or the paper's own models: the retriever, the T5 recaller, the T5 verifier.
    """


for own in train_t5.commands:
    command.add_command(own)


def _training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--out", type=click.Path(path_type=Path), required=True, help="Checkpoints and weights."
        ),
        click.option(
            "--index", type=click.Path(path_type=Path), required=True, help="The corpus to retrieve from."
        ),
        click.option(
            "--data", type=click.Path(path_type=Path), required=True, help="The public training sets."
        ),
    ):
        command = option(command)
    return command


@command.command()
@_training_options
@click.option(
    "--course",
    type=click.Choice(["first", "more", "lists", "rest"]),
    default="first",
    show_default=True,
    help="What is read: see rtv_core/training/courses.py.",
)
@click.option(
    "--from", "start", type=click.Path(path_type=Path), help="A trained reader, instead of all-MiniLM-L6-v2."
)
@click.option(
    "--alpha-neg", type=click.FloatRange(0), default=None, help="Irrelevant passages per answering one."
)
@click.option("--seed", type=int, default=None)
def recaller(
    data: Path, index: Path, out: Path, course: str, start: Path | None, **changes: float | None
) -> None:
    """Train the recaller from all-MiniLM-L6-v2, or train one on. Stopped and started again, it goes on."""
    stay_offline()
    from rtv_core.training.courses import RECALLER_COURSES
    from rtv_core.training.run import run_recaller

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with progress_bar("steps") as progress:
        run_recaller(data, index, out, RECALLER_COURSES[course].changed(**changes), start, progress)
    click.echo(f"The recaller is in {out}.")


@command.command()
@_training_options
@click.option("--from", "start", type=click.Path(path_type=Path), required=True, help="The trained recaller.")
@click.option(
    "--course",
    type=click.Choice(["first", "again", "doubt"]),
    default="first",
    show_default=True,
    help="What is read: see rtv_core/training/courses.py.",
)
@click.option("--seed", type=int, default=None)
def verifier(data: Path, index: Path, out: Path, start: Path, course: str, seed: int | None) -> None:
    """Train recaller and verifier together. Stopped and started again, it goes on."""
    stay_offline()
    from rtv_core.training.courses import VERIFIER_COURSES
    from rtv_core.training.run import run_verifier

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with progress_bar("steps") as progress:
        run_verifier(data, index, start, out, VERIFIER_COURSES[course].changed(seed=seed), progress)
    click.echo(
        f"The reader is in {out}. Now calibrate it: `python -m rtv_core train calibrate --models {out}`."
    )


def _from_recaller(command: Callable[..., Any]) -> Callable[..., Any]:
    return _training_options(
        click.option(
            "--from", "start", type=click.Path(path_type=Path), required=True, help="The trained recaller."
        )(command)
    )


@command.command()
@_from_recaller
def reranker(data: Path, index: Path, out: Path, start: Path) -> None:
    """Train a reranker as a network of its own for a baseline. Stopped and started again, it goes on."""
    stay_offline()
    from rtv_core.training.run_baselines import run_reranker

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with progress_bar("steps") as progress:
        run_reranker(data, index, start, out, progress=progress)
    click.echo(f"The reranker is in {out}.")


@command.command("joint-reader")
@_from_recaller
@click.option("--concatenated", is_flag=True, help="Read the top passages as one text.")
def joint_reader(data: Path, index: Path, out: Path, start: Path, concatenated: bool) -> None:
    """Train a baseline's reader, which ranks passages and whose answers compete.

    Stopped and started again, it goes on.
    """
    stay_offline()
    from rtv_core.training.run_baselines import run_joint_reader

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with progress_bar("steps") as progress:
        run_joint_reader(data, index, start, out, concatenated, progress=progress)
    click.echo(f"The reader is in {out}. Now choose its tau: `python -m rtv_core train tau --reader {out}`.")


@command.command()
@click.option("--reader", type=click.Path(path_type=Path), required=True, help="The trained joint reader.")
@click.option("--reranker", type=click.Path(path_type=Path), help="A reranker of its own.")
@click.option("--index", type=click.Path(path_type=Path), required=True, help="The corpus to retrieve from.")
@click.option("--questions", type=click.Path(path_type=Path), required=True, help="Dev questions with gold.")
def tau(reader: Path, reranker: Path | None, index: Path, questions: Path) -> None:
    """Choose the tau of a baseline's reader on dev questions."""
    stay_offline()
    from rtv_core.training.run_baselines import run_tau

    with progress_bar("questions") as progress:
        chosen = run_tau(index, questions, reader, reranker, progress)
    click.echo(
        f"tau {chosen.tau:g}: F1 {100 * chosen.f1:.1f} on the {chosen.questions} questions it was chosen on."
    )


@command.command()
@click.option("--models", type=click.Path(path_type=Path), required=True, help="The trained reader.")
@click.option("--index", type=click.Path(path_type=Path), required=True, help="The corpus to retrieve from.")
@click.option("--questions", type=click.Path(path_type=Path), required=True, help="Dev questions with gold.")
def calibrate(models: Path, index: Path, questions: Path) -> None:
    """Fit the scores to what is right, and choose tau, on dev questions."""
    stay_offline()
    from rtv_core.datasets import load_questions
    from rtv_core.factory import load_models
    from rtv_core.reading.weights import write_card
    from rtv_core.training.calibrate import calibrate as fit

    gold = [question for question in load_questions(questions) if any(question.answers)]
    loaded = load_models(index, models)
    with progress_bar("questions") as progress:
        result = fit(loaded.uncalibrated().pipeline(Settings()), gold, progress)
    write_card(result.applied(loaded.card), models)
    click.echo(
        f"tau {result.tau:.2f}: F1 {100 * result.f1:.1f} on the {result.questions} questions "
        f"it was chosen on. Without the passages that answer them {100 * result.silent:.0f} % stay "
        "unanswered."
    )

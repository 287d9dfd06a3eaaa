"""`train`: the embedded reader, stage by stage."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rtv_core.cli.options import progress_bar, stay_offline
from rtv_core.settings import Settings

__all__ = ["command"]


@click.group("train")
def command() -> None:
    """Train the embedded reader: first the recaller, then recaller and verifier together."""


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
    "--alpha-neg", type=click.FloatRange(0), default=None, help="Irrelevant passages per answering one."
)
@click.option("--seed", type=int, default=None)
def recaller(data: Path, index: Path, out: Path, alpha_neg: float | None, seed: int | None) -> None:
    """Train the recaller from all-MiniLM-L6-v2. Stopped and started again, it goes on."""
    stay_offline()
    from rtv_core.training.recaller import RecallerPlan
    from rtv_core.training.run import run_recaller

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    given = {"alpha_neg": alpha_neg, "seed": seed}
    plan = RecallerPlan(**{name: value for name, value in given.items() if value is not None})
    with progress_bar("steps") as progress:
        run_recaller(data, index, out, plan, progress)
    click.echo(f"The recaller is in {out}.")


@command.command()
@_training_options
@click.option("--from", "start", type=click.Path(path_type=Path), required=True, help="The trained recaller.")
@click.option("--seed", type=int, default=None)
def verifier(data: Path, index: Path, out: Path, start: Path, seed: int | None) -> None:
    """Train recaller and verifier together. Stopped and started again, it goes on."""
    stay_offline()
    from rtv_core.training.run import run_verifier
    from rtv_core.training.verifier import VerifierPlan

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    plan = VerifierPlan() if seed is None else VerifierPlan(seed=seed)
    with progress_bar("steps") as progress:
        run_verifier(data, index, start, out, plan, progress)
    click.echo(
        f"The reader is in {out}. Now calibrate it: `python -m rtv_core train calibrate --models {out}`."
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
        "it was chosen on."
    )

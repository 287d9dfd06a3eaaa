"""`verdicts`: published human verdicts on systems' answers, to be analysed like one's own."""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.cli.options import STORE, progress_bar

__all__ = ["command"]

SETS = ("evouna-nq", "evouna-tq", "openqa-eval")


@click.group("verdicts")
def command() -> None:
    """Published human verdicts on systems' answers."""


@command.command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--set", "name", type=click.Choice(SETS), required=True, help="What the folder holds.")
@click.option("--store", type=click.Path(path_type=Path), default=STORE, show_default=True)
@click.option("--each-annotator", is_flag=True, help="Keep single annotators' verdicts too (openqa-eval).")
def import_command(folder: Path, name: str, store: Path, each_annotator: bool) -> None:
    """Keep the answers of each system in FOLDER as a run, with the human verdicts on them. Twice is once."""
    from rtv_core.human_verdicts import import_verdicts, read_verdicts

    verdicts = read_verdicts(folder, name)
    with progress_bar("verdicts") as progress:
        runs = import_verdicts(verdicts, store, each_annotator, progress)
    for run, system in zip(runs, verdicts.systems, strict=True):
        left = f"; {system.without:,} without a verdict left out" if system.without else ""
        click.echo(f"{run.name}: {run.questions:,} questions judged by {verdicts.annotator!r}{left}")
    click.echo(
        f"People saw the gold answers, and each verdict stands alone: name {verdicts.annotator!r} as "
        "adjudicator to count them."
    )

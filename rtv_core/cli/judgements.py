"""`judgements`: what people said, as files."""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.cli.options import STORE
from rtv_core.errors import InputError, MissingError

__all__ = ["command"]


@click.group("judgements")
def command() -> None:
    """What people said of the answers."""


@command.command()
@click.option("--store", type=click.Path(path_type=Path), default=STORE, show_default=True)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="A file; without it, the terminal.")
def export(store: Path, form: str, out: Path | None) -> None:
    """Write the current verdicts, oldest first."""
    from rtv_core.store.export import export_csv, export_jsonl
    from rtv_core.store.judgements import JudgementStore

    if not store.is_file():
        raise MissingError(f"There are no judgements in {store}. Name the file by --store.")
    lines = (export_csv if form == "csv" else export_jsonl)(JudgementStore(store))
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            count = sum(1 for line in lines if file.write(line))
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror}. Name another file by --out.") from error
    click.echo(f"{out}: {count - (form == 'csv'):,} judgements.")

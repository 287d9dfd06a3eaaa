"""`report`: a run's error analysis as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.cli.counting import counting_of, with_counting
from rtv_core.cli.options import STORE
from rtv_core.errors import InputError, MissingError

__all__ = ["command"]


@click.command("report")
@click.argument("name")
@with_counting
@click.option("--against", metavar="RUN", default="", help="Compare with another run on these questions.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help='Only the questions that meet it, such as "gold >= 2" or "lost = not recalled".',
)
@click.option(
    "--examples", type=click.IntRange(0, 100), default=3, show_default=True, help="Of each kind of mistake."
)
@click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Runs and judgements."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="An HTML file.")
def command(
    name: str,
    every_verdict: bool,
    adjudicator: tuple[str, ...],
    across_runs: bool,
    against: str,
    where: tuple[str, ...],
    examples: int,
    store: Path,
    out: Path,
) -> None:
    """Write the error analysis of the run NAME as one self-contained page, for a paper's appendix."""
    import hashlib

    from rtv_core.analysis.filters import read_conditions
    from rtv_core.store.export import export_jsonl
    from rtv_core.store.judgements import JudgementStore
    from rtv_core.store.queues import QueueStore
    from rtv_core.store.runs import RunStore
    from rtv_core.ui.analysis.state import Analyses, Stores
    from rtv_core.ui.analysis.view import View
    from rtv_core.ui.appendix.page import render_appendix

    if not store.is_file():
        raise MissingError(f"There are no runs in {store}. Name the file by --store.")
    if out.exists() and out.samefile(store):
        raise InputError(f"{out} is the database itself. Name another file by --out.")
    kept = JudgementStore(store)
    counting = counting_of(every_verdict, adjudicator, across_runs)
    view = View(
        run=name,
        other=against,
        settled_only=counting.settled_only,
        adjudicators=tuple(sorted(counting.adjudicators)),
        across_runs=counting.across_runs,
        where=read_conditions(where),
    )
    look = Analyses(Stores(kept, RunStore(store), QueueStore(store))).look(view, open_verdicts=True)
    if where and not look.analysis.questions:
        raise InputError("No question of the run meets every condition. Leave one of --where out.")
    digest = hashlib.sha256("".join(export_jsonl(kept)).encode()).hexdigest()
    facts = {"sha256 of `judgements export`": digest}
    page = render_appendix(look, kept.load_trace, facts, examples)
    try:
        out.write_text(page, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror}. Name another file by --out.") from error
    line = look.analysis.headline
    click.echo(f"{out}: {line.text if line else 'no gold is known.'}")

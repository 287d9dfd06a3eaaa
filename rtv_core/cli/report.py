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
    examples: int,
    store: Path,
    out: Path,
) -> None:
    """Write the error analysis of the run NAME as one self-contained page, for a paper's appendix."""
    import hashlib

    from rtv_core.store.export import export_jsonl
    from rtv_core.store.judgements import JudgementStore
    from rtv_core.store.queues import QueueStore
    from rtv_core.store.runs import RunStore
    from rtv_core.ui.analysis.state import Analysis
    from rtv_core.ui.appendix.page import render_appendix

    if not store.is_file():
        raise MissingError(f"There are no runs in {store}. Name the file by --store.")
    if out.exists() and out.samefile(store):
        raise InputError(f"{out} is the database itself. Name another file by --out.")
    runs, kept, queues = RunStore(store), JudgementStore(store), QueueStore(store)
    run = runs.run(name)
    analysis = Analysis(
        run,
        runs.questions(run.id),
        kept.current(),
        [(queue, queues.items(queue.id)) for queue in queues.queues(run.id)],
        counting_of(every_verdict, adjudicator, across_runs),
    )
    digest = hashlib.sha256("".join(export_jsonl(kept)).encode()).hexdigest()
    facts = {"sha256 of `judgements export`": digest}
    page = render_appendix(analysis, kept.load_trace, facts, examples)
    try:
        out.write_text(page, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror}. Name another file by --out.") from error
    click.echo(f"{out}: {analysis.headline.text if analysis.headline else 'no gold is known.'}")

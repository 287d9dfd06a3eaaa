"""`index`: a corpus made searchable."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rtv_core.cli.options import progress_bar, stay_offline

__all__ = ["command"]


@click.command("index")
@click.option("--corpus", type=click.Path(path_type=Path), required=True, help="DPR .tsv or .jsonl, or .gz.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder of the index.")
@click.option("--encoder", default=None, help="A sentence-transformers folder or hub id.")
@click.option("--overwrite", is_flag=True, help="Replace an existing index once the new one is whole.")
@click.option("--bad-lines", type=click.IntRange(0), default=100, show_default=True, help="The most skipped.")
def command(corpus: Path, out: Path, encoder: str | None, overwrite: bool, bad_lines: int) -> None:
    """Make a corpus searchable. Stopped and started again, it goes on where it was."""
    stay_offline()
    from rtv_core.pretrained import DEFAULT_MODEL
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.index import build_index

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with progress_bar("passages") as progress:
        manifest = build_index(
            corpus,
            out,
            SentenceEncoder(encoder or DEFAULT_MODEL),
            progress,
            overwrite=overwrite,
            bad_line_limit=bad_lines,
        )
    click.echo(
        f"{out}: {manifest.passages:,} passages; {manifest.repeats:,} exact repeats dropped, "
        f"{manifest.bad_lines:,} bad lines skipped."
    )

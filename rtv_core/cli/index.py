"""`index`: a corpus made searchable."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rtv_core.cli.options import progress_bar, stay_offline

__all__ = ["command"]


@click.command("index")
@click.option(
    "--corpus",
    "corpora",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="A folder or file of documents (.txt, .md, .html, .pdf) and tables (.csv, .tsv with named columns); "
    "say it again for more. Or one file of passages: DPR .tsv, .jsonl, or either with .gz.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder of the index.")
@click.option(
    "--columns",
    multiple=True,
    metavar="id=NAME,title=NAME,text=NAME",
    help="Which columns of the tables give these, or some of them, where the names don't say so.",
)
@click.option("--encoder", default=None, help="A sentence-transformers folder or hub id.")
@click.option("--overwrite", is_flag=True, help="Replace an existing index once the new one is whole.")
@click.option(
    "--bad-lines",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="The most lines, rows and files that are skipped.",
)
def command(
    corpora: tuple[Path, ...],
    out: Path,
    columns: tuple[str, ...],
    encoder: str | None,
    overwrite: bool,
    bad_lines: int,
) -> None:
    """Make a corpus searchable. Stopped and started again, it goes on where it was.

    Texts are cut into passages of about 100 words at sentence ends. In a folder, hidden files, files of other
    forms and links that lead out of it are left out; a file that can't be read is skipped and named.
    """
    stay_offline()
    from rtv_core.corpus.sources import open_corpus
    from rtv_core.corpus.tables import parse_columns
    from rtv_core.pretrained import DEFAULT_MODEL
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.index import build_index

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # each oddity of a file that can be read all the same
    corpus = open_corpus(corpora, parse_columns(columns))
    with progress_bar("passages") as progress:
        manifest = build_index(
            corpus,
            out,
            SentenceEncoder(_lasting(encoder or DEFAULT_MODEL)),
            progress,
            overwrite=overwrite,
            bad_line_limit=bad_lines,
        )
    click.echo(
        f"{out}: {manifest.passages:,} passages; {manifest.repeats:,} exact repeats dropped, "
        f"{manifest.bad_lines:,} bad lines or files skipped."
    )


def _lasting(encoder: str) -> str:
    """The name of an encoder as it holds from any folder: the manifest tells it."""
    folder = Path(encoder).expanduser()
    return str(folder.resolve()) if folder.is_dir() else encoder

"""The command line: `python -m rtv_core`. The only module that writes to the terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from rtv_core.errors import InputError, MissingError, RtvError
from rtv_core.settings import Settings, load_settings

__all__ = ["cli", "main"]

STORE = "rtv.db"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what a person can mend is one line on stderr and exit status 1."""
    try:
        cli.main(
            args=None if arguments is None else list(arguments), prog_name="rtv_core", standalone_mode=False
        )
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RtvError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("-v", "--verbose", is_flag=True, help="Log what happens.")
def cli(verbose: bool) -> None:
    """Answer open-domain questions that have many answers: recall, then verify."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s")


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--set", "overrides", multiple=True, metavar="PART.NAME=VALUE", help="One setting."),
        click.option("--profile", default="embedded", show_default=True, help='"embedded" or a TOML file.'),
        click.option(
            "--index", type=click.Path(path_type=Path), help="An index; without it, the demo corpus."
        ),
    ):
        command = option(command)
    return command


@cli.command()
@_with_settings
@click.option("--questions", type=click.Path(path_type=Path), help="Questions with gold answers to offer.")
@click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Judgements."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=7860, show_default=True)
@click.option("--open", "open_browser", is_flag=True, help="Open a browser.")
def serve(
    index: Path | None,
    profile: str,
    overrides: tuple[str, ...],
    questions: Path | None,
    store: Path,
    host: str,
    port: int,
    open_browser: bool,
) -> None:
    """Show every stage of an answer in the browser, and judge it."""
    _offline()
    settings = load_settings(profile, overrides)
    from rtv_core.ui.app import check_host
    from rtv_core.ui.app import serve as serve_app

    check_host(host)
    from rtv_core.factory import Workbench

    workbench = Workbench(settings, store, index, questions)
    click.echo(f"RTV on http://{host}:{port}  ·  corpus: {workbench.corpus}  ·  judgements: {store}")
    workbench.start()
    serve_app(workbench, host, port, open_browser)


@cli.command()
@click.argument("question")
@_with_settings
@click.option("--json", "as_json", is_flag=True, help="Everything that was found, as JSON.")
@click.option("--evidence", type=click.IntRange(0, 10), default=1, show_default=True, help="Passages shown.")
def ask(
    question: str, index: Path | None, profile: str, overrides: tuple[str, ...], as_json: bool, evidence: int
) -> None:
    """Answer one QUESTION, with scores and evidence."""
    from rtv_core.pipeline import check_question

    settings = load_settings(profile, overrides)
    check_question(question)
    if index is not None:
        from rtv_core.retrieval.manifest import read_manifest

        read_manifest(index)  # says that there is no index before the models are loaded
    _offline()
    from rtv_core.factory import load_models

    trace = load_models(index).pipeline(settings).ask(question)
    if as_json:
        from rtv_core.report import answer_report
        from rtv_core.wire import to_json

        click.echo(to_json(answer_report(trace, settings), indent=2))
        return
    _print_answers(trace, settings, evidence)


def _print_answers(trace: Any, settings: Settings, evidence: int) -> None:
    from rtv_core.thresholds import judge

    predictions = judge(trace, settings.verifier)
    if not predictions:
        click.echo("No candidate was recalled. Try another question, or a larger corpus with --index.")
        return
    for prediction in predictions:
        if not prediction.accepted:
            continue
        note = (
            f"  (the best, though not above tau {settings.verifier.tau:.2f})" if prediction.fallback else ""
        )
        click.echo(f"{prediction.p_right:.2f}  {prediction.answer}{note}")
        for passage in trace.evidence[prediction.index].passages[:evidence]:
            title = passage.hit.passage.title or "(no title)"
            click.echo(f"      {title}: {passage.hit.passage.text[:160]}…")
    rejected = sum(not prediction.accepted for prediction in predictions)
    spent = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in trace.seconds.items())
    click.echo(
        f"{rejected} more candidates at or below tau {settings.verifier.tau:.2f}  ·  {spent}", err=True
    )


@cli.command()
@click.option("--corpus", type=click.Path(path_type=Path), required=True, help="DPR .tsv or .jsonl, or .gz.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder of the index.")
@click.option("--encoder", default=None, help="A sentence-transformers folder or hub id.")
@click.option("--overwrite", is_flag=True, help="Replace an existing index once the new one is whole.")
@click.option("--bad-lines", type=click.IntRange(0), default=100, show_default=True, help="The most skipped.")
def index(corpus: Path, out: Path, encoder: str | None, overwrite: bool, bad_lines: int) -> None:
    """Make a corpus searchable. Stopped and started again, it goes on where it was."""
    _offline()
    from rtv_core.pretrained import DEFAULT_MODEL
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.index import build_index

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    with _bar("passages") as progress:
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


@cli.group()
def train() -> None:
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


@train.command()
@_training_options
@click.option(
    "--alpha-neg", type=click.FloatRange(0), default=None, help="Irrelevant passages per answering one."
)
@click.option("--seed", type=int, default=None)
def recaller(data: Path, index: Path, out: Path, alpha_neg: float | None, seed: int | None) -> None:
    """Train the recaller from all-MiniLM-L6-v2. Stopped and started again, it goes on."""
    _offline()
    from rtv_core.training.recaller import RecallerPlan
    from rtv_core.training.run import run_recaller

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    given = {"alpha_neg": alpha_neg, "seed": seed}
    plan = RecallerPlan(**{name: value for name, value in given.items() if value is not None})
    with _bar("steps") as progress:
        run_recaller(data, index, out, plan, progress)
    click.echo(f"The recaller is in {out}.")


@train.command()
@_training_options
@click.option("--from", "start", type=click.Path(path_type=Path), required=True, help="The trained recaller.")
@click.option("--seed", type=int, default=None)
def verifier(data: Path, index: Path, out: Path, start: Path, seed: int | None) -> None:
    """Train recaller and verifier together. Stopped and started again, it goes on."""
    _offline()
    from rtv_core.training.run import run_verifier
    from rtv_core.training.verifier import VerifierPlan

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    plan = VerifierPlan() if seed is None else VerifierPlan(seed=seed)
    with _bar("steps") as progress:
        run_verifier(data, index, start, out, plan, progress)
    click.echo(
        f"The reader is in {out}. Now calibrate it: `python -m rtv_core train calibrate --models {out}`."
    )


@train.command()
@click.option("--models", type=click.Path(path_type=Path), required=True, help="The trained reader.")
@click.option("--index", type=click.Path(path_type=Path), required=True, help="The corpus to retrieve from.")
@click.option("--questions", type=click.Path(path_type=Path), required=True, help="Dev questions with gold.")
def calibrate(models: Path, index: Path, questions: Path) -> None:
    """Fit the scores to what is right, and choose tau, on dev questions."""
    _offline()
    from rtv_core.datasets import load_questions
    from rtv_core.factory import load_models
    from rtv_core.reading.weights import write_card
    from rtv_core.training.calibrate import calibrate as fit

    gold = [question for question in load_questions(questions) if any(question.answers)]
    loaded = load_models(index, models)
    with _bar("questions") as progress:
        result = fit(loaded.uncalibrated().pipeline(Settings()), gold, progress)
    write_card(result.applied(loaded.card), models)
    click.echo(
        f"tau {result.tau:.2f}: F1 {100 * result.f1:.1f} on the {result.questions} questions "
        "it was chosen on."
    )


@cli.group()
def judgements() -> None:
    """What people said of the answers."""


@judgements.command()
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


@contextmanager
def _bar(unit: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress callback with rate and time left, on stderr."""
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", dynamic_ncols=True, file=sys.stderr, delay=0.1) as bar:

        def progress(done: int, total: int | None) -> None:
            if total is not None and bar.total is None:
                bar.reset(total)
                bar.initial = done
                bar.n = done
                bar.refresh()
            bar.update(done - bar.n)

        yield progress


def _offline() -> None:
    """No library calls home: models come from packages and folders unless a hub id is asked for."""
    import os

    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

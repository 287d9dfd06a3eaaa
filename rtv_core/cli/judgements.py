"""`judgements`: what people said, as files: exported, imported, merged, backed up, and as corrected gold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from rtv_core.cli.counting import counting_of, with_counting
from rtv_core.cli.options import STORE
from rtv_core.errors import InputError, MissingError

__all__ = ["command"]

_STORE = click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="The database."
)


@click.group("judgements")
def command() -> None:
    """What people said of the answers."""


@command.command()
@_STORE
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--with-traces", is_flag=True, help="JSONL only: what was judged goes along.")
@click.option("--out", type=click.Path(path_type=Path), help="A file; without it, the terminal.")
def export(store: Path, form: str, with_traces: bool, out: Path | None) -> None:
    """Write the current verdicts, oldest first."""
    from rtv_core.store.export import export_csv, export_jsonl
    from rtv_core.store.judgements import JudgementStore

    if with_traces and form == "csv":
        raise InputError("CSV has no room for traces. Take --format jsonl, or leave out --with-traces.")
    _check_there(store)
    kept = JudgementStore(store)
    lines = export_csv(kept) if form == "csv" else export_jsonl(kept, with_traces)
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
        return
    _write(out, lines, store)
    click.echo(f"{out}: {len(kept.current()):,} judgements.")


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@_STORE
def import_(file: Path, store: Path) -> None:
    """Bring exported judgements in: FILE is JSONL, with its traces or not, or CSV. Twice is once."""
    from rtv_core.store.importing import import_judgements

    done = import_judgements(file, store)
    known = f", {done.known:,} known already" if done.known else ""
    traces = f", {_counted(done.traces, 'new trace')}" if done.traces else ""
    click.echo(f"{store}: {_counted(done.judgements, 'new judgement')}{known}{traces}.")


@command.command()
@click.argument("other", type=click.Path(path_type=Path))
@_STORE
def merge(other: Path, store: Path) -> None:
    """Bring in all of another database: runs, queues, verdicts and their history. Twice is once."""
    from rtv_core.store.merging import merge

    done = merge(other, store)
    parts = (
        (done.judgements, "verdict"),
        (done.steps, "undo or redo step"),
        (done.runs, "run"),
        (done.questions, "question"),
        (done.queues, "queue"),
        (done.claims, "claim"),
        (done.traces, "trace"),
    )
    said = ", ".join(_counted(count, name) for count, name in parts if count)
    click.echo(f"{store}: {said} added." if said else f"{store}: nothing was new.")
    for name, longer in done.renamed:
        click.echo(f"{name!r} is kept as {longer!r}: another one has its name.")


@command.command()
@click.argument("out", type=click.Path(path_type=Path))
@_STORE
def backup(out: Path, store: Path) -> None:
    """Copy the whole database to a new file, also while others write."""
    from rtv_core.store.judgements import JudgementStore

    _check_there(store)
    JudgementStore(store).backup(out)
    click.echo(f"{out}: a backup of {store}, {out.stat().st_size:,} bytes.")


@command.command()
@click.argument("backup", type=click.Path(path_type=Path))
@_STORE
def restore(backup: Path, store: Path) -> None:
    """Put a BACKUP where no database is; nothing is ever overwritten."""
    from rtv_core.store.copies import restore
    from rtv_core.store.judgements import JudgementStore

    restore(backup, store)
    click.echo(f"{store}: restored, {len(JudgementStore(store).current()):,} judgements.")


@command.command()
@click.option("--run", "run_name", required=True, help="The run whose gold is corrected, by name or id.")
@with_counting
@_STORE
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A JSON file.")
def gold(
    run_name: str,
    every_verdict: bool,
    adjudicator: tuple[str, ...],
    across_runs: bool,
    store: Path,
    out: Path,
) -> None:
    """Write a run's gold, corrected by the verdicts, in AmbigQA's format."""
    from collections import defaultdict

    from rtv_core.analysis.corrected import correct_gold
    from rtv_core.analysis.rulings import settle
    from rtv_core.annotation.export import ambigqa_file, corrected_ambigqa, fits_ambigqa
    from rtv_core.store.judgements import JudgementStore
    from rtv_core.store.runs import RunStore

    _check_there(store)
    runs = RunStore(store)
    questions = runs.questions(runs.run(run_name).id)
    counting = counting_of(every_verdict, adjudicator, across_runs)
    corrected = correct_gold(questions, settle(JudgementStore(store).current(), counting))
    ids = {question.position: question.question.id for question in questions}
    added = defaultdict(list)
    for addition in corrected.additions:
        added[ids[addition.position]].append((addition.answer, addition.gold))
    fitting = [question for question in corrected.questions if fits_ambigqa(question)]
    if not fitting:
        raise InputError(
            f"The run {run_name!r} has no question with gold answers: there is no gold to write."
        )
    _write(out, ambigqa_file(corrected_ambigqa(fitting, added)), store)
    answers = sum(not addition.gold for addition in corrected.additions)
    spellings = len(corrected.additions) - answers
    click.echo(
        f"{out}: {_counted(len(fitting), 'question')}; {_counted(answers, 'answer')} and "
        f"{_counted(spellings, 'spelling')} added on {len(added):,} of them."
    )
    for count, noun, why in (
        (
            len(questions) - len(fitting),
            "question",
            "gold unknown, or “no answer”: the format can't say so",
        ),
        (len(corrected.split), "answer", "annotators disagree on it"),
        (len(corrected.unresolved), "variant", "what it is said to spell is no gold answer"),
    ):
        if count:
            click.echo(f"Left out: {_counted(count, noun)} ({why}).")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _check_there(store: Path) -> None:
    if not store.is_file():
        raise MissingError(f"There are no judgements in {store}. Name the file by --store.")


SQLITE = b"SQLite format 3\0"
"""How every database begins."""


def _write(out: Path, lines: Iterable[str], store: Path) -> None:
    if out.exists() and out.samefile(store):
        raise InputError(f"{out} is the database itself. Name another file by --out.")
    try:
        if not out.exists() or out.is_file():
            _write_whole(out, lines)
        else:  # a device or a pipe
            with out.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror}. Name another file by --out.") from error


def _write_whole(out: Path, lines: Iterable[str]) -> None:
    """All of it or nothing: what was there stays until the last line is written. Never over a database."""
    if out.is_file():
        with out.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                raise InputError(f"{out} is a database. Name another file by --out.")
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)

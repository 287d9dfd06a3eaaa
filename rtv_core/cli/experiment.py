"""`experiment`: the papers' tables and figures, made again; one command each."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from rtv_core.cli.options import STORE, stay_offline, with_settings
from rtv_core.errors import InputError
from rtv_core.experiments import TITLES
from rtv_core.settings import Settings, load_settings

if TYPE_CHECKING:
    from rtv_core.experiments.bench import Bench
    from rtv_core.experiments.table import Table

__all__ = ["command", "command_line", "show"]

PATH = click.Path(path_type=Path)


@click.group("experiment")
def command() -> None:
    """The papers' tables and figures, made again. Answers are asked for once and kept in the store."""


def _experiment(name: str) -> click.Command:
    """The command of one experiment; all have the same options."""

    @click.command(name, help=f"{TITLES[name]}.", short_help=TITLES[name])
    @with_settings
    @click.option("--questions", type=PATH, help="With gold answers; without an index, the demo's.")
    @click.option(
        "--baseline",
        "baselines",
        multiple=True,
        type=PATH,
        help="Another system: the folder of a trained baseline, or a profile.",
    )
    @click.option("--limit", type=click.IntRange(1), default=None, help="Only the first so many questions.")
    @click.option("--run", "run", default="", help="The run that `evaluate` kept: use its answers.")
    @click.option("--store", type=PATH, default=STORE, show_default=True, help="Where runs are kept.")
    @click.option("--out", type=PATH, help="A folder for the table, its figures and its plots.")
    def experiment(
        index: Path | None,
        profile: str,
        overrides: tuple[str, ...],
        questions: Path | None,
        baselines: tuple[Path, ...],
        limit: int | None,
        run: str,
        store: Path,
        out: Path | None,
    ) -> None:
        settings = load_settings(profile, overrides)
        with_clusters = name == "ri2ver"
        bench = _bench(index, settings, questions, baselines, limit, run, store, with_clusters)
        show(name, bench, out, command_line(click.get_current_context()))

    return experiment


for _name in TITLES:
    command.add_command(_experiment(_name))


def show(name: str, bench: Bench, out: Path | None, made_by: str = "") -> None:
    """Run an experiment, print its table and, with `out`, write it there, with the command it was made by."""
    from rtv_core.experiments.catalogue import EXPERIMENTS
    from rtv_core.experiments.markdown import markdown
    from rtv_core.experiments.results import COMMAND

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    table = EXPERIMENTS[name](bench)
    click.echo(markdown(table), nl=False)
    if out is not None:
        known = ((COMMAND, made_by),) if made_by else ()
        _write(replace(table, provenance=(*table.provenance, *known)), out)


def command_line(context: click.Context) -> str:
    """The command with the options that were given, as one could type it again where the files lie.

    Paths are told as `told_path` tells them: the result may be shown to others.
    """
    from rtv_core.experiments.results import told_path

    words = ["python", "-m", "rtv_core", "experiment", str(context.info_name)]
    for option in context.command.params:
        if context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
            value = context.params[str(option.name)]
            for each in value if option.multiple else (value,):
                words += [option.opts[0], told_path(each) if isinstance(each, Path) else str(each)]
    return shlex.join(words)


def _bench(
    index: Path | None,
    settings: Settings,
    questions: Path | None,
    baselines: tuple[Path, ...],
    limit: int | None,
    run: str,
    store: Path,
    with_clusters: bool,
) -> Bench:
    if index is not None and questions is None:
        raise InputError("An index needs questions to ask of it. Name a file of them by --questions.")
    stay_offline()
    from rtv_core.baselines.offers import Systems, offers
    from rtv_core.datasets import find_clusters, load_questions
    from rtv_core.experiments.bench import Bench
    from rtv_core.factory import DEMO_QUESTIONS, MODELS, load_models

    source = questions or DEMO_QUESTIONS.with_name("complete.jsonl")
    if index is not None:
        from rtv_core.retrieval.manifest import read_manifest

        read_manifest(index)  # says that there is no index before anything is loaded
    return Bench(
        label=source.name.split(".")[0] if questions else "demo",
        questions=tuple(load_questions(source)),
        settings=settings,
        load=lambda: load_models(index),
        store=store,
        systems=Systems(offers(baselines, MODELS, settings.reader.backend)),
        limit=limit,
        run=run,
        clusters=find_clusters(source) if with_clusters else {},
        progress=_progress(),
    )


def _progress():
    """A progress callback that begins a new bar wherever something else is being done."""
    from tqdm import tqdm

    bars: dict[str, tqdm] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what not in bars and done < total:
            bars[what] = tqdm(desc=what, total=total, initial=done, unit=" questions", dynamic_ncols=True)
        if bar := bars.get(what):
            bar.update(done - bar.n)
            if done >= total:
                bars.pop(what).close()

    return progress


def _write(table: Table, out: Path) -> None:
    from rtv_core.experiments.drawing import draw
    from rtv_core.experiments.markdown import markdown
    from rtv_core.wire import to_json

    files = {f"{table.name}.md": markdown(table), f"{table.name}.json": to_json(table, indent=1) + "\n"}
    for number, chart in enumerate(table.charts, start=1):
        end = "" if number == 1 else f"-{number}"
        files[f"{table.name}{end}.svg"] = draw(chart)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    click.echo(f"Wrote {', '.join(str(out / name) for name in files)}.", err=True)

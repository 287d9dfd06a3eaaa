"""`train retriever`, `train t5-recaller`, `train t5-verifier`: the paper's own system, stage by stage."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtv_core.cli.options import progress_bar, stay_offline

if TYPE_CHECKING:
    from rtv_core.training.recipes import Recipe

__all__ = ["commands"]

PATH = click.Path(path_type=Path)


def _stage_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--set", "overrides", multiple=True, metavar="NAME=VALUE", help="One value of the recipe."
        ),
        click.option(
            "--recipe", default="t5-base", show_default=True, help="t5-3b, t5-base, fast or a TOML file."
        ),
        click.option(
            "--from", "base", default=None, help="A folder or hub id, instead of the recipe's base."
        ),
        click.option(
            "--local", is_flag=True, help="Never ask the hub: only folders, packages and what is cached."
        ),
        click.option("--dev", type=PATH, help="Dev questions with gold: stop early, keep the best weights."),
        click.option("--out", type=PATH, required=True, help="The trained model's folder."),
        click.option("--index", type=PATH, required=True, help="The corpus to retrieve from."),
        click.option("--questions", type=PATH, required=True, help="Training questions with gold."),
    ):
        command = option(command)
    return command


@click.command()
@_stage_options
def retriever(out: Path, **given: Any) -> None:
    """Fine-tune the retriever's encoder as DPR does. Stopped and started again, it goes on."""
    recipe, given = _prepared("retriever", **given)
    from rtv_core.training.run_t5 import run_retriever

    with progress_bar("steps") as progress:
        run_retriever(out=out, recipe=recipe, progress=progress, **given)
    click.echo(f"The encoder is in {out}. Now index with it: `python -m rtv_core index --encoder {out} ...`.")


@click.command("t5-recaller")
@_stage_options
def t5_recaller(out: Path, **given: Any) -> None:
    """Train the paper's recaller. To pre-train it, run it on NQ-open first and then --from that folder."""
    recipe, given = _prepared("recaller", **given)
    from rtv_core.training.run_t5 import run_t5_recaller

    with progress_bar("steps") as progress:
        run_t5_recaller(out=out, recipe=recipe, progress=progress, **given)
    click.echo(
        f"The recaller is in {out}. Next: `python -m rtv_core train t5-verifier --recaller {out} ...`."
    )


@click.command("t5-verifier")
@_stage_options
@click.option(
    "--recaller", type=PATH, required=True, help="The trained recaller, whose candidates it judges."
)
def t5_verifier(out: Path, recaller: Path, **given: Any) -> None:
    """Train the paper's verifier, and choose tau on --dev. Stopped and started again, it goes on."""
    recipe, given = _prepared("verifier", **given)
    from rtv_core.training.run_t5 import run_t5_verifier

    with progress_bar("steps") as progress:
        run_t5_verifier(recaller=recaller, out=out, recipe=recipe, progress=progress, **given)
    click.echo(f"The verifier is in {out}. Ask with both: `--profile {out / 'profile.toml'}`.")


commands = (retriever, t5_recaller, t5_verifier)


def _prepared(
    stage: str, recipe: str, overrides: tuple[str, ...], base: str | None, local: bool, **given: Any
) -> tuple[Recipe, dict[str, Any]]:
    """The stage's recipe, and the options that it does not hold."""
    stay_offline()
    if local:
        # The hub's client reads this when it is imported, which happens below; so it holds for every load.
        os.environ["HF_HUB_OFFLINE"] = "1"
    from rtv_core.training.recipes import load_recipe

    logging.getLogger("rtv_core").setLevel(logging.INFO)
    values = [*overrides, f"base={base}"] if base else overrides
    return load_recipe(recipe, stage, values), given

"""What several commands share: options, a progress bar, and that no library calls home."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

__all__ = ["STORE", "progress_bar", "stay_offline", "with_settings"]

STORE = "rtv.db"


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say which settings hold; the command gets `index`, `profile` and `overrides`."""

    @functools.wraps(command)
    def called(*values: Any, evidence: str | None, overrides: tuple[str, ...], **named: Any) -> Any:
        if evidence is not None:
            overrides = (f"evidence.source={evidence}", *overrides)
        return command(*values, overrides=overrides, **named)

    for option in (
        click.option(
            "--evidence",
            type=click.Choice(["retrieved", "fresh"]),
            help="A candidate is judged by the passages retrieved for the question, or by fresh ones of its "
            "own too. The same as --set evidence.source.",
        ),
        click.option("--set", "overrides", multiple=True, metavar="PART.NAME=VALUE", help="One setting."),
        click.option(
            "--profile", default="embedded", show_default=True, help="embedded, llm, t5, or a TOML file."
        ),
        click.option(
            "--index", type=click.Path(path_type=Path), help="An index; without it, the demo corpus."
        ),
    ):
        called = option(called)
    return called


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int | None], None]]:
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


def stay_offline() -> None:
    """No library calls home: models come from packages and folders unless a hub id is asked for."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

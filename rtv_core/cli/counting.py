"""Which verdicts count: the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rtv_core.analysis.rulings import Counting

__all__ = ["counting_of", "with_counting"]


def with_counting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `every_verdict`, `adjudicator` and `across_runs` to a command."""
    for option in (
        click.option(
            "--across-runs",
            is_flag=True,
            help="A verdict counts for every run that asks the same question, not only where it was given.",
        ),
        click.option(
            "--adjudicator", multiple=True, metavar="NAME", help="Whose verdicts settle the others'."
        ),
        click.option(
            "--every-verdict",
            is_flag=True,
            help="Count lone verdicts of people who could see score and gold, too.",
        ),
    ):
        command = option(command)
    return command


def counting_of(every_verdict: bool, adjudicator: tuple[str, ...], across_runs: bool) -> Counting:
    """The rule that the options ask for."""
    from rtv_core.analysis.rulings import Counting
    from rtv_core.store.validation import checked_name

    return Counting(not every_verdict, frozenset(map(checked_name, adjudicator)), across_runs)

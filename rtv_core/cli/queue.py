"""`queue`: draw what is to be judged from a run, and see what is drawn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from rtv_core.cli.options import STORE
from rtv_core.errors import MissingError
from rtv_core.records import QueuePlan

__all__ = ["command"]

STRATEGIES = ("paper", "uniform", "near-tau", "expected-value", "disagreement")
DEFAULT = QueuePlan()


@click.group("queue")
def command() -> None:
    """Queues of answers to judge."""


def _store_option(function):
    return click.option(
        "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Runs, judgements."
    )(function)


@command.command()
@click.option("--run", "run_name", required=True, help="The run to draw from, by name or id.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="paper", show_default=True)
@click.option("--count", type=click.IntRange(1), default=DEFAULT.count, show_default=True)
@click.option("--seed", type=int, default=DEFAULT.seed, show_default=True)
@click.option("--name", help="What to call the queue; without it, the strategy, count and seed.")
@click.option(
    "--overlap", type=click.IntRange(1), default=1, show_default=True, help="Annotators for each item."
)
@click.option("--open", "is_open", is_flag=True, help="Show score and gold before the verdict.")
@click.option(
    "--population",
    type=click.Choice(("errors", "wrong", "candidates", "all")),
    default=DEFAULT.population,
    show_default=True,
    help="Wrong predictions and missed gold; the first only; every candidate too; right predictions too.",
)
@click.option(
    "--unit",
    type=click.Choice(("candidate", "question")),
    default=DEFAULT.unit,
    show_default=True,
    help="What is drawn and counted: single answers, or questions with all theirs.",
)
@click.option(
    "--uniform-share",
    type=click.FloatRange(0.01, 1),
    default=DEFAULT.uniform_share,
    show_default=True,
    help="The share of the chances that is spread evenly.",
)
@click.option("--against", multiple=True, help="Another run of the same questions, for disagreement.")
@_store_option
def draw(
    run_name: str,
    strategy: str,
    count: int,
    seed: int,
    name: str | None,
    overlap: int,
    is_open: bool,
    population: str,
    unit: str,
    uniform_share: float,
    against: tuple[str, ...],
    store: Path,
) -> None:
    """Draw answers of a run, each with a known probability, and keep them as a queue."""
    _check(store)
    from rtv_core.annotation.queue import draw as draw_items
    from rtv_core.store.judgements import JudgementStore
    from rtv_core.store.queues import QueueStore
    from rtv_core.store.runs import RunStore

    strategy = strategy.replace("-", " ")
    plan = QueuePlan(strategy, count, seed, uniform_share, overlap, not is_open, population, unit)
    runs = RunStore(store)
    run, others = runs.run(run_name), [runs.questions(other) for other in against]
    judgements = JudgementStore(store).current()
    items = draw_items(runs.questions(run.id), plan, run.tau, judgements, others)
    name = name or f"{strategy}, {count}, seed {seed}"
    queue_id = QueueStore(store).create(run.id, plan, items, name)
    strata = Counter(item.stratum for item in items)
    parts = ", ".join(f"{strata[stratum]:,} × {stratum}" for stratum in sorted(strata))
    click.echo(f"{queue_id}  {name}: {len(items):,} items of the run {run.name} ({parts}).")


@command.command("list")
@click.option("--run", "run_name", help="Only the queues of this run, by name or id.")
@_store_option
def list_queues(run_name: str | None, store: Path) -> None:
    """Show the queues, oldest first."""
    _check(store)
    from rtv_core.store.queues import QueueStore
    from rtv_core.store.runs import RunStore

    runs = RunStore(store)
    run_id = None if run_name is None else runs.run(run_name).id
    names = {run.id: run.name for run in runs.runs()}
    for queue in QueueStore(store).queues(run_id):
        plan = queue.plan
        click.echo(
            f"{queue.id}  {queue.name}: {queue.items:,} items of the run {names[queue.run_id]}; "
            f"{plan.strategy}, {'blind' if plan.blind else 'open'}, overlap {plan.overlap}, "
            f"{queue.created_at[:10]}"
        )


def _check(store: Path) -> None:
    if not store.is_file():
        raise MissingError(f"There are no runs in {store}. Name the file by --store.")

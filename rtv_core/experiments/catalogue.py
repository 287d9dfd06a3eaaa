"""The experiments by name. A further one is a module with `run(bench)`, a title, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rtv_core.experiments import (
    figure4,
    figure5,
    ri2ver,
    section4,
    table2,
    table4,
    table5,
    table7,
    table9,
    table10,
)
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.table import Table

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Mapping[str, Callable[[Bench], Table]] = MappingProxyType(
    {
        "figure4": figure4.run,
        "figure5": figure5.run,
        "ri2ver": ri2ver.run,
        "section4": section4.run,
        "table10": table10.run,
        "table2": table2.run,
        "table4": table4.run,
        "table5": table5.run,
        "table7": table7.run,
        "table9": table9.run,
    }
)
"""What makes each table; the names are those of `experiments.TITLES`."""

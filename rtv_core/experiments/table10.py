"""Table 10: table 5 on WebQSP's questions."""

from __future__ import annotations

from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import SOURCE, TABLE_10
from rtv_core.experiments.table import Table
from rtv_core.experiments.table5 import sweep

__all__ = ["run"]


def run(bench: Bench) -> Table:
    """The sweep of `table5`, beside the figures on WebQSP."""
    return sweep(bench, "table10", "Table 10", TABLE_10, f"{SOURCE}, WebQSP dev")

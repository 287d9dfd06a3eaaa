"""The Experiments page: the papers' tables and figures, as `experiment` wrote them to a folder."""

from rtv_core.ui.experiments.page import add_experiments

__all__ = ["add_experiments"]

"""The Annotate page: a queue over a run, one item at a time."""

from rtv_core.ui.annotate.page import add_annotate

__all__ = ["add_annotate"]

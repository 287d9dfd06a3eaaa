"""The look of the Annotate page."""

from rtv_core.ui.annotate.render.choice import render_choices
from rtv_core.ui.annotate.render.frame import render_feed, render_head, render_name
from rtv_core.ui.annotate.render.item import render_additions, render_item
from rtv_core.ui.annotate.render.said import (
    Reveal,
    render_added,
    render_failed,
    render_finished,
    render_said,
    render_undone,
)

__all__ = [
    "Reveal",
    "render_added",
    "render_additions",
    "render_choices",
    "render_failed",
    "render_feed",
    "render_finished",
    "render_head",
    "render_item",
    "render_name",
    "render_said",
    "render_undone",
]

"""Records to HTML: what each part of the page looks like. All markup is written here, through `markup.tag`.

What is drawn is bounded (passages, candidates, characters), and says so. Sign and words for every state of a
candidate are in the markup, so that moving tau needs nothing from here.
"""

from rtv_core.ui.render.candidates import render_candidates, render_summary
from rtv_core.ui.render.evidence import render_empty_evidence, render_evidence, render_mentions
from rtv_core.ui.render.frame import render_examples, render_header, render_message, render_welcome
from rtv_core.ui.render.judging import (
    render_failure,
    render_judge,
    render_keys,
    render_saved,
    render_undone,
    render_unsaid,
)
from rtv_core.ui.render.passages import render_passages
from rtv_core.ui.render.place import render_place
from rtv_core.ui.render.second import render_second, render_second_result
from rtv_core.ui.render.stages import render_progress
from rtv_core.ui.render.whatif import can_take_away, render_no_whatif, render_whatif

__all__ = [
    "can_take_away",
    "render_candidates",
    "render_empty_evidence",
    "render_evidence",
    "render_examples",
    "render_failure",
    "render_header",
    "render_judge",
    "render_keys",
    "render_mentions",
    "render_message",
    "render_no_whatif",
    "render_passages",
    "render_place",
    "render_progress",
    "render_saved",
    "render_second",
    "render_second_result",
    "render_summary",
    "render_undone",
    "render_unsaid",
    "render_welcome",
    "render_whatif",
]

"""Events of the page of which only the last counts, such as choosing a candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["QUICK", "wire_latest"]

QUICK = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""How events are sent that need no model: past the queue, so that a running question doesn't hold them up."""


def wire_latest(
    bridge: Any, name: str, handler: Callable[..., Any], inputs: Any, outputs: Any, **options: Any
) -> Any:
    """Wire a bridge's event that the page sends through `rtv.latest`, and tell the page of each answer.

    Gradio's own trigger modes don't do: "once" drops a request while another is under way, and "always_last"
    sends a deferred one with the data of an earlier event. So the page holds back itself, see latest.js.
    `options` are those of a Gradio event, by default `QUICK`. Returns the wired event, to go on from.
    """
    event = getattr(bridge, name)
    wired = event(handler, inputs, outputs, trigger_mode="multiple", **(options or QUICK))
    wired.then(None, None, None, js=f"() => window.rtv?.answered?.({name!r})", **QUICK)
    return wired

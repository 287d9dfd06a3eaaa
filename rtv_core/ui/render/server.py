"""What pages about the server itself share: commands, moments, sizes, times left, and bars."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

from rtv_core.ui.markup import Markup, tag

__all__ = ["bar", "command", "moment", "none_yet", "quoted", "size_text", "time_left"]

PROGRAM = "python -m rtv_core"
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def none_yet(*words: str | None) -> Markup:
    """What a section says that has nothing to show."""
    return tag("p", *words, class_="none")


def command(text: str) -> Markup:
    """A command of this program, to be copied."""
    return tag("code", f"{PROGRAM} {text}", class_="command")


def quoted(path: Path) -> str:
    """A path as it goes into a command."""
    return shlex.quote(str(path))


def moment(at: str) -> Markup:
    """A time (ISO 8601) in the server's time zone."""
    local = datetime.fromisoformat(at).astimezone()
    return tag("time", f"{local:%Y-%m-%d %H:%M}", datetime=at)


def size_text(size: int) -> str:
    """Bytes in the unit that fits, of a thousand each."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {UNITS[unit]}" if unit else f"{size} bytes"


def time_left(seconds: float) -> str:
    """A time to come in whole minutes, or in hours; at least a minute."""
    minutes = max(round(seconds / 60), 1)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def bar(done: int, of: int, label: str) -> Markup:
    """How much of a whole is done; full where there is nothing to do."""
    return tag(
        "span",
        tag("i", style=f"width:{100 * done / of if of else 100:.1f}%"),
        class_="bar",
        role="img",
        aria_label=f"{label}: {done:,} of {of:,}",
    )

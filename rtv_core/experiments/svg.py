"""The few SVG parts that charts are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

__all__ = ["LEFT", "LEGEND_ROW", "RIGHT", "TICKS", "WIDTH", "dash", "page", "round_ticks", "stroke", "text"]

WIDTH = 640
LEFT, RIGHT = 56, 16
LEGEND_ROW = 20
TICKS = 5


def page(title: str, told: str, height: int, parts: Iterable[str]) -> str:
    """A whole picture with its heading; `told` says in words what it shows."""
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="13">'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    heading = text(LEFT, 20, title, weight="600")
    return "\n".join((start, f"<title>{escape(told)}</title>", ground, heading, *parts, "</svg>")) + "\n"


def round_ticks(low: float, high: float) -> list[float]:
    """About `TICKS` round numbers that reach from `low` to `high`."""
    rough = (high - low) / TICKS or 1.0
    unit = 10 ** math.floor(math.log10(rough))
    step = next((unit * m for m in (1, 2, 5) if unit * m >= rough * 0.999), unit * 10)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, max(last, first + 1) + 1)]


def dash(dashes: str) -> str:
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def stroke(
    x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "", width: float = 1
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"{dash(dashes)}/>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "", weight: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="#1a1f26"{bold}{more}>{escape(words)}</text>'

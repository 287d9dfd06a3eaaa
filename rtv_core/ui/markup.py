"""HTML that is safe by construction: what is not `Markup` is escaped when it goes in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["Markup", "escape", "join", "marked", "spoken", "tag"]

_VISIBLE = {i: 0x2400 + i for i in range(32) if chr(i) not in "\t\n\r"} | {0x7F: 0x2421}
_VOID = frozenset(("br", "hr", "input"))


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


def escape(text: str, most: int | None = None) -> Markup:
    """Text as HTML: quotes too, control characters made visible, cut after `most` characters."""
    if most is not None and len(text) > most:
        text = text[:most] + "…"
    text = text.translate(_VISIBLE).encode("utf-8", "replace").decode("utf-8")
    return Markup(html.escape(text, quote=True))


def join(parts: Iterable[str | None]) -> Markup:
    """The parts one after another; plain strings are escaped, None is left out."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p) for p in parts if p is not None))


def tag(name: str, *children: str | None, **attributes: object) -> Markup:
    """An element. `data_key="x"` is data-key="x", `class_` is class; None and False leave one out."""
    written = []
    for attribute, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = attribute.rstrip("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"')
    start = f"<{name}{''.join(written)}>"
    return Markup(start if name in _VOID else f"{start}{join(children)}</{name}>")


def spoken(text: str) -> Markup:
    """Text for screen readers only."""
    return tag("span", text, class_="sr")


def marked(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """The text with the characters [start, end) of each span in <mark>; overlapping spans are one."""
    united: list[list[int]] = []
    for start, end in sorted(spans):
        start, end = max(start, 0), min(end, len(text))
        if united and start < united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        elif start < end:
            united.append([start, end])
    parts, at = [], 0
    for start, end in united:
        parts += [text[at:start], tag("mark", text[start:end])]
        at = end
    return join([*parts, text[at:]])

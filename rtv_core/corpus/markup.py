"""HTML and Markdown to a title and running text: what a reader of the page would see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import regex

from rtv_core.corpus.intake import BadRecord
from rtv_core.corpus.prose import decode, one_line, paragraphs

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["read_html", "read_markdown"]

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

# Elements that begin a paragraph and end it; that only part words; whose text the page doesn't say.
_PARTS = regex.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|div|dl|dt|fieldset|figcaption|figure|form"
    "|h[1-6]|header|hr|html|legend|li|main|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_CELLS = regex.compile("br|td|th")
_UNREAD = regex.compile(
    "applet|audio|button|canvas|datalist|dialog|embed|footer|frame|frameset|iframe|input|nav|noscript"
    "|object|option|script|select|style|svg|template|textarea|title|video"
)

# What a page may declare beside UTF-8 and Latin-1; Python knows encodings that no page should use.
_LEGACY = regex.compile(
    "big5|euc-jp|euc-kr|gb18030|gb2312|gbk|koi8-[ru]|shift_jis|windows-125[0-8]|iso-8859-(?:[2-8]|1[03-6])"
)

_UNSHOWN = regex.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", regex.IGNORECASE)
_CHARSET = regex.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", regex.IGNORECASE)
_FRONT_MATTER = regex.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", regex.DOTALL)
_FRONT_TITLE = regex.compile(r"^title[ \t]*:[ \t]*(.+)$", regex.MULTILINE | regex.IGNORECASE)


def read_html(data: bytes) -> tuple[str, str]:
    """The title (that of the head, else the first heading, else "") and the text of a page.

    Only the <main> is read if there is just one. Scripts, styles, navigation, fields and what is not shown
    are dropped, entities decoded. Raises BadRecord for an encoding that can't be told, or a page nested too
    deeply.
    """
    root = _parse(decode(data, _declared(data)))
    if root is None:
        return "", ""
    title = one_line(root.findtext(".//head/title") or "")
    mains = root.findall(".//main")
    return _read(mains[0] if len(mains) == 1 else root, title)


def read_markdown(data: bytes) -> tuple[str, str]:
    """The title (that of the front matter, else the first heading, else "") and the text of a note.

    HTML inside is read as `read_html` does. Raises BadRecord for an encoding that isn't UTF-8 or UTF-16.
    """
    from markdown_it import MarkdownIt

    text, title = decode(data).replace("\r\n", "\n"), ""
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        if found := _FRONT_TITLE.search(front[1]):
            title = one_line(found[1]).strip("\"' ")
    root = _parse(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))
    return ("", "") if root is None else _read(root, title)


def _declared(data: bytes) -> str:
    """The encoding that a page says it is in, "" for none or one that isn't for pages."""
    found = _CHARSET.search(data[:4096])
    name = found[1].decode("ascii", "replace").lower() if found else ""
    if name in ("iso-8859-1", "latin1", "us-ascii", "ascii"):
        return "windows-1252"  # as browsers read these
    return name if _LEGACY.fullmatch(name) else ""


def _parse(markup: str) -> _Element | None:
    # Not Python's own html.parser, which takes time that grows with the square of hostile input.
    from lxml import etree

    if not markup.strip():
        return None
    options = {"remove_comments": True, "remove_pis": True, "no_network": True, "huge_tree": True}
    parser = etree.HTMLParser(encoding="utf-8", **options)
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise BadRecord(f"markup that can't be read ({error})") from error
    if any(entry.level >= etree.ErrorLevels.FATAL for entry in parser.error_log):
        raise BadRecord(f"markup that can't be read ({parser.error_log[-1].message[:80]})")
    return root


def _read(root: _Element, title: str) -> tuple[str, str]:
    if title:
        return title, _text(root)
    headings = (part for event, part in _seen(root) if event == "start" and part.tag in HEADINGS)
    heading = next((part for part in headings if _text(part)), None)
    if heading is None:
        return "", _text(root)
    return one_line(_text(heading)), _text(root, heading)


def _text(root: _Element, without: _Element | None = None) -> str:
    """The text inside `root`, a paragraph a line."""
    pieces = []
    for event, part in _seen(root, without):
        pieces.append("\n\n" if _PARTS.fullmatch(part.tag) else " " if _CELLS.fullmatch(part.tag) else "")
        if event == "start":
            pieces.append(_flat(part.text))
        elif part is not root:
            pieces.append(_flat(part.tail))
    return paragraphs("".join(pieces))


def _seen(root: _Element, without: _Element | None = None) -> Iterator[tuple[str, _Element]]:
    """ "start" and "end" of what is shown; of what is not, or is `without`, the end alone."""
    from lxml import etree

    walk = etree.iterwalk(root, events=("start", "end"))
    for event, part in walk:
        if event == "start" and (part is without or not _shown(part)):
            walk.skip_subtree()
        else:
            yield event, part


def _shown(element: _Element) -> bool:
    return not (
        _UNREAD.fullmatch(element.tag)
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or _UNSHOWN.search(element.get("style", ""))
    )


def _flat(text: str | None) -> str:
    """`text` without blank lines: in HTML they part nothing."""
    return regex.sub(r"\s+", " ", text) if text else ""

"""Bytes to running text: decoded or refused, a paragraph a line, nothing in it that can't be stored."""

from __future__ import annotations

import codecs
import unicodedata

import regex

from rtv_core.corpus.intake import BadRecord

__all__ = ["decode", "one_line", "paragraphs", "shown_path"]

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16's, which is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_GAP = regex.compile(r"\n\s*\n|\f|\u2029")
_UNSEEN = regex.compile(r"[\p{Cc}\u00AD\uFEFF--\s]", regex.VERSION1)
_HALF = regex.compile(r"\p{Cs}")


def decode(data: bytes, declared: str = "") -> str:
    """The text of UTF-8, or in the encoding of a byte order mark or, failing all that, in that `declared`.

    Raises BadRecord for bytes in another encoding or with a NUL, which is no text.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _text(data[len(mark) :], encoding)
    try:
        return _text(data, "utf-8")
    except BadRecord:
        if not declared:
            raise
    return _text(data, declared)


def paragraphs(text: str) -> str:
    """Paragraphs, which blank lines part, a line each, single spaces inside.

    Line breaks inside a paragraph are taken for those of a narrow page. Control characters, soft hyphens and
    byte order marks are dropped; half a character (a lone surrogate) becomes a replacement character.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = (one_line(part) for part in _GAP.split(text))
    return "\n".join(line for line in lines if line)


def one_line(text: str) -> str:
    """`text` as `paragraphs` leaves a single one."""
    if not text.isascii():
        text = _HALF.sub("\ufffd", text)
    return " ".join(_UNSEEN.sub("", text).split())


def shown_path(path: str) -> str:
    """A path or name that can be stored and shown: no control characters, none that turn the text around."""
    return "".join("\ufffd" if unicodedata.category(sign)[0] == "C" else sign for sign in path)


def _text(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        at = f" at byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else ""
        raise BadRecord(f"not {encoding.upper()}{at}; save it as UTF-8") from error
    if "\0" in text:
        raise BadRecord("a NUL: it is no text, or UTF-16 without a byte order mark")
    return text

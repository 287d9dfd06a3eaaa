"""PDF to a title and running text: pages and lines joined, running heads, leaders and hyphens taken out."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import regex

from rtv_core.corpus.intake import BadRecord
from rtv_core.corpus.prose import one_line, paragraphs

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["read_pdf"]

RUNNING_PAGES = 3
RUNNING_SHARE = 1 / 3
"""A first or last line that comes back on so many pages, digits aside, is a running head."""

LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"},
)

_SPLIT_WORD = regex.compile(r"(?<=\p{Ll})(?:-|\u00AD)[ \t]*\n[ \t]*(?=\p{Ll})")
_LEADERS = regex.compile(r"(?:[.·…] ?){5,}")  # between a chapter's name and its page
_DIGITS = regex.compile(r"\d+")
_PROGRAM = regex.compile(
    r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )|^(?:untitled|title|document\d*)$", regex.I
)
_FILE_NAME = regex.compile(r"\.(?:docx?|odt|rtf|pptx?|xlsx?|tex|dvi|ps|pdf|indd|qxd|pmd)$", regex.I)


def read_pdf(data: bytes, pages: int, characters: int) -> tuple[str, str]:
    """The title ("" if the metadata have none that a person wrote) and the text of a PDF.

    Raises BadRecord for one that is damaged, encrypted, without text or has more than so many pages or
    characters. What it holds compressed is bounded by pypdf's own limits.
    """
    from pypdf.errors import DependencyError, FileNotDecryptedError

    if b"%PDF-" not in data[:1024]:
        raise BadRecord("no PDF")
    try:
        reader = _open(data, pages)
        texts = _page_texts(reader, characters)
        title = _title(reader)
    except (DependencyError, FileNotDecryptedError) as error:
        raise BadRecord("encrypted; save a copy without protection") from error
    except BadRecord:
        raise
    except Exception as error:  # hostile bytes make a parser fail in any way
        raise BadRecord(f"a damaged PDF ({type(error).__name__}: {str(error)[:100]})") from error
    if not any(text.strip() for text in texts):
        count = f"{len(texts):,} pages are" if len(texts) != 1 else "page is"
        raise BadRecord(f"no text: its {count} pictures, as a scan's; let an OCR program add the text")
    return title, _running_text(texts)


def _open(data: bytes, pages: int) -> PdfReader:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if (count := len(reader.pages)) > pages:
        raise BadRecord(f"{count:,} pages; the most is {pages:,}; split it")
    return reader


def _page_texts(reader: PdfReader, characters: int) -> list[str]:
    texts, length = [], 0
    for page in reader.pages:
        texts.append(page.extract_text())
        length += len(texts[-1])
        if length > characters:
            raise BadRecord(f"more than {characters:,} characters; split it")
    return texts


def _title(reader: PdfReader) -> str:
    try:
        metadata = reader.metadata
        title = one_line(str((metadata and metadata.title) or ""))
    except Exception:  # damaged metadata spoil no text
        return ""
    return "" if _PROGRAM.search(title) or _FILE_NAME.search(title) else title


def _running_text(texts: Sequence[str]) -> str:
    pages = _without_running_heads([text.strip().splitlines() for text in texts])
    text = "\n".join(line.rstrip() for page in pages for line in page)
    return paragraphs(_LEADERS.sub(" ", _SPLIT_WORD.sub("", text.translate(LIGATURES))))


def _without_running_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    """The pages without a first or last line that most of their neighbours have too, and page numbers."""
    edges = Counter(_shape(page[at]) for at in (0, -1) for page in pages if len(page) > 1)
    often = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    running = {shape for shape, count in edges.items() if count >= often}
    kept = []
    for page in pages:
        if len(page) > 1 and _shape(page[0]) in running:
            page = page[1:]
        if len(page) > 1 and _shape(page[-1]) in running:
            page = page[:-1]
        kept.append(page)
    return kept


def _shape(line: str) -> str:
    return _DIGITS.sub("0", line.strip())

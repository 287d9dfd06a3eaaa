"""Passages as data: fenced by a code that their writers could not know, and searched for instructions.

The code of a prompt is a keyed hash of all that the prompt quotes. The key is random and stays on this
machine, so a passage can't contain its own code; the same prompt has the same code, so that its reply can be
cached. The model has to repeat the code in its reply: a reply that only does what a passage says lacks it,
and no parser accepts it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from rtv_core.records import Passage

__all__ = ["code_of", "fence", "instructions_in", "one_line"]

CODE_BYTES = 4

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_CHAT_MARKS = re.compile(r"<\||\|>|<(?=/?s>)|\[(?=/?INST\])|<(?=/?(?:start|end)_of_turn>)|<(?=/?think>)")
"""What some servers read as the start of another speaker's turn."""

_INSTRUCTION = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}
        \b(?:above|previous|prior|preceding|earlier|instructions?|prompts?|rules|context)\b
    | \b(?:answer|reply|respond|output|say|print|write|return)\s+(?:only\s+|just\s+|simply\s+|always\s+)*
        (?:with\s+)?(?:["'“‘]\s*)?(?:yes|no)\b
    | \b(?:system|developer)\s+(?:prompt|message|instructions?)\b
    | \byou\s+are\s+(?:now\s+)?(?:an?\s+)?(?:AI|assistant|language\s+model|chatbot)\b
    | \b(?:as\s+an?\s+)(?:AI|language\s+model)\b
    | \bnew\s+instructions?\s*:
    | ^\s*(?:system|assistant|user)\s*:
    | <\|[a-z_]+\|> | \[/?INST\] | </?(?:system|instructions?|assistant)>
    | \#{2,}\s*(?:instructions?|system)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def code_of(secret: bytes, *quoted: str) -> str:
    """The code of a prompt that quotes these texts: eight hex digits."""
    digest = hashlib.blake2s(key=secret, digest_size=CODE_BYTES)
    for text in quoted:
        data = text.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def fence(passages: Sequence[Passage], code: str) -> str:
    """The passages one after another, each between two marks that carry the code."""
    return "\n\n".join(
        f"<passage {number} {code}>\nTitle: {one_line(passage.title, 300)}\n{_plain(passage.text)}\n"
        f"</passage {number} {code}>"
        for number, passage in enumerate(passages, start=1)
    )


def one_line(text: str, most: int) -> str:
    """The text on one line, `most` characters at most, without marks that a server would read as its own."""
    return " ".join(_plain(text).split())[:most]


def instructions_in(text: str) -> list[tuple[int, int]]:
    """Characters [start, end) that look like an instruction to a reader of the text.

    A sign to look, not a proof: a passage about language models can have some, and not every attack has.
    """
    return [match.span() for match in _INSTRUCTION.finditer(text)]


def _plain(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a character can't be sent
    return _CHAT_MARKS.sub(lambda match: " ".join(match.group()) + " ", _CONTROL.sub(" ", text))

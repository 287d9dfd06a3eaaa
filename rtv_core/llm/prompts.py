"""Prompts: one file each in `assets/prompts`, with a version; filled so that data can't add fields.

A file has a head of `name: value` lines (`version`, `says`), then the parts `=== system` and `=== user`. A
field is `{{name}}`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rtv_core.errors import MissingError

__all__ = ["PROMPTS", "Prompt", "load_prompt", "prompts_fingerprint"]

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "prompts"

PROMPTS = ("read", "read-together", "question", "judge", "judge-directly")
"""Read one passage; read all; write a verification question; judge by it; judge without one."""

_PART = re.compile(r"^=== (system|user)\n", re.MULTILINE)
_FIELD = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as its file has it. `says` is what it does, in one line for people."""

    name: str
    version: str
    says: str
    system: str
    user: str

    @property
    def title(self) -> str:
        """Name and version, as records keep it."""
        return f"{self.name} {self.version}"

    def fill(self, values: Mapping[str, str]) -> tuple[str, str]:
        """System and user message. Raises KeyError for a field without a value."""
        return tuple(_FIELD.sub(lambda m: values[m.group(1)], part) for part in (self.system, self.user))


@cache
def load_prompt(name: str, folder: Path = FOLDER) -> Prompt:
    """The prompt of that name. Raises MissingError for a file that isn't there or lacks a part."""
    path = folder / f"{name}.txt"
    if not path.is_file():
        raise MissingError(f"There is no prompt {path}. Take it from the repository.")
    head, *parts = _PART.split(path.read_text(encoding="utf-8"))
    facts = dict(line.split(": ", 1) for line in head.strip().splitlines())
    texts = {part: text.strip() for part, text in zip(parts[::2], parts[1::2], strict=True)}
    if missing := {"version", "says", "system", "user"} - set(facts) - set(texts):
        raise MissingError(f"{path} lacks {', '.join(sorted(missing))}. Take it from the repository.")
    return Prompt(name, facts["version"], facts["says"], texts["system"], texts["user"])


def prompts_fingerprint() -> str:
    """A hash over all prompts, for provenance."""
    prompts = [load_prompt(name) for name in PROMPTS]
    text = "\0".join(f"{p.title}\0{p.system}\0{p.user}" for p in prompts)
    return hashlib.sha256(text.encode()).hexdigest()

"""Which language model is asked: from the environment only, so that no key lies in a profile, log or store.

RTV_LLM_BASE_URL   an OpenAI-compatible server, e.g. http://127.0.0.1:11434/v1
RTV_LLM_MODEL      what the server calls the model
RTV_LLM_API_KEY    the server's key; local servers need none
RTV_LLM_LOCAL      instead of a server: a folder of a transformers model, or a GGUF file
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from rtv_core.errors import MissingError, SettingError

__all__ = ["LLMAddress", "llm_address"]

NO_KEY = "none"


@dataclass(frozen=True)
class LLMAddress:
    """Where the model is. Exactly one of `base_url` (with `model`) and `local` says something."""

    base_url: str = ""
    model: str = ""
    local: str = ""
    key: str = field(default=NO_KEY, repr=False)

    @property
    def place(self) -> str:
        """The server's address without name and password, or the local path."""
        if self.local:
            return self.local
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def llm_address(environment: Mapping[str, str] | None = None) -> LLMAddress:
    """The address that the environment names.

    Raises MissingError if it names none, SettingError for one that can't be used.
    """
    given = os.environ if environment is None else environment
    local, base_url = given.get("RTV_LLM_LOCAL", "").strip(), given.get("RTV_LLM_BASE_URL", "").strip()
    model = given.get("RTV_LLM_MODEL", "").strip()
    if local and base_url:
        raise SettingError("RTV_LLM_LOCAL and RTV_LLM_BASE_URL both name a model. Unset one of them.")
    if local:
        return LLMAddress(local=local, model=model)
    if not base_url or not model:
        raise MissingError(
            "No language model is named. Set RTV_LLM_BASE_URL (e.g. http://127.0.0.1:11434/v1) and "
            "RTV_LLM_MODEL, and RTV_LLM_API_KEY where the server wants a key; assets/llm.md shows how."
        )
    if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
        raise SettingError(
            "RTV_LLM_BASE_URL is no address of a server. Write it as http://127.0.0.1:11434/v1."
        )
    return LLMAddress(base_url, model, key=given.get("RTV_LLM_API_KEY", "").strip() or NO_KEY)

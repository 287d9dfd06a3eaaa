"""The language model that the environment names, ready to be asked; one object for the same settings."""

from __future__ import annotations

from functools import lru_cache

from rtv_core.llm.cache import ReplyCache, cache_file
from rtv_core.llm.chat import ChatEndpoint
from rtv_core.llm.client import LLM
from rtv_core.llm.environment import LLMAddress, llm_address
from rtv_core.llm.local import LocalEndpoint
from rtv_core.settings import CallSettings

__all__ = ["open_llm"]


def open_llm(settings: CallSettings) -> LLM:
    """The model; connects to nothing yet. The same settings give the same object, with its budget and counts.

    Raises MissingError or SettingError where the environment names none or a wrong one.
    """
    return _open(llm_address(), settings)


@lru_cache(maxsize=8)
def _open(address: LLMAddress, settings: CallSettings) -> LLM:
    endpoint = LocalEndpoint(address.local) if address.local else ChatEndpoint(address, settings.stream)
    return LLM(endpoint, ReplyCache(cache_file(settings.cache)), settings)

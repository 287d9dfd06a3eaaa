"""A view as query parameters: `?q=...&profile=...&tau=...&k=...&candidate=...`, read with suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from rtv_core.errors import RtvError
from rtv_core.settings import Settings
from rtv_core.ui.parts import PARTS, has_parts, parts_on, switch_parts

__all__ = ["Link", "read_link", "write_settings"]

NAMES = {
    "tau": "verifier.tau",
    "k": "verifier.k",
    "single": "verifier.single_answer",
    "passages": "retriever.passages",
    "relevance": "recaller.relevance",
    "coverage": "evidence.coverage",
}
LONGEST_PARAMETER = 2000


@dataclass(frozen=True, slots=True)
class Link:
    """What a link asks for. `notice` says what of it could not be used; "" if all could."""

    question: str
    settings: Settings
    notice: str = ""


def read_link(parameters: Mapping[str, str], settings: Settings) -> Link:
    """The question and settings of a link, over the server's own; what is wrong there is left out."""
    notices = []
    for name, setting in NAMES.items():
        if (value := parameters.get(name)) is None:
            continue
        value = {"1": "true", "0": "false"}.get(value, value) if name == "single" else value
        try:
            settings = settings.with_values({setting: value[:LONGEST_PARAMETER]})
        except RtvError as error:
            notices.append(f"The link's {name} is left out: {error}")
    if (value := parameters.get("off")) is not None and has_parts(settings):
        off = value[:LONGEST_PARAMETER].split(",") if value else []
        settings = switch_parts(settings, [name for name in PARTS if name not in off])
        if unknown := [name for name in off if name not in PARTS]:
            notices.append(f"The link's off names no part that can be switched off: {unknown[0]!r:.60}.")
    profile = parameters.get("profile", settings.profile)
    if profile != settings.profile:
        notices.append(
            f"The link was made with the profile {profile[:80]!r}; this server runs {settings.profile!r}, "
            "so scores can differ."
        )
    return Link(parameters.get("q", "")[:LONGEST_PARAMETER], settings, " ".join(notices))


def write_settings(settings: Settings, defaults: Settings) -> str:
    """The part of a link that names the settings behind a trace, where they differ from the defaults."""
    values = {
        "passages": (settings.retriever.passages, defaults.retriever.passages),
        "relevance": (settings.recaller.relevance, defaults.recaller.relevance),
        "coverage": (settings.evidence.coverage, defaults.evidence.coverage),
    }
    link = {name: value for name, (value, default) in values.items() if value != default}
    if (on := parts_on(settings)) != parts_on(defaults):
        link["off"] = ",".join(name for name in PARTS if name not in on)
    return urlencode(link)

"""The systems that a page can set beside the pipeline: their names at once, their models when first wanted.

A further system is one more `Offer` in `offers`: a name, and a function that gives something of the shape of
`systems.Baseline`. Every profile of the settings is one already.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rtv_core.baselines.stages import CONCATENATED, JOINT, RERANKER
from rtv_core.baselines.systems import Baseline, OtherPipeline, PipelineLike, RecallerAlone
from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.settings import PROFILES, Settings, load_settings

__all__ = ["RECALLER_TAU", "VERDICTS", "Offer", "Pipelines", "Systems", "offers"]

RECALLER_TAU = 0.18
"""The recaller's best threshold on dev, where its card names none: that of the reader in this repository."""

VERDICTS = "language model's verdicts"
"""The name of the second verifier that the profile "llm" gives."""

CARD = "rtv.json"


class Pipelines(Protocol):
    """Where the pipeline of any settings can be had."""

    def pipeline(self, settings: Settings) -> PipelineLike: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A system by name. `load` gives the system; `needs_gold`: it can't answer without gold answers."""

    name: str
    load: Callable[[Pipelines], Baseline]
    needs_gold: bool = False


class Systems:
    """The offers of a server. Each system is loaded once, when it is first wanted."""

    def __init__(self, offered: Sequence[Offer]) -> None:
        self._offers = {offer.name: offer for offer in offered}
        if len(self._offers) < len(offered):
            raise InputError("Two systems to compare with have one name. Name each folder or profile once.")
        self._loaded: dict[str, Baseline] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order they are offered."""
        return tuple(self._offers)

    def needs_gold(self, name: str) -> bool:
        """Whether the system can't answer without gold answers. Raises InputError for an unknown one."""
        return self._offer(name).needs_gold

    def get(self, name: str, pipelines: Pipelines) -> Baseline:
        """The system. Raises InputError for an unknown one, and what loading it raises."""
        offer = self._offer(name)
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = offer.load(pipelines)
            return self._loaded[name]

    def _offer(self, name: str) -> Offer:
        if name not in self._offers:
            known = ", ".join(map(repr, self._offers))
            raise InputError(f"There is no system {name[:80]!r} to compare with. There are: {known}.")
        return self._offers[name]


def offers(
    baselines: Sequence[Path] = (), models: Path | None = None, backend: str = "auto"
) -> tuple[Offer, ...]:
    """The recaller alone, then what `baselines` name: folders of trained baselines, and profiles.

    `models` is the folder of the reader in use, whose card may hold the recaller's threshold; `backend` is
    what trained baselines run on (see `rtv_core.reading.backends.open_encoder`). Raises
    MissingError, MismatchError, SettingError or InputError for what can't be used.
    """
    tau = _recaller_tau(models)
    folders: dict[str, Path] = {}
    profiles = []
    for path in baselines:
        if path.suffix == ".toml" or str(path) in PROFILES:
            profiles += _profile(str(path))
        else:
            stage = _stage(path)
            if stage in folders:
                raise InputError(f"{folders[stage]} and {path} both hold a {stage}. Name one of them.")
            folders[stage] = path
    return (Offer("recaller alone", lambda _: RecallerAlone(tau)), *_trained(folders, backend), *profiles)


def _recaller_tau(models: Path | None) -> float:
    training = _card(models).get("training") if models and (models / CARD).is_file() else None
    chosen = training.get("calibration") if isinstance(training, dict) else None
    return float(chosen.get("recaller_tau", RECALLER_TAU)) if isinstance(chosen, dict) else RECALLER_TAU


def _trained(folders: Mapping[str, Path], backend: str) -> list[Offer]:
    """What `load_baselines` makes of the folders, under the names that it gives."""
    if RERANKER in folders and JOINT not in folders:
        raise InputError(
            f"{folders[RERANKER]} holds a reranker, which needs a joint reader to read what it ranks first. "
            "Name the folder of one too; `python -m rtv_core train joint-reader` trains it."
        )
    names = []
    if JOINT in folders:
        own = ["rerank with one network, then read"]
        own += ["rerank, then read"] if RERANKER in folders else []
        names += [*own, "oracle rerank, then read", "retrieval order, then read"]
    if CONCATENATED in folders:
        names.append("concatenated reading")
    loaded: dict[str, Baseline] = {}

    def load(name: str) -> Baseline:
        if not loaded:  # all at once, for they share their readers
            from rtv_core.baselines.load import load_baselines

            found = load_baselines(
                folders.get(RERANKER), folders.get(JOINT), folders.get(CONCATENATED), backend
            )
            loaded.update({baseline.name: baseline for baseline in found})
        return loaded[name]

    return [Offer(name, lambda _, name=name: load(name), name.startswith("oracle")) for name in names]


def _profile(profile: str) -> list[Offer]:
    """A profile as a pipeline of its own and, if it asks a language model, that as a second verifier."""
    settings = load_settings(profile)
    name = f"profile {settings.profile}"
    found = [Offer(name, lambda pipelines: OtherPipeline(name, pipelines.pipeline(settings)))]
    if settings.system == "llm":
        verdicts = VERDICTS if settings.profile == "llm" else f"{VERDICTS}, {name}"
        found.append(Offer(verdicts, lambda pipelines: _verifier(pipelines, settings, verdicts)))
    return found


def _verifier(pipelines: Pipelines, settings: Settings, name: str) -> Baseline:
    return replace(pipelines.pipeline(settings).as_verifier(), name=name)


def _stage(folder: Path) -> str:
    """The trained baseline that a folder holds."""
    if not (folder / CARD).is_file():
        raise MissingError(
            f"There is no trained baseline in {folder}. Name the folder that `python -m rtv_core train "
            "joint-reader` or `train reranker` wrote, or a profile (a TOML file)."
        )
    stage = _card(folder).get("stage")
    if stage not in (RERANKER, JOINT, CONCATENATED):
        raise MismatchError(
            f"{folder} holds a {stage}, which is no baseline. Name the folder of a {JOINT}, a {RERANKER} or "
            f"a {CONCATENATED}."
        )
    return stage


def _card(folder: Path) -> Mapping[str, object]:
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except ValueError as error:
        raise MismatchError(f"{folder / CARD} is no JSON: {error}. Train the baseline again.") from error
    return card if isinstance(card, dict) else {}

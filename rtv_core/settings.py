"""The defaults, once: frozen dataclasses, a TOML profile over them, `--set part.name=value` over that.

What a trained model depends on (its input form, lengths, base model) is no setting: it lies with its weights.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from rtv_core.errors import MissingError, SettingError
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.text import COVERAGE_RULES

__all__ = [
    "EvidenceSettings",
    "RecallerSettings",
    "RetrieverSettings",
    "Settings",
    "VerifierSettings",
    "load_settings",
]

LARGEST_RETRIEVAL = 1000
LONGEST_QUESTION = 1000


@dataclass(frozen=True, slots=True)
class RetrieverSettings:
    """`passages` is |B|. `lexical_weight` is the share of BM25 in the fused rank, 0 (dense alone) to 1."""

    passages: int = 100
    lexical_weight: float = 0.1

    def check(self) -> None:
        _between("retriever.passages", self.passages, 1, LARGEST_RETRIEVAL)
        _between("retriever.lexical_weight", self.lexical_weight, 0, 1)


@dataclass(frozen=True, slots=True)
class RecallerSettings:
    """`relevance`: a passage less probably relevant gives nothing. `span`: the lowest span score kept.

    `candidates` is the most that are verified, best first.
    """

    relevance: float = 0.02
    span: float = 0.0005
    candidates: int = 80

    def check(self) -> None:
        _between("recaller.relevance", self.relevance, 0, 1)
        _between("recaller.span", self.span, 0, 1)
        _between("recaller.candidates", self.candidates, 1, 5000)


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """`coverage` names the rule by which passages that cover a candidate come first."""

    coverage: str = "strict"

    def check(self) -> None:
        if self.coverage not in COVERAGE_RULES:
            raise SettingError(
                f"evidence.coverage is {self.coverage!r}; it must be one of {', '.join(COVERAGE_RULES)}."
            )


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    """`tau`: a candidate is kept if its validity score is strictly above. `k`: passages behind a score.

    `single_answer` keeps only the best candidate, as for NQ-open.
    """

    tau: float = 0.1
    k: int = 10
    single_answer: bool = False

    def check(self) -> None:
        _between("verifier.tau", self.tau, 0, 1)
        if self.k not in EVIDENCE_SIZES:
            raise SettingError(
                f"verifier.k is {self.k}; it must be one of {', '.join(map(str, EVIDENCE_SIZES))}."
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a pipeline. `profile` names where they came from."""

    profile: str = "embedded"
    retriever: RetrieverSettings = field(default_factory=RetrieverSettings)
    recaller: RecallerSettings = field(default_factory=RecallerSettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """These settings with `{"verifier.tau": 0.6}` laid over them; strings are read as the field's type.

        Raises SettingError for an unknown name (with the nearest known one) or a value out of range.
        """
        settings = self
        for name, value in values.items():
            part_name, _, field_name = name.partition(".")
            if name not in _known():
                raise SettingError(f"There is no setting {name!r}.{_nearest(name)}")
            part = getattr(settings, part_name)
            kind = get_type_hints(type(part))[field_name]
            part = replace(part, **{field_name: _read(name, value, kind)})
            part.check()
            settings = replace(settings, **{part_name: part})
        return settings


def load_settings(profile: str = "embedded", overrides: Sequence[str] = ()) -> Settings:
    """The settings of a profile ("embedded" or the path of a TOML file), with `part.name=value` overrides.

    Raises MissingError for an absent profile, SettingError for anything wrong inside.
    """
    settings = Settings()
    if profile != "embedded":
        settings = replace(settings, profile=Path(profile).stem).with_values(_read_profile(Path(profile)))
    values = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            raise SettingError(
                f"{override!r} sets nothing. Write it as part.name=value, e.g. verifier.tau=0.6."
            )
        values[name.strip()] = value.strip()
    return settings.with_values(values)


def _read_profile(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MissingError(f'There is no profile {str(path)!r}. Use "embedded" or the path of a TOML file.')
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not valid TOML: {error}") from error
    values: dict[str, Any] = {}
    for part, table in tables.items():
        if not isinstance(table, dict):
            raise SettingError(f"{path}: {part!r} must be a table such as [verifier].{_nearest(part)}")
        values |= {f"{part}.{name}": value for name, value in table.items()}
    return values


def _known() -> list[str]:
    parts = [f for f in fields(Settings) if is_dataclass(get_type_hints(Settings)[f.name])]
    return [f"{p.name}.{f.name}" for p in parts for f in fields(get_type_hints(Settings)[p.name])]


def _nearest(name: str) -> str:
    names = _known()
    tails = {n.partition(".")[2]: n for n in names}
    close = difflib.get_close_matches(name, names, 1) or [
        tails[t] for t in difflib.get_close_matches(name.rpartition(".")[2], tails, 1)
    ]
    return f" Did you mean {close[0]!r}?" if close else f" Known: {', '.join(names)}."


def _read(name: str, value: Any, kind: type) -> Any:
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    if type(value) is not kind:
        raise SettingError(f"{name} is {value!r}; it must be a{'n' if kind is int else ''} {kind.__name__}.")
    return value


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also refuses NaN
        raise SettingError(f"{name} is {value}; it must lie between {low} and {high}.")

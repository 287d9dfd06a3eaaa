"""The defaults, once: frozen dataclasses, a TOML profile over them, `--set part.name=value` over that.

What a trained model depends on (its input form, lengths, base model) is no setting: it lies with its weights.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_type_hints

from rtv_core.errors import MissingError, SettingError
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.text import COVERAGE_RULES

__all__ = [
    "PROFILES",
    "CallSettings",
    "EvidenceSettings",
    "LLMSettings",
    "ReaderSettings",
    "RecallerSettings",
    "RetrieverSettings",
    "Settings",
    "T5Settings",
    "VerifierSettings",
    "load_settings",
    "read_toml",
    "read_value",
]

LARGEST_RETRIEVAL = 1000
LONGEST_QUESTION = 1000
MOST_CANDIDATES = 5000
MOST_FRESH = 10

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "embedded": {},
        "llm": {"retriever.passages": 50, "verifier.tau": 0.5},
        # As the paper: dense retrieval alone, every candidate verified, no threshold on relevance.
        "t5": {
            "retriever.lexical_weight": 0.0,
            "recaller.relevance": 0.0,
            "recaller.span": 0.0,
            "recaller.candidates": MOST_CANDIDATES,
            "verifier.tau": 0.5,
        },
    }
)
"""The built-in profiles and where their settings differ from the defaults; each is a system of its own."""


@dataclass(frozen=True, slots=True)
class RetrieverSettings:
    """`passages` is |B|. `lexical_weight` is the share of BM25 in the fused rank, 0 (dense alone) to 1."""

    passages: int = 100
    lexical_weight: float = 0.1

    def check(self) -> None:
        _between("retriever.passages", self.passages, 1, LARGEST_RETRIEVAL)
        _between("retriever.lexical_weight", self.lexical_weight, 0, 1)


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """`backend` runs the embedded reader: "openvino", "torch", or "auto", the first where it is installed."""

    backend: str = "auto"

    def check(self) -> None:
        _one_of("reader.backend", self.backend, ("auto", "openvino", "torch"))


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
        _between("recaller.candidates", self.candidates, 1, MOST_CANDIDATES)


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """`coverage` names the rule by which passages that cover a candidate come first.

    `source`: "retrieved" ranks the passages retrieved for the question; "fresh" adds to them, for each
    candidate, `fresh` passages that a verification question from a template finds in the whole index.
    """

    coverage: str = "strict"
    source: str = "retrieved"
    fresh: int = 5

    def check(self) -> None:
        _one_of("evidence.coverage", self.coverage, COVERAGE_RULES)
        _one_of("evidence.source", self.source, ("retrieved", "fresh"))
        _between("evidence.fresh", self.fresh, 1, MOST_FRESH)


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
class LLMSettings:
    """What a language model is asked, in the profile "llm".

    `reading`: "apart" reads each passage alone, "together" all of them in one prompt. `verify` false accepts
    every candidate. `ask_question` false judges a candidate directly, without a verification question.
    `fresh` is how many new passages are sought for each candidate (0: none), `sources` how many of those that
    it came from are judged with them. `score`: "auto" takes log-probabilities where the server gives them,
    else the share of Yes among `samples`, or the plain word if that is 1; "samples" and "word" never ask for
    log-probabilities. `structured` asks for JSON by a schema where the server knows how. `answer_tokens` and
    `verdict_tokens` bound a reply; a model that thinks first needs many of both.
    """

    reading: str = "apart"
    verify: bool = True
    ask_question: bool = True
    fresh: int = 5
    sources: int = 3
    score: str = "auto"
    samples: int = 1
    structured: bool = True
    answer_tokens: int = 800
    verdict_tokens: int = 24

    def check(self) -> None:
        _one_of("llm.reading", self.reading, ("apart", "together"))
        _between("llm.fresh", self.fresh, 0, MOST_FRESH)
        _between("llm.sources", self.sources, 1, MOST_FRESH)
        _one_of("llm.score", self.score, ("auto", "samples", "word"))
        _between("llm.samples", self.samples, 1, 50)
        _between("llm.answer_tokens", self.answer_tokens, 16, 100_000)
        _between("llm.verdict_tokens", self.verdict_tokens, 8, 100_000)


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How a language model's server is called; nothing here changes an answer.

    `concurrency` is the most calls at a time. `timeout` (seconds) is for one try, `retries` follow after
    `backoff` seconds, doubled each time. Budgets count what this process spends, not what the cache knew;
    0 is no budget. Prices are per million tokens, in any one currency; `budget_cost` is in the same.
    `cache` is the file that keeps every reply; empty: `llm.db` in the user's cache.
    """

    concurrency: int = 8
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 1.0
    stream: bool = False
    budget_calls: int = 0
    budget_tokens: int = 0
    budget_cost: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0
    cache: str = ""

    def check(self) -> None:
        _between("calls.concurrency", self.concurrency, 1, 1000)
        _between("calls.timeout", self.timeout, 0.01, 86_400)
        _between("calls.retries", self.retries, 0, 100)
        _between("calls.backoff", self.backoff, 0, 600)
        for name in ("budget_calls", "budget_tokens", "budget_cost", "price_in", "price_out"):
            _between(f"calls.{name}", getattr(self, name), 0, 1e15)


@dataclass(frozen=True, slots=True)
class T5Settings:
    """Where the models of the profile "t5" lie, and how they run.

    `recaller` and `verifier` are folders or hub ids; with `local_files_only` the hub is never asked. `device`
    is "auto" (CUDA where it is), "cpu" or "cuda", `dtype` "auto" (bfloat16 on CUDA, else float32), "float32"
    or "bfloat16". `batch_tokens` bounds what is read at once, and so the memory.
    """

    recaller: str = ""
    verifier: str = ""
    local_files_only: bool = False
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int = 16_384

    def check(self) -> None:
        if self.device not in ("auto", "cpu", "cuda") and not self.device.startswith("cuda:"):
            raise SettingError(f"t5.device is {self.device!r}; it must be auto, cpu, cuda or cuda:N.")
        _one_of("t5.dtype", self.dtype, ("auto", "float32", "bfloat16"))
        _between("t5.batch_tokens", self.batch_tokens, 1, 2**24)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a pipeline.

    `profile` names where they came from, `system` the stages that they are for: a key of `PROFILES`.
    """

    profile: str = "embedded"
    system: str = "embedded"
    retriever: RetrieverSettings = field(default_factory=RetrieverSettings)
    reader: ReaderSettings = field(default_factory=ReaderSettings)
    recaller: RecallerSettings = field(default_factory=RecallerSettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)
    llm: LLMSettings = field(default_factory=LLMSettings)
    calls: CallSettings = field(default_factory=CallSettings)
    t5: T5Settings = field(default_factory=T5Settings)

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
            part = replace(part, **{field_name: read_value(name, value, kind)})
            part.check()
            settings = replace(settings, **{part_name: part})
        return settings


def load_settings(profile: str = "embedded", overrides: Sequence[str] = ()) -> Settings:
    """The settings of a profile, with `part.name=value` overrides.

    `profile` is a key of `PROFILES` or the path of a TOML file; the file starts from the built-in profile
    that its line `system = "..."` names, else from "embedded". Raises MissingError for an absent profile,
    SettingError for anything wrong inside.
    """
    if profile in PROFILES:
        settings = Settings(profile=profile, system=profile).with_values(PROFILES[profile])
    else:
        settings = _read_profile(Path(profile))
    values = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            raise SettingError(
                f"{override!r} sets nothing. Write it as part.name=value, e.g. verifier.tau=0.6."
            )
        values[name.strip()] = value.strip()
    return settings.with_values(values)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file that is there. Raises SettingError where it is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not valid TOML: {error}") from error


def read_value(name: str, value: Any, kind: type) -> Any:
    """A value of a field of type `kind`; strings are read as that. Raises SettingError with its name."""
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


def _read_profile(path: Path) -> Settings:
    built_in = ", ".join(PROFILES)
    if not path.is_file():
        raise MissingError(
            f"There is no profile {str(path)!r}. Use one of {built_in}, or the path of a TOML file."
        )
    tables = read_toml(path)
    system = tables.pop("system", "embedded")
    if not isinstance(system, str) or system not in PROFILES:
        raise SettingError(f"{path}: system is {system!r}; it must be one of {built_in}.")
    values: dict[str, Any] = {}
    for part, table in tables.items():
        if not isinstance(table, dict):
            raise SettingError(f"{path}: {part!r} must be a table such as [verifier].{_nearest(part)}")
        values |= {f"{part}.{name}": value for name, value in table.items()}
    return Settings(path.stem, system).with_values({**PROFILES[system], **values})


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


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SettingError(f"{name} is {value!r}; it must be one of {', '.join(known)}.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also refuses NaN
        raise SettingError(f"{name} is {value}; it must lie between {low} and {high}.")

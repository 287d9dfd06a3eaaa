"""How each published system was trained: TOML files with one table a stage; `--set name=value` over that."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rtv_core.errors import MissingError, SettingError
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.settings import read_toml, read_value
from rtv_core.training.flat_loop import FlatLoop

__all__ = ["RECIPES", "RecallPlan", "Recipe", "RetrievePlan", "VerifyPlan", "load_recipe", "recipe_names"]

RECIPES = Path(__file__).resolve().parents[2] / "assets" / "recipes"


@dataclass(frozen=True, slots=True)
class RetrievePlan:
    """Positives a gold answer, hard negatives a question to draw from, and drawn; draws of each question."""

    base: str = "sentence-transformers/all-MiniLM-L6-v2"
    passages: int = 100
    positives: int = 6
    negatives: int = 30
    hard: int = 2
    rounds: int = 4


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """`alpha_neg`: irrelevant passages per answering one, of the `passages` retrieved."""

    base: str = "t5-base"
    passages: int = 100
    alpha_neg: float = 0.1


@dataclass(frozen=True, slots=True)
class VerifyPlan:
    """At most `invalid` wrong candidates per right one, each on its first `k` evidence passages.

    `tau` is the published threshold, for where no dev questions are given to choose one.
    """

    base: str = "t5-3b"
    passages: int = 100
    invalid: int = 10
    k: int = 10
    tau: float = 0.5


Plan = RetrievePlan | RecallPlan | VerifyPlan


@dataclass(frozen=True, slots=True)
class Recipe:
    """One stage's plan and loop."""

    plan: Plan
    loop: FlatLoop = field(default_factory=FlatLoop)

    def with_values(self, values: Mapping[str, Any], where: str) -> Recipe:
        """This recipe with `{"alpha_neg": 0.7}` laid over it; strings are read as the field's type.

        Raises SettingError for an unknown name or a value of another type.
        """
        recipe = self
        for name, value in values.items():
            part = next((p for p in ("plan", "loop") if hasattr(getattr(self, p), name)), None)
            if part is None:
                known = [f.name for own in (self.plan, self.loop) for f in fields(own)]
                close = difflib.get_close_matches(name, known, 1)
                hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
                raise SettingError(f"{where}: there is nothing called {name!r}. {hint}")
            own = getattr(recipe, part)
            own = replace(own, **{name: read_value(f"{where}: {name}", value, type(getattr(own, name)))})
            recipe = replace(recipe, **{part: own})
        recipe.check(where)
        return recipe

    def check(self, where: str) -> None:
        """Raise SettingError for what can't be."""
        k = getattr(self.plan, "k", EVIDENCE_SIZES[0])
        if k not in EVIDENCE_SIZES:
            raise SettingError(f"{where}: k is {k}; it must be one of {', '.join(map(str, EVIDENCE_SIZES))}.")
        loop = self.loop
        for name in ("rate", "steps", "batch", "device_batch", "evaluate_every", "patience", "log_every"):
            if not getattr(loop, name) > 0:
                raise SettingError(f"{where}: {name} is {getattr(loop, name)}; it must be above 0.")
        if loop.dtype not in ("float32", "bfloat16"):
            raise SettingError(f"{where}: dtype is {loop.dtype!r}; it must be float32 or bfloat16.")


STAGES: dict[str, Plan] = {
    "retriever": RetrievePlan(),
    "recaller": RecallPlan(),
    "verifier": VerifyPlan(),
}


def recipe_names() -> list[str]:
    """The recipes that come along."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_recipe(name: str, stage: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of one stage ("retriever", "recaller", "verifier"), from a name or a TOML file's path.

    Raises MissingError for an absent recipe, SettingError for anything wrong inside.
    """
    path = RECIPES / f"{name}.toml"
    path = path if path.is_file() else Path(name)
    if not path.is_file():
        names = ", ".join(recipe_names())
        raise MissingError(f"There is no recipe {name!r}. Use one of {names}, or the path of a TOML file.")
    tables = read_toml(path)
    if unknown := sorted(set(tables) - set(STAGES)):
        raise SettingError(f"{path}: there is no stage {unknown[0]!r}; use {', '.join(STAGES)}.")
    recipe = Recipe(STAGES[stage]).with_values(tables.get(stage, {}), f"{path.name} [{stage}]")
    given = {}
    for override in overrides:
        field_name, equals, value = override.partition("=")
        if not equals:
            raise SettingError(f"{override!r} sets nothing. Write it as name=value, e.g. alpha_neg=0.7.")
        given[field_name.strip()] = value.strip()
    return recipe.with_values(given, "--set")

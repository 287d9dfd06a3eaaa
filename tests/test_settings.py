"""Defaults, profile, overrides, and what each says when it is wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from rtv_core.errors import MissingError, SettingError
from rtv_core.settings import PROFILES, Settings, load_settings


def test_the_defaults_are_the_embedded_profile_and_pass_their_own_checks() -> None:
    settings = load_settings()
    assert settings == Settings()
    parts = [getattr(settings, f.name) for f in fields(settings) if f.name not in ("profile", "system")]
    assert len(parts) > 4
    for part in parts:
        part.check()


@pytest.mark.parametrize("name", PROFILES)
def test_a_built_in_profile_is_a_system_of_its_own(name: str) -> None:
    settings = load_settings(name)
    assert (settings.profile, settings.system) == (name, name)
    assert settings == Settings(profile=name, system=name).with_values(PROFILES[name])


def test_a_file_starts_from_the_built_in_profile_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('system = "llm"\n[llm]\nfresh = 0\n')
    settings = load_settings(str(path))
    assert (settings.profile, settings.system, settings.llm.fresh) == ("mine", "llm", 0)
    assert settings.verifier == load_settings("llm").verifier


def test_an_override_lies_over_the_profile_over_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[verifier]\ntau = 1\nk = 5\n[retriever]\npassages = 50\n")
    settings = load_settings(str(path), ["verifier.k=1", " verifier.single_answer = true "])
    assert settings.profile == "mine"
    assert settings.retriever.passages == 50
    assert (settings.verifier.tau, settings.verifier.k, settings.verifier.single_answer) == (1.0, 1, True)
    assert settings.recaller == Settings().recaller


def test_values_are_laid_over_a_copy() -> None:
    settings = Settings()
    assert settings.with_values({"verifier.tau": 0.6}).verifier.tau == 0.6
    assert settings == Settings()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("verifier.tua=0.6", r"There is no setting 'verifier.tua'. Did you mean 'verifier.tau'\?"),
        ("tau=0.6", r"Did you mean 'verifier.tau'\?"),
        ("retrieve.passages=5", r"Did you mean 'retriever.passages'\?"),
        ("zzz=1", "Known: retriever.passages, "),
        ("verifier=1", "There is no setting 'verifier'"),
        ("profile=x", "There is no setting 'profile'"),
        ("verifier.tau", "sets nothing. Write it as part.name=value"),
        ("verifier.tau=high", "verifier.tau is 'high'; it must be a float"),
        ("verifier.tau=nan", "verifier.tau is nan; it must lie between 0 and 1"),
        ("verifier.tau=-0.1", "verifier.tau is -0.1"),
        ("verifier.tau=inf", "verifier.tau is inf"),
        ("verifier.k=7", "verifier.k is 7; it must be one of 1, 5, 10"),
        ("verifier.k=5.0", "verifier.k is '5.0'; it must be an int"),
        ("verifier.single_answer=yes", "must be a bool"),
        ("retriever.passages=0", "retriever.passages is 0; it must lie between 1 and 1000"),
        ("recaller.candidates=0", "recaller.candidates is 0"),
        ("evidence.source=web", "evidence.source is 'web'; it must be one of retrieved, fresh"),
        ("llm.reading=twice", "llm.reading is 'twice'; it must be one of apart, together"),
        ("calls.concurrency=0", "calls.concurrency is 0; it must lie between 1 and 1000"),
        ("evidence.coverage=loose", "evidence.coverage is 'loose'; it must be one of strict, official"),
    ],
)
def test_a_wrong_override_is_said_with_its_value(override: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        load_settings(overrides=[override])


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("tau = ", "not valid TOML"),
        ('system = "gpt"', "system is 'gpt'; it must be one of embedded, llm"),
        ("tau = 0.5", r"'tau' must be a table such as \[verifier\]. Did you mean 'verifier.tau'\?"),
        ("[verifier]\ntau = true", "verifier.tau is True; it must be a float"),
        ("[verifier]\nk = true", "verifier.k is True; it must be an int"),
        ("[verifier]\ntau = nan", "verifier.tau is nan"),
        ("[verifyer]\ntau = 0.5", r"Did you mean 'verifier.tau'\?"),
    ],
)
def test_a_wrong_profile_is_said_with_its_value(tmp_path: Path, toml: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(toml)
    with pytest.raises(SettingError, match=message):
        load_settings(str(path))


def test_an_absent_profile_is_missing() -> None:
    with pytest.raises(MissingError, match="There is no profile"):
        load_settings("nowhere.toml")

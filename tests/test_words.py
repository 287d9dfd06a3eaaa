"""A verifier that only says words is never quoted with numbers on the terminal, and is offered by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rtv_core import factory
from rtv_core.baselines.offers import VERDICTS, Systems, offers
from rtv_core.cli import cli
from rtv_core.records import Candidate, Evidence, Question, Trace, Verdict


class Answering:
    """Models whose pipeline has answered already."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def pipeline(self, settings) -> Answering:
        return self

    def ask(self, question: str) -> Trace:
        return self.trace


def trace_of(scores: str) -> Trace:
    candidates = tuple(Candidate(name, (name,), 1.0, ()) for name in ("Phobos", "Europa"))
    return Trace(
        Question("", "Which moons?"),
        candidates=candidates,
        evidence=tuple(Evidence(c, "", ()) for c in candidates),
        verdicts=(Verdict((1.0,) * 3), Verdict((0.0,) * 3)),
        provenance={"scores": scores},
        stage="verified",
    )


@pytest.mark.parametrize(("scores", "line"), [("words", "Yes   Phobos"), ("probabilities", "1.00  Phobos")])
def test_ask_prints_a_plain_word_as_a_word(monkeypatch, scores, line) -> None:
    monkeypatch.setattr(factory, "load_models", lambda index: Answering(trace_of(scores)))
    result = CliRunner().invoke(cli, ["ask", "Which moons?", "--profile", "llm"])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == line


def test_help_names_every_profile() -> None:
    text = CliRunner().invoke(cli, ["ask", "--help"]).output
    assert "embedded, llm, t5, or a TOML file" in " ".join(text.split())


def test_a_profile_that_asks_a_language_model_is_offered_as_a_second_verifier_too(tmp_path: Path) -> None:
    own = tmp_path / "thrifty.toml"
    own.write_text('system = "llm"\n[llm]\nfresh = 1\n', encoding="utf-8")
    names = Systems(offers([Path("llm"), own])).names
    assert names == (
        "recaller alone",
        "profile llm",
        VERDICTS,
        "profile thrifty",
        f"{VERDICTS}, profile thrifty",
    )
    assert VERDICTS not in Systems(offers([Path("t5")])).names

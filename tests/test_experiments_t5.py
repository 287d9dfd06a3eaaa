"""Every experiment runs on the paper's own system, with a tiny T5 pair and a tiny reranking reader."""

from __future__ import annotations

from dataclasses import replace

import pytest
from encoders import WordEncoder
from tiny import ANSWERS, PASSAGES, QUESTIONS, tiny_network
from tiny_t5 import tiny_t5

from rtv_core.baselines.load import JOINT
from rtv_core.baselines.offers import Systems, offers
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.catalogue import EXPERIMENTS
from rtv_core.experiments.markdown import markdown
from rtv_core.factory import Models
from rtv_core.reading.t5 import save_t5
from rtv_core.reading.weights import save_network
from rtv_core.records import Question
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.settings import load_settings
from rtv_core.wire import to_json

THE_PAPERS = sorted(name for name in EXPERIMENTS if name != "ri2ver")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("t5")
    save_t5(tiny_t5("recaller"), folder / "recaller")
    save_t5(tiny_t5("verifier", seed=1), folder / "verifier")
    network, card, _ = tiny_network()
    save_network(network, replace(card, stage=JOINT, tau=0.01), folder / "joint")
    (folder / "corpus.jsonl").write_text("".join(f"{to_json(p)}\n" for p in PASSAGES), encoding="utf-8")
    encoder = WordEncoder()
    build_index(folder / "corpus.jsonl", folder / "index", encoder)
    retriever = HybridRetriever(open_index(folder / "index", encoder.fingerprint), encoder)
    models = [f"t5.recaller={folder / 'recaller'}", f"t5.verifier={folder / 'verifier'}"]
    questions = tuple(
        Question(f"q{i}", QUESTIONS[i], (tuple((answer,) for answer in ANSWERS[i]),)) for i in range(3)
    )
    return Bench(
        "tiny",
        questions,
        load_settings("t5", [*models, "t5.device=cpu"]),
        lambda: Models(retriever, None, None, ""),
        folder / "kept.db",
        Systems(offers([folder / "joint"], backend="torch")),
    )


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "table7")) for n in THE_PAPERS]
)
def test_an_experiment_runs_on_a_pair_of_t5(bench: Bench, name: str) -> None:
    table = EXPERIMENTS[name](bench)
    assert dict(table.provenance)["profile"] == "t5"
    assert any(any(cell is not None for cell in row.cells) for row in table.rows)
    assert table.title in markdown(table)

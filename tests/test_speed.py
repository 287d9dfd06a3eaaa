"""The grid of `benchmarks.speed` on a tiny reader: what is counted and read, not how fast."""

from __future__ import annotations

import json

import pytest
from encoders import WordEncoder
from tiny import PASSAGES, QUESTIONS, tiny_network, tiny_reader

from benchmarks import grid as speed_grid
from benchmarks.grid import encoder_gflop, measure_grid, peak_gflops, render_grid
from rtv_core.factory import Models
from rtv_core.reading.encoders import TorchEncoder
from rtv_core.reading.reader import Reader
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.settings import Settings


class Counting(TorchEncoder):
    """Counts the pairs that it encodes."""

    pairs = 0

    def encode(self, batches):
        self.pairs += sum(len(ids) for ids, _, _ in batches)
        return super().encode(batches)


@pytest.fixture
def encoder():
    return Counting(tiny_network()[0])


@pytest.fixture
def models(tmp_path, encoder, monkeypatch):
    lines = [json.dumps({"id": p.id, "title": p.title, "text": p.text}) for p in PASSAGES]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = WordEncoder()
    build_index(tmp_path / "corpus.jsonl", tmp_path / "index", words)
    retriever = HybridRetriever(open_index(tmp_path / "index", words.fingerprint), words)
    network, card, form = tiny_network()
    for name, values in {"PASSAGES": (4, 6), "CANDIDATES": (2, 3), "SIZES": (1, 5)}.items():
        monkeypatch.setattr(speed_grid, name, values)
    return Models(retriever, Reader(network, form, encoder=encoder), card, "f" * 64)


def test_encode_once_reads_a_pair_once_and_naive_reading_every_pair_again(models, encoder):
    values = {"recaller.relevance": 0.0, "recaller.span": 0.0, "reader.backend": "torch"}
    grid = measure_grid(models, Settings().with_values(values), [QUESTIONS[0]])
    assert grid.candidates == {(b, a): [a] for b in (4, 6) for a in (2, 3)}
    once = 4 + 6 + 6  # recall at each size, and the largest once more to time the encoder alone
    again = (2 + 3) * (1 + 5)
    assert encoder.pairs == 2 * (once + again), "the first question is asked twice, to warm up"
    assert len(grid.again) == 4
    assert all(len(spent.wall) == 1 for spent in [*grid.read.values(), *grid.verify.values(), grid.encode])
    text = render_grid(grid, 100.0, "torch float32")
    assert text.count("\n| ") == 2 + 2 + 4
    assert "times as much CPU" in text


def test_a_pair_of_200_tokens_takes_the_operations_that_can_be_counted_by_hand():
    reader = tiny_reader()
    config = reader.network.encoder.config
    config.hidden_size, config.intermediate_size, config.num_hidden_layers = 384, 1536, 6
    assert encoder_gflop(reader, 1, 200) == pytest.approx(6 * 200 * (24 * 384**2 + 4 * 384 * 200) / 1e9)
    assert encoder_gflop(reader, 1, 200) == pytest.approx(4.6, abs=0.1)
    assert encoder_gflop(reader, 3, 200) == pytest.approx(3 * encoder_gflop(reader, 1, 200))


def test_a_matrix_product_has_a_rate():
    import torch

    assert 0.1 < peak_gflops(torch.float32, 0.05, 128) < 1e6

"""The reader's encoder on its backends: one network, the same states to rounding, whatever the batches."""

from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tiny import PASSAGES, QUESTIONS, tiny_network

from rtv_core.errors import MissingError
from rtv_core.reading import backends
from rtv_core.reading.backends import open_encoder
from rtv_core.reading.encoders import TorchEncoder
from rtv_core.reading.form import pad
from rtv_core.reading.reader import Reader


@pytest.fixture(scope="module")
def network():
    return tiny_network(3)[0].eval()


@pytest.fixture(scope="module")
def batches():
    form = tiny_network(3)[2]
    pairs = [pair for question in QUESTIONS for pair in form.pairs(question, PASSAGES)]
    return [pad(pairs[start : start + 5]) for start in range(0, 40, 5)]


@pytest.fixture(scope="module")
def openvino(network):
    pytest.importorskip("openvino")
    return open_encoder(network, "openvino")


def without_padding(batches, states):
    return [own[torch.from_numpy(mask).bool()] for (_, mask, _), own in zip(batches, states, strict=True)]


def test_openvino_gives_the_states_of_torch(network, openvino, batches) -> None:
    both = [without_padding(batches, e.encode(batches)) for e in (TorchEncoder(network), openvino)]
    for one, other in zip(*both, strict=True):
        assert one.dtype == other.dtype
        assert torch.allclose(one, other, atol=2e-5)


def test_states_come_in_the_order_of_their_batches_also_from_several_threads(openvino, batches) -> None:
    alone = [openvino.encode([batch])[0] for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(openvino.encode, [batches] * 8):
            for one, other in zip(found, alone, strict=True):
                assert torch.equal(one, other)


def test_states_stay_what_they_were_when_others_are_read(openvino, batches) -> None:
    first = openvino.encode(batches[:1])[0]
    before = first.clone()
    openvino.encode(batches)
    assert torch.equal(first, before)


def test_nothing_to_read_is_nothing(openvino) -> None:
    assert openvino.encode([]) == []


def test_the_precision_is_the_network_s_own(batches) -> None:
    pytest.importorskip("openvino")
    network = tiny_network(3)[0].eval()
    network.encoder.to(torch.bfloat16)
    encoder = open_encoder(network, "openvino")
    assert encoder.name == "openvino bfloat16"
    (states,) = encoder.encode(batches[:1])
    assert states.dtype == torch.bfloat16
    (plain,) = TorchEncoder(network).encode(batches[:1])
    mask = torch.from_numpy(batches[0][1]).bool()
    assert torch.cosine_similarity(states[mask].float(), plain[mask].float(), dim=-1).min() > 0.999


def test_a_reader_changes_its_backend_and_keeps_each(network, openvino) -> None:
    form = tiny_network(3)[2]
    reader = Reader(network, form)
    assert reader.under("torch") is reader
    fast = reader.under("auto")
    assert fast.encoder.name == openvino.name == "openvino float32"
    assert reader.under("openvino") is reader.under("auto") is fast
    one, other = (r.read(QUESTIONS[0], PASSAGES) for r in (reader, fast))
    for a, b in zip(one, other, strict=True):
        assert torch.allclose(a.hidden, b.hidden, atol=2e-5)


def test_without_openvino_torch_reads_and_asking_for_it_says_what_to_do(network, monkeypatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    assert isinstance(open_encoder(network), TorchEncoder)
    with pytest.raises(MissingError, match="OpenVINO is not installed"):
        open_encoder(network, "openvino")


def test_an_openvino_that_does_not_work_leaves_the_reading_to_torch(network, monkeypatch, caplog) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "rtv_core.reading.openvino_encoder", None)
    assert isinstance(open_encoder(network), TorchEncoder)
    assert "torch reads the passages" in caplog.text
    with pytest.raises(MissingError, match=r"doesn't work here .* reader.backend=torch"):
        open_encoder(network, "openvino")


def test_every_core_gets_as_many_batches_of_few_passages(openvino) -> None:
    cores = torch.get_num_threads()
    assert openvino.sizes(0) == []
    assert openvino.sizes(1) == [1]
    assert openvino.sizes(3 * cores) == [3] * cores
    for pairs in range(1, 60):
        sizes = openvino.sizes(pairs)
        assert sum(sizes) == pairs
        assert max(sizes) <= 4
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) % cores == 0 or len(sizes) == pairs


def test_torch_reads_eight_at_a_time(network) -> None:
    assert TorchEncoder(network).sizes(20) == [8, 8, 4]
    assert TorchEncoder(network).sizes(0) == []


def test_opening_and_reading_asks_for_nothing_over_the_network(network, batches, monkeypatch) -> None:
    pytest.importorskip("openvino")
    tried = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **more: tried.append(asked))
    monkeypatch.setattr(socket, "socket", lambda *asked, **more: tried.append(asked))
    assert open_encoder(network, "openvino").encode(batches[:1])
    assert tried == []

"""The reader's encoder as an OpenVINO graph: batches run side by side, one core each.

Several threads in one batch spend a third of their time waiting for each other; a batch a core doesn't, and
OpenVINO fuses what torch runs apart. The graph is put together here because the library's converter reports
its use over the network.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np
import openvino as ov
import openvino.opset13 as op
import openvino.properties as properties
import openvino.properties.hint as hints
import torch
from torch import Tensor
from transformers import BertConfig

from rtv_core.reading.encoders import Batch, precision
from rtv_core.reading.network import ReaderNetwork

__all__ = ["OpenVINOEncoder", "encoder_graph"]

MOST_PAIRS = 4

MASKED = -1e4
"""Added to the attention scores of padding; as in the heads finite, for bfloat16's sake."""


class OpenVINOEncoder:
    """A copy of the network's encoder in its own precision; as many batches at a time as torch has threads.

    Threads may share it: their calls take turns.
    """

    def __init__(self, network: ReaderNetwork) -> None:
        own, cores = precision(network), torch.get_num_threads()
        graph = encoder_graph(network.encoder.state_dict(), network.encoder.config)
        options = {
            hints.inference_precision: ov.Type.bf16 if own == "bfloat16" else ov.Type.f32,
            properties.inference_num_threads: cores,
            properties.num_streams: cores,
        }
        compiled = ov.Core().compile_model(graph, "CPU", options)
        self._dtype, self._cores = getattr(torch, own), cores
        self._queue = ov.AsyncInferQueue(compiled, cores)
        self._queue.set_callback(self._keep)
        self._lock = threading.Lock()
        self.name = f"openvino {own}"

    def sizes(self, pairs: int) -> list[int]:
        """As many batches for each core, all about as large, so that none waits for another."""
        rounds = -(-pairs // (self._cores * MOST_PAIRS))
        count = min(rounds * self._cores, pairs)
        return [pairs // count + (i < pairs % count) for i in range(count)]

    def encode(self, batches: Sequence[Batch]) -> list[Tensor]:
        """The states of each batch, (pairs, tokens, width)."""
        found: dict[int, Tensor] = {}
        with self._lock:
            # The largest first, so that no core is left with a large one at the end.
            for place in sorted(range(len(batches)), key=lambda i: -batches[i][0].size):
                self._queue.start_async(list(batches[place]), (found, place))
            self._queue.wait_all()
        return [found[place] for place in range(len(batches))]

    def _keep(self, request: ov.InferRequest, wanted: tuple[dict[int, Tensor], int]) -> None:
        # A copy in either case: the request's memory is used again.
        states = torch.from_numpy(request.get_output_tensor().data)
        found, place = wanted
        found[place] = states.clone() if states.dtype == self._dtype else states.to(self._dtype)


def encoder_graph(weights: Mapping[str, Tensor], config: BertConfig) -> ov.Model:
    """BERT without its pooler, from the names that transformers gives the weights.

    *Shape:* ids, mask and segments (batch, tokens) -> states (batch, tokens, width).
    """
    width, heads = config.hidden_size, config.num_attention_heads
    split, join = _integers(0, 0, heads, width // heads), _integers(0, 0, width)
    swapped = _integers(0, 2, 1, 3)  # (batch, tokens, heads, width of one) and back

    def weight(name: str) -> ov.Node:
        return op.constant(weights[name].float().numpy())

    def linear(x: ov.Node, name: str) -> ov.Node:
        return op.add(op.matmul(x, weight(f"{name}.weight"), False, True), weight(f"{name}.bias"))

    def norm(x: ov.Node, name: str) -> ov.Node:
        x = op.mvn(x, _integers(-1), True, config.layer_norm_eps, "inside_sqrt")
        return op.add(op.multiply(x, weight(f"{name}.weight")), weight(f"{name}.bias"))

    def split_heads(x: ov.Node, name: str) -> ov.Node:
        return op.transpose(op.reshape(linear(x, name), split, True), swapped)

    ids, mask, segments = (
        op.parameter(ov.PartialShape([-1, -1]), ov.Type.i64, name) for name in ("ids", "mask", "segments")
    )
    tokens, first = op.gather(op.shape_of(ids), _integers(1), _integers(0)), np.int64(0)
    places = op.slice(
        weight("embeddings.position_embeddings.weight"), _integers(0), tokens, _integers(1), _integers(0)
    )
    words = op.gather(weight("embeddings.word_embeddings.weight"), ids, first)
    kinds = op.gather(weight("embeddings.token_type_embeddings.weight"), segments, first)
    x = norm(op.add(op.add(words, places), kinds), "embeddings.LayerNorm")

    padding = op.subtract(np.float32(1), op.unsqueeze(op.convert(mask, "f32"), _integers(1, 2)))
    hidden = op.multiply(padding, np.float32(MASKED))  # (batch, 1, 1, tokens)
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        parts = (split_heads(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        mixed = op.scaled_dot_product_attention(*parts, hidden, causal=False)
        mixed = linear(op.reshape(op.transpose(mixed, swapped), join, True), f"{name}.attention.output.dense")
        x = norm(op.add(x, mixed), f"{name}.attention.output.LayerNorm")
        wide = op.gelu(linear(x, f"{name}.intermediate.dense"), "erf")
        x = norm(op.add(x, linear(wide, f"{name}.output.dense")), f"{name}.output.LayerNorm")
    return ov.Model([op.result(x)], [ids, mask, segments], "encoder")


def _integers(*values: int) -> ov.Node:
    return op.constant(np.array(values, dtype=np.int64))

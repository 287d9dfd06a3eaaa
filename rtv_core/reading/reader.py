"""Read (question, passage) pairs once: encoder states, kept for recall and for verification."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from torch import Tensor

from rtv_core.reading.backends import open_encoder
from rtv_core.reading.encoders import Batch, Encoder, TorchEncoder
from rtv_core.reading.form import InputForm, Pair, pad
from rtv_core.reading.network import ReaderNetwork
from rtv_core.records import Passage

__all__ = ["Reader", "States"]


@dataclass(frozen=True, slots=True)
class States:
    """One pair, read: its tokens, and their encoder states (tokens, width)."""

    pair: Pair
    hidden: Tensor


class Reader:
    """The trained network behind a cache of the states it has read, bounded in bytes, least recent out first.

    A pair's states depend on question, title and text. Pairs are sorted by length into small batches and
    padding is masked, but in bfloat16 the company a pair is read in may still round its states otherwise.
    Without an `encoder` the network itself reads, through torch.
    """

    def __init__(
        self,
        network: ReaderNetwork,
        form: InputForm,
        cache_bytes: int = 128 * 2**20,
        encoder: Encoder | None = None,
    ) -> None:
        self.network, self.form = network.eval(), form
        self.encoder = encoder or TorchEncoder(network)
        self._under: dict[str, Reader] = {}
        self._opening = threading.Lock()
        self._cache: OrderedDict[bytes, States] = OrderedDict()
        self._cached_bytes, self._most_bytes = 0, cache_bytes
        self._lock = threading.Lock()

    def read(self, question: str, passages: Sequence[Passage]) -> list[States]:
        """The states of each pair, in order."""
        keys = [_key(question, passage) for passage in passages]
        with self._lock:
            known = {key: self._cache[key] for key in keys if key in self._cache}
            for key in known:
                self._cache.move_to_end(key)
        fresh = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in known}
        read = dict(zip(fresh, self._encode(question, list(fresh.values())), strict=True))
        with self._lock:
            for key, states in read.items():
                self._remember(key, states)
        return [known.get(key) or read[key] for key in keys]

    def under(self, backend: str) -> Reader:
        """This reader on a backend (see `backends.open_encoder`); another than its own has its own cache."""
        best = "openvino" if backend == "auto" else backend
        with self._opening:
            if backend not in self._under:
                known = (r for r in (self, *self._under.values()) if r.encoder.name.startswith(best))
                self._under[backend] = next(known, None) or self._opened(backend)
            return self._under[backend]

    def _opened(self, backend: str) -> Reader:
        encoder = open_encoder(self.network, backend)
        if encoder.name == self.encoder.name:  # it fell back to what this reader has
            return self
        return Reader(self.network, self.form, self._most_bytes, encoder)

    def batches(self, question: str, passages: Sequence[Passage]) -> list[Batch]:
        """What the encoder is given for these passages, if none of them is cached."""
        return self._batches(self.form.pairs(question, passages))[1]

    def _encode(self, question: str, passages: Sequence[Passage]) -> list[States]:
        if not passages:
            return []
        pairs = self.form.pairs(question, passages)
        rows_of_batches, batches = self._batches(pairs)
        found: dict[int, States] = {}
        for rows, hidden in zip(rows_of_batches, self.encoder.encode(batches), strict=True):
            for row, i in enumerate(rows):
                # A copy, so that a short passage does not keep the whole padded batch alive.
                found[i] = States(pairs[i], hidden[row, : len(pairs[i].ids)].clone())
        return [found[i] for i in range(len(pairs))]

    def _batches(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[Batch]]:
        """Which pairs go together, by length, and the batches that they make."""
        order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i].ids), i))
        sizes = self.encoder.sizes(len(pairs))
        ends = list(accumulate(sizes))
        rows = [order[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        return rows, [pad([pairs[i] for i in own]) for own in rows]

    def _remember(self, key: bytes, states: States) -> None:
        if key not in self._cache:
            self._cache[key] = states
            self._cached_bytes += states.hidden.nbytes
        while self._cached_bytes > self._most_bytes and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= dropped.hidden.nbytes


def _key(question: str, passage: Passage) -> bytes:
    digest = hashlib.sha256()
    for part in (question, passage.title, passage.text):
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.digest()

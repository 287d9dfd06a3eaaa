"""Trained baselines from their folders."""

from __future__ import annotations

from pathlib import Path

from rtv_core.baselines.concatenated import ConcatenatedReader
from rtv_core.baselines.joint import JointReader
from rtv_core.baselines.rerank import OracleReranker, RetrievalOrder, TrainedReranker
from rtv_core.baselines.stages import CONCATENATED, JOINT, RERANKER
from rtv_core.baselines.systems import Baseline, ConcatenatedReading, RerankThenRead
from rtv_core.errors import MismatchError, MissingError
from rtv_core.reading.backends import open_encoder
from rtv_core.reading.network import ReaderNetwork
from rtv_core.reading.reader import Reader
from rtv_core.reading.weights import CARD, ReaderCard, input_form, load_reading_network, weights_sha256

__all__ = ["CONCATENATED", "JOINT", "RERANKER", "load_baselines", "load_stage"]

COMMANDS = {RERANKER: "reranker", JOINT: "joint-reader", CONCATENATED: "joint-reader --concatenated"}

ONE_NETWORK = "rerank with one network"
"""The reranker that is the joint reader itself: as large as our reader, and trained as long."""

CACHE_BYTES = 32 * 2**20
"""Two questions' passages: enough for the same question asked of two rerankers."""


def load_baselines(
    reranker: Path | None = None,
    reader: Path | None = None,
    concatenated: Path | None = None,
    backend: str = "auto",
) -> list[Baseline]:
    """The baselines that the trained folders allow, each with the tau of its reader's card.

    A joint reader gets the passages that its own network ranks first, those that an oracle does (where gold
    is known) and those as retrieved; with a folder of a reranker also what that ranks first. Networks that
    read passages one by one run on `backend` (see `rtv_core.reading.backends.open_encoder`). Raises
    MissingError or MismatchError for a folder that isn't what it is named as.
    """
    baselines: list[Baseline] = []
    if reader:
        network, card = load_stage(reader, JOINT)
        states = _reader(network, card, backend)
        weights = _hash("reader", reader) | {"reader_backend": states.encoder.name}
        for own in (TrainedReranker(states, ONE_NETWORK), OracleReranker(), RetrievalOrder()):
            baselines.append(RerankThenRead(own, JointReader(states), card.tau, weights))
        if reranker:
            ranking, other = load_stage(reranker, RERANKER)
            trained = TrainedReranker(_reader(ranking, other, backend))
            weights = weights | _hash("reranker", reranker)
            baselines.insert(1, RerankThenRead(trained, JointReader(states), card.tau, weights))
    if concatenated:
        network, card = load_stage(concatenated, CONCATENATED)
        text_reader = ConcatenatedReader(network, input_form(card))
        baselines.append(ConcatenatedReading(text_reader, card.tau, _hash("reader", concatenated)))
    return baselines


def load_stage(folder: Path, stage: str) -> tuple[ReaderNetwork, ReaderCard]:
    """Network and card of a folder that must hold this stage."""
    if not (folder / CARD).is_file():
        raise MissingError(
            f"There is no {stage} in {folder}. Train one with `python -m rtv_core train {COMMANDS[stage]}`."
        )
    network, card = load_reading_network(folder)
    if card.stage != stage:
        raise MismatchError(f"{folder} holds a {card.stage}, not a {stage}. Name the folder of a {stage}.")
    return network, card


def _reader(network: ReaderNetwork, card: ReaderCard, backend: str) -> Reader:
    return Reader(network, input_form(card), CACHE_BYTES, open_encoder(network, backend))


def _hash(part: str, folder: Path) -> dict[str, str]:
    return {f"{part}_sha256": weights_sha256(folder)}

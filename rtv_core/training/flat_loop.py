"""The training loop of the paper's models: a flat rate after warm-up, on one device or several.

A step reads `batch` examples, a few at a time where memory is short. Started under `accelerate launch`, each
device reads its part of every step. Where an example's loss is its own (recaller, verifier), parts and
devices change only the time and what dropout draws. The retriever's loss depends on both: a passage competes
with those that the same device reads at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from transformers import PreTrainedModel

from rtv_core.errors import InputError

__all__ = ["FlatLoop", "TrainingFacts", "read_log", "run_flat"]

BEST, CHECKPOINT, LOG = "best.safetensors", "checkpoint.pt", "log.jsonl"

log = logging.getLogger(__name__)

Losses = Callable[[Sequence[object]], Tensor]
"""What examples that are read together cost, (examples,): each one's sum over its targets."""


@dataclass(frozen=True, slots=True)
class FlatLoop:
    """How long and how fast.

    `batch` examples make a step, over all devices; a device reads `device_batch` of them at a time. There are
    at most `steps`; with dev examples, which are looked at every `evaluate_every` steps, training stops after
    `patience` looks without a lower loss, and the best weights are kept. Checkpoints are as frequent.
    `dtype` "bfloat16" computes in it and keeps the weights in float32. `recompute` saves memory: activations
    are computed again in the backward pass, with the same result.
    """

    rate: float = 1e-5
    warmup: int = 500
    steps: int = 10_000
    batch: int = 320
    device_batch: int = 8
    evaluate_every: int = 500
    patience: int = 5
    weight_decay: float = 0.0
    clip: float = 1.0
    dtype: str = "float32"
    recompute: bool = False
    log_every: int = 20
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What became of a training. `dev_loss` is the best on dev, None without dev examples; it was met after
    `best_step`, whose weights are kept."""

    examples: int
    steps: int
    best_step: int
    dev_loss: float | None
    stopped_early: bool


@dataclass
class _State:
    """Where a training stands; `waited` counts the looks at dev since the best one."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0


def run_flat(
    network: nn.Module,
    examples: Sequence[object],
    losses: Losses,
    folder: Path,
    loop: FlatLoop,
    weight: Callable[[object], float] = lambda example: 1.0,
    dev: Sequence[object] = (),
    progress: Callable[[int, int], None] | None = None,
    plan: str = "",
) -> TrainingFacts:
    """Train in place; `losses` reads the network. The loss of a step is the mean over its examples' targets.

    `weight` is how many targets an example has. A run started again in `folder` goes on after its last
    checkpoint; of another `plan`, other examples or another rate, batch or seed it raises InputError.
    """
    if not examples:
        raise InputError("There is nothing to train on: no question has a retrieved passage to learn from.")
    accelerator = Accelerator()
    if loop.batch < accelerator.num_processes:
        raise InputError(f"A batch of {loop.batch} is too small for {accelerator.num_processes} devices.")
    plan = _plan(plan, examples, loop)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(loop.seed)
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=loop.rate, weight_decay=loop.weight_decay)
    if loop.recompute:
        _recompute(network, True)
    taught, optimizer = accelerator.prepare(_Taught(network, losses, loop.dtype), optimizer)
    state = _resume(folder, plan, network, optimizer, accelerator)
    order, sums, since, logged = _Order(len(examples), loop.seed), 0.0, time.perf_counter(), state.step
    early = state.waited >= loop.patience
    taught.train()
    while state.step < loop.steps and not early:
        chosen = [examples[i] for i in order.take(state.step * loop.batch, loop.batch)]
        for group in optimizer.param_groups:
            group["lr"] = loop.rate * min(1.0, (state.step + 1) / max(1, loop.warmup))
        sums += _step(taught, chosen, weight, optimizer, accelerator, loop)
        state.step += 1
        last = state.step == loop.steps
        row: dict[str, float] = {}
        if state.step % loop.log_every == 0 or last:
            now = time.perf_counter()
            row |= {"loss": round(sums / (state.step - logged), 5)}
            row |= {"seconds_a_step": round((now - since) / (state.step - logged), 4)}
            sums, since, logged = 0.0, now, state.step
        if state.step % loop.evaluate_every == 0 or last:
            if dev:
                found = _dev_loss(taught, dev, weight, accelerator, loop)
                row |= {"dev_loss": round(found, 5)}
                _remember(state, found, network, folder, accelerator)
                early = state.waited >= loop.patience
            _checkpoint(folder, plan, state, network, optimizer, accelerator)
        if row and accelerator.is_main_process:
            _write_row(folder, row | {"step": state.step})
        if progress and accelerator.is_main_process:
            progress(state.step, loop.steps)
    accelerator.wait_for_everyone()
    if loop.recompute:
        _recompute(network, False)
    if state.best is not None:
        load_model(network, folder / BEST)
    network.eval()
    best_step = state.best_step or state.step
    return TrainingFacts(len(examples), state.step, best_step, state.best, early)


def read_log(folder: Path) -> list[dict[str, float]]:
    """The rows that a training wrote, each with its `step`: `loss` on what it read, `dev_loss` at looks."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


class _Taught(nn.Module):
    """The network as a function of examples, so that a wrapper for several devices sees every pass."""

    def __init__(self, network: nn.Module, losses: Losses, dtype: str) -> None:
        super().__init__()
        self.network, self._losses, self._low = network, losses, dtype == "bfloat16"

    def forward(self, examples: Sequence[object]) -> Tensor:
        device = next(self.network.parameters()).device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self._low):
            return self._losses(examples).float()


class _Order:
    """The examples of one epoch after the other, each shuffled by its number."""

    def __init__(self, count: int, seed: int) -> None:
        self._count, self._seed = count, seed
        self._epoch = lru_cache(maxsize=2)(self._shuffled)

    def take(self, start: int, number: int) -> list[int]:
        places = (divmod(at, self._count) for at in range(start, start + number))
        return [self._epoch(epoch)[place] for epoch, place in places]

    def _shuffled(self, epoch: int) -> list[int]:
        rows = list(range(self._count))
        random.Random(f"{self._seed}-{epoch}").shuffle(rows)
        return rows


def _recompute(network: nn.Module, on: bool) -> None:
    """Have the pretrained models in a network compute activations again in the backward pass, or not."""
    for module in network.modules():
        if isinstance(module, PreTrainedModel):
            (module.activation_checkpointing_enable if on else module.activation_checkpointing_disable)()


def _step(
    taught: nn.Module,
    chosen: Sequence[object],
    weight: Callable[[object], float],
    optimizer: torch.optim.Optimizer,
    accelerator: Accelerator,
    loop: FlatLoop,
) -> float:
    """One optimiser step; returns the loss of the whole batch."""
    total = sum(map(weight, chosen))
    own, loss = _parts(chosen, accelerator, loop), torch.zeros((), device=accelerator.device)
    for number, part in enumerate(own, 1):
        # Gradients are averaged over devices, so each device's share counts as often as there are devices.
        with nullcontext() if number == len(own) else accelerator.no_sync(taught):
            share = taught(part).sum() / total * accelerator.num_processes
            accelerator.backward(share)
        loss += share.detach() / accelerator.num_processes
    norm = accelerator.clip_grad_norm_(taught.parameters(), loop.clip)
    if torch.isfinite(norm):
        optimizer.step()
    else:
        log.warning("A step has no finite gradient and is left out.")
    optimizer.zero_grad(set_to_none=True)
    return accelerator.reduce(loss, "sum").item()


def _parts(some: Sequence[object], accelerator: Accelerator, loop: FlatLoop) -> list[Sequence[object]]:
    """This device's share of the examples, in parts of `device_batch`."""
    own = some[accelerator.process_index :: accelerator.num_processes]
    return [own[i : i + loop.device_batch] for i in range(0, len(own), loop.device_batch)]


@torch.no_grad()
def _dev_loss(
    taught: nn.Module,
    dev: Sequence[object],
    weight: Callable[[object], float],
    accelerator: Accelerator,
    loop: FlatLoop,
) -> float:
    taught.eval()
    found = torch.zeros((), device=accelerator.device)
    for part in _parts(dev, accelerator, loop):
        # Past the wrapper, which would wait for the other devices.
        found += accelerator.unwrap_model(taught)(part).sum()
    taught.train()
    return accelerator.reduce(found, "sum").item() / sum(map(weight, dev))


def _remember(
    state: _State, found: float, network: nn.Module, folder: Path, accelerator: Accelerator
) -> None:
    """Count the look at dev, and keep the weights if it was the best one."""
    if state.best is not None and found >= state.best:
        state.waited += 1
        return
    state.best, state.best_step, state.waited = found, state.step, 0
    if accelerator.is_main_process:
        aside = folder / (BEST + ".partial")
        save_model(network, str(aside))
        aside.replace(folder / BEST)


def _plan(plan: str, examples: Sequence[object], loop: FlatLoop) -> str:
    """What makes two runs one: how long they go on and how often they look at dev does not."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode("utf-8", "surrogatepass"))
    kept = {name: getattr(loop, name) for name in ("rate", "warmup", "batch", "seed", "weight_decay", "clip")}
    return f"{plan} {kept} {len(examples)} {digest.hexdigest()[:16]}"


def _checkpoint(
    folder: Path,
    plan: str,
    state: _State,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    accelerator: Accelerator,
) -> None:
    if not accelerator.is_main_process:
        return
    aside = folder / (CHECKPOINT + ".partial")
    kept = {
        "plan": plan,
        "state": asdict(state),
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(kept, aside)
    aside.replace(folder / CHECKPOINT)


def _resume(
    folder: Path,
    plan: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    accelerator: Accelerator,
) -> _State:
    path = folder / CHECKPOINT
    if not path.exists():
        if accelerator.is_main_process:
            (folder / LOG).unlink(missing_ok=True)
        return _State()
    kept = torch.load(path, map_location="cpu", weights_only=True)
    if kept.get("plan") != plan:
        raise InputError(f"{folder} holds a checkpoint of another training. Name another folder by --out.")
    network.load_state_dict(kept["network"])
    optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["random"])
    state = _State(**kept["state"])
    if accelerator.is_main_process:
        rows = [row for row in read_log(folder) if row["step"] <= state.step]
        (folder / LOG).write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    log.info("Going on after step %d.", state.step)
    return state


def _write_row(folder: Path, row: dict[str, float]) -> None:
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, sort_keys=True) + "\n")

"""The training loop that both stages share: AdamW, warm-up and linear decay, checkpoints, resume, a log."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rtv_core.errors import InputError

__all__ = ["LoopSettings", "plan_name", "run_steps"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Peak learning rates of the encoder and of the heads, the share of steps spent warming up, decay.

    A checkpoint is written every `checkpoint_every` steps, a log line every `log_every`.
    """

    encoder_rate: float = 1.2e-4
    head_rate: float = 6e-4
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip: float = 1.0
    checkpoint_every: int = 200
    log_every: int = 20


def plan_name(plan: Any) -> str:
    """What a checkpoint knows a plan by: its repr, and what that leaves out where it isn't at its default.

    So a field may join a plan, kept out of its repr, without ending the trainings that were begun before.
    """
    hidden = [
        field for field in fields(plan) if not field.repr and getattr(plan, field.name) != field.default
    ]
    return ", ".join([repr(plan), *(f"{field.name}={getattr(plan, field.name)!r}" for field in hidden)])


def run_steps(
    network: nn.Module,
    batches: Sequence[object],
    losses: Callable[[object], dict[str, Tensor]],
    folder: Path,
    settings: LoopSettings,
    progress: Callable[[int, int], None] | None = None,
    plan: str = "",
) -> None:
    """One optimiser step per batch; `losses(batch)` gives named losses, which are added up.

    A run started again in `folder` goes on after its last checkpoint. One of another `plan`, of other batches
    or from another network raises InputError. Embeddings are not trained: they come from the base model at
    run time.
    """
    for parameter in network.encoder.embeddings.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.AdamW(_groups(network, settings), weight_decay=settings.weight_decay, fused=True)
    steps = len(batches)
    warm = max(1, int(steps * settings.warmup))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.02, (steps - step) / max(1, steps - warm)))
    )
    plan = f"{plan} in {steps} steps on {_digest(network, batches)}"
    done = _resume(folder, plan, network, optimizer, schedule)
    folder.mkdir(parents=True, exist_ok=True)
    network.train()
    # The fused attention's backward pass takes a third of a step on a CPU; the plain one a tenth.
    network.encoder.set_attn_implementation("eager")
    sums: dict[str, float] = {}
    since, logged = time.perf_counter(), done
    for step in range(done, steps):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            parts = losses(batches[step])
        optimizer.zero_grad(set_to_none=True)
        torch.stack(list(parts.values())).sum().backward()
        norm = nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        if torch.isfinite(norm):
            optimizer.step()
        else:
            log.warning("Step %d has no finite gradient and is left out.", step)
        schedule.step()
        for name, value in parts.items():
            sums[name] = sums.get(name, 0.0) + float(value.detach())
        if progress:
            progress(step + 1, steps)
        if (step + 1) % settings.log_every == 0 or step + 1 == steps:
            now = time.perf_counter()
            line = {name: round(value / (step + 1 - logged), 4) for name, value in sums.items()}
            line |= {
                "step": step + 1,
                "of": steps,
                "seconds_a_step": round((now - since) / (step + 1 - logged), 3),
            }
            with (folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, sort_keys=True) + "\n")
            sums, since, logged = {}, now, step + 1
        if (step + 1) % settings.checkpoint_every == 0:
            _checkpoint(folder, plan, step + 1, network, optimizer, schedule)
    network.encoder.set_attn_implementation("sdpa")
    network.eval()


def _groups(network: nn.Module, settings: LoopSettings) -> list[dict[str, object]]:
    encoder = [p for name, p in network.named_parameters() if name.startswith("encoder.") and p.requires_grad]
    heads = [p for name, p in network.named_parameters() if not name.startswith("encoder.")]
    return [
        {"params": encoder, "lr": settings.encoder_rate},
        {"params": heads, "lr": settings.head_rate},
    ]


def _digest(network: nn.Module, batches: Sequence[object]) -> str:
    """A hash of the network to start from and of every batch."""
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().float().numpy().tobytes())
    for batch in batches:
        digest.update(repr(batch).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _checkpoint(folder: Path, plan: str, step: int, network: nn.Module, optimizer, schedule) -> None:
    aside = folder / "checkpoint.partial"
    torch.save(
        {
            "plan": plan,
            "step": step,
            "network": network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "random": torch.get_rng_state(),
        },
        aside,
    )
    aside.replace(folder / "checkpoint.pt")


def _resume(folder: Path, plan: str, network: nn.Module, optimizer, schedule) -> int:
    path = folder / "checkpoint.pt"
    if not path.exists():
        return 0
    kept = torch.load(path, weights_only=True)
    if kept.get("plan") != plan:
        raise InputError(f"{folder} holds a checkpoint of another training. Name another folder by --out.")
    network.load_state_dict(kept["network"])
    optimizer.load_state_dict(kept["optimizer"])
    schedule.load_state_dict(kept["schedule"])
    torch.set_rng_state(kept["random"])
    log.info("Going on after step %d.", kept["step"])
    return kept["step"]

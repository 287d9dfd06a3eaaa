"""Seconds a question by stage, start-up and memory, on the machine at hand; then what encode-once saves.

Run: python -m benchmarks.speed [--index DIR --questions FILE] [--count 40] [--grid 3]

Without an index the demo corpus and its questions are used. The first question warms up and is not counted.
The second part asks a few questions at several |B|, |A| and k (see `benchmarks.grid`).
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import click
import torch

from benchmarks.grid import measure_grid, peak_gflops, render_grid
from rtv_core.datasets import load_questions
from rtv_core.factory import DEMO_QUESTIONS, load_models
from rtv_core.settings import load_settings


@click.command()
@click.option("--index", type=click.Path(path_type=Path))
@click.option("--questions", type=click.Path(path_type=Path), default=DEMO_QUESTIONS)
@click.option("--count", default=40, show_default=True, help="Questions asked.")
@click.option("--grid", "few", default=3, show_default=True, help="Questions of the second part; 0: none.")
@click.option("--set", "overrides", multiple=True)
def main(index: Path | None, questions: Path, count: int, few: int, overrides: tuple[str, ...]) -> None:
    """Print medians and 90 % quantiles of wall seconds, CPU seconds, and resident memory."""
    started = time.perf_counter()
    models = load_models(index)
    settings = load_settings("embedded", overrides)
    pipeline = models.pipeline(settings)
    print(f"models loaded in {time.perf_counter() - started:.1f} s")
    asked = [q.text for q in load_questions(questions)][: count + 1]
    pipeline.ask(asked[0])
    stages: dict[str, list[float]] = {}
    first, candidates, cpu = [], [], []
    for text in asked[1:]:
        start, used = time.perf_counter(), time.process_time()
        for trace in pipeline.steps(text):
            if trace.stage == "retrieved" and not trace.readings:
                first.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
        candidates.append(len(trace.candidates))
        for stage, seconds in trace.seconds.items():
            stages.setdefault(stage, []).append(seconds)
        stages.setdefault("all", []).append(time.perf_counter() - start)
    print(
        f"{len(asked) - 1} questions, {pipeline.settings.retriever.passages} passages each, "
        f"{statistics.mean(candidates):.1f} candidates on average"
    )
    stages |= {"first passages": first, "CPU seconds": cpu}
    for stage, seconds in stages.items():
        tenth = statistics.quantiles(seconds, n=10)[-1] if len(seconds) > 1 else seconds[0]
        print(f"{stage:>15}  median {statistics.median(seconds):6.3f} s   90 % {tenth:6.3f} s")
    print(f"resident memory {_resident_mib():,.0f} MiB, at its peak {_peak_mib():,.0f} MiB")
    if few:
        backend = pipeline.provenance["reader_backend"]
        dtype = torch.bfloat16 if backend.endswith("bfloat16") else torch.float32
        print(render_grid(measure_grid(models, settings, asked[-few:]), peak_gflops(dtype), backend), end="")


def _resident_mib() -> float:
    return _status("VmRSS")


def _peak_mib() -> float:
    return _status("VmHWM")


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    main()

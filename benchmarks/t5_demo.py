"""The paper's whole chain on the demo corpus, by a T5 of about five million weights that starts from nothing.

Run: python -m benchmarks.t5_demo --out DIR

The embedded encoder is fine-tuned first, and the corpus is indexed with it. No pretrained T5 is needed:
vocabulary and weights are made here, and the verifier starts from the recaller's weights instead of a T5's.
Nothing is claimed about quality: it is asked whether the chain learns, on the very questions that it was
trained on, and whether the verifier betters its recaller. Stopped and started again, it goes on.
DIR/losses.svg has the loss curves. To ask the models: --profile DIR/verifier/profile.toml --index DIR/index.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from xml.sax.saxutils import escape

import click

from rtv_core.cli.options import progress_bar
from rtv_core.datasets import load_questions
from rtv_core.errors import RtvError
from rtv_core.factory import DEMO_CORPUS, DEMO_QUESTIONS, demo_index
from rtv_core.metrics import f1_optimal, hits, is_multi
from rtv_core.reading.t5 import VERIFIER, load_t5, save_t5
from rtv_core.recall.seq2seq import SequenceRecaller
from rtv_core.records import EVIDENCE_SIZES, Passage, Trace, Verdict
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.index import build_index, glance
from rtv_core.settings import VerifierSettings
from rtv_core.thresholds import FINE_TAUS, answers, judge
from rtv_core.training.blank_t5 import BlankShape, blank_t5
from rtv_core.training.flat_loop import FlatLoop, read_log
from rtv_core.training.recipes import RecallPlan, Recipe, RetrievePlan, VerifyPlan
from rtv_core.training.run_t5 import (
    TRAINING,
    choose_paper_tau,
    gathered,
    open_retriever,
    run_retriever,
    run_t5_recaller,
    run_t5_verifier,
    verified,
    work_folder,
    write_profile,
)
from rtv_core.verify.fid import FusionVerifier
from rtv_core.wire import from_json

__all__ = ["Measured", "Outcome", "loss_picture", "main", "measure", "train_chain"]

STAGES = ("retriever", "recaller", "verifier")

LEARNING = FlatLoop(
    warmup=50,
    batch=32,
    device_batch=32,
    evaluate_every=100,
    weight_decay=0.01,
    log_every=10,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a system's answers are worth: F1 on all questions, and on those with several answers, 0 to 1.

    `answers` is how many it gives a question, `hit` how many gold answers it gives in all. `tau` is None
    where every candidate is an answer.
    """

    system: str
    tau: float | None
    answers: float
    hit: int
    f1_all: float
    f1_multi: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the chain; `seconds` is wall time by stage."""

    weights: int
    questions: int
    rows: tuple[Measured, ...]
    seconds: Mapping[str, float]


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--questions", type=click.Path(path_type=Path), default=DEMO_QUESTIONS)
@click.option("--passages", default=20, show_default=True, help="Retrieved a question.")
@click.option("--retriever-steps", default=30, show_default=True)
@click.option("--recaller-steps", default=200, show_default=True)
@click.option("--verifier-steps", default=450, show_default=True)
@click.option("--verifier-batch", default=32, show_default=True)
@click.option("--retriever-rate", default=2e-5, show_default=True)
@click.option("--recaller-rate", default=1e-3, show_default=True)
@click.option("--verifier-rate", default=3e-4, show_default=True)
@click.option("--alpha-neg", default=0.1, show_default=True)
@click.option("--k", default=1, show_default=True, help="Passages behind a score: 1, 5 or 10.")
@click.option("--dtype", default="float32", show_default=True, help="Or bfloat16.")
def main(
    out: Path,
    questions: Path,
    passages: int,
    retriever_steps: int,
    recaller_steps: int,
    verifier_steps: int,
    verifier_batch: int,
    retriever_rate: float,
    recaller_rate: float,
    verifier_rate: float,
    alpha_neg: float,
    k: int,
    dtype: str,
) -> None:
    """Train all three stages, and print what they are worth on what they were trained on."""
    few = {"batch": 16, "device_batch": 16, "warmup": 5, "evaluate_every": 10, "log_every": 1}
    retrieving = replace(LEARNING, dtype=dtype, rate=retriever_rate, steps=retriever_steps, **few)
    recalling = replace(LEARNING, dtype=dtype, rate=recaller_rate, steps=recaller_steps)
    parts = {"batch": verifier_batch, "device_batch": verifier_batch}
    verifying = replace(LEARNING, dtype=dtype, rate=verifier_rate, steps=verifier_steps, **parts)
    retriever = Recipe(RetrievePlan(passages=passages, hard=1), retrieving)
    recaller = Recipe(RecallPlan("", passages, alpha_neg), recalling)
    verifier = Recipe(VerifyPlan("", passages, k=k), verifying)
    try:
        index = demo_index(SentenceEncoder(dtype="float32"))
        lines = DEMO_CORPUS.read_text(encoding="utf-8").splitlines()
        texts = [f"{p.title} {p.text}" for p in (from_json(Passage, line) for line in lines)]
        texts += [question.text for question in load_questions(questions)]
        found = train_chain(DEMO_CORPUS, index, questions, texts, out, retriever, recaller, verifier)
    except RtvError as error:
        raise click.ClickException(str(error)) from error
    print(render(found), end="")


def train_chain(
    corpus: Path,
    index: Path,
    questions: Path,
    texts: Iterable[str],
    out: Path,
    retriever: Recipe,
    recaller: Recipe,
    verifier: Recipe,
    shape: BlankShape | None = None,
) -> Outcome:
    """Train a retriever on what `index` finds, a recaller on what it finds, and a verifier; measure the two.

    The recaller begins as a blank T5 with the texts' words, the verifier as the recaller.
    """
    seconds: dict[str, float] = {}
    start = out / "start"
    with _timed(seconds, "train retriever"), progress_bar("retriever steps") as progress:
        run_retriever(questions, index, out / "retriever", retriever, progress=progress)
    with _timed(seconds, "index"):
        index = _indexed(corpus, out / "index", out / "retriever")
    with _timed(seconds, "train recaller"), progress_bar("recaller steps") as progress:
        blank = blank_t5(list(texts), shape)
        weights = sum(parameter.numel() for parameter in blank.model.parameters())
        save_t5(blank, start / "recaller")
        recaller = replace(recaller, plan=replace(recaller.plan, base=str(start / "recaller")))
        run_t5_recaller(questions, index, out / "recaller", recaller, progress=progress)
    with _timed(seconds, "train verifier"), progress_bar("verifier steps") as progress:
        # Having no T5 that has read anything before, the verifier starts from what the recaller has learned.
        read = load_t5(str(out / "recaller"), "recaller", TRAINING)
        save_t5(replace(read, card=VERIFIER), start / "verifier")
        verifier = replace(verifier, plan=replace(verifier.plan, base=str(start / "verifier")))
        run_t5_verifier(questions, index, out / "recaller", out / "verifier", verifier, progress=progress)
    with _timed(seconds, "answer and measure"):
        rows, tau = _measure_both(questions, index, out, verifier.plan)
    write_profile(out / "verifier" / "profile.toml", out / "recaller", out / "verifier", tau, verifier.plan.k)
    curves = {stage: read_log(work_folder(out / stage)) for stage in STAGES}
    (out / "losses.svg").write_text(loss_picture(curves), encoding="utf-8")
    known = sum(any(question.answers) for question in load_questions(questions))
    return Outcome(weights, known, rows, seconds)


def measure(system: str, traces: Sequence[Trace], tau: float | None, k: int = 10) -> Measured:
    """The answers of finished traces above tau, or every candidate where that is None."""
    given = []
    for trace in traces:
        accepted = judge(trace, VerifierSettings(tau=tau or 0.0, k=k))
        given.append([p.answer for p in accepted] if tau is None else answers(accepted))
    gold = [trace.question.answers for trace in traces]
    scores = [f1_optimal(some, own).f1 for some, own in zip(given, gold, strict=True)]
    multi = [score for score, trace in zip(scores, traces, strict=True) if is_multi(trace.question)]
    return Measured(
        system,
        tau,
        mean(map(len, given)),
        sum(hits(some, own) for some, own in zip(given, gold, strict=True)),
        mean(scores),
        mean(multi) if multi else 0.0,
    )


def render(found: Outcome) -> str:
    """The table, in Markdown."""
    spent = ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in found.seconds.items())
    lines = [
        f"A T5 of {found.weights / 1e6:.1f} million weights, from nothing, on {found.questions} demo "
        "questions; measured on the same questions, F1 (all / multi) in points.",
        "",
        "| system | tau | answers a question | #Hit | F1 |",
        "|---|---|---|---|---|",
    ]
    for row in found.rows:
        tau = "-" if row.tau is None else f"{row.tau:g}"
        f1 = f"{100 * row.f1_all:.1f} / {100 * row.f1_multi:.1f}"
        lines.append(f"| {row.system} | {tau} | {row.answers:.1f} | {row.hit} | {f1} |")
    return "\n".join([*lines, "", f"Wall time: {spent}; {sum(found.seconds.values()):.0f} s in all.", ""])


def loss_picture(curves: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """The training losses by step as an SVG, one panel a stage, each with its own scales from 0."""
    width, height, left, top, bottom = 420, 300, 56, 40, 48
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * len(curves)} {height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{width * len(curves)}" height="{height}" fill="#ffffff"/>',
    ]
    for place, (stage, rows) in enumerate(curves.items()):
        points = [(row["step"], row["loss"]) for row in rows if "loss" in row]
        right = max((step for step, _ in points), default=1)
        most = max((loss for _, loss in points), default=0.0) or 1.0
        inner, tall = width - left - 16, height - top - bottom
        x0, y0 = place * width + left, height - bottom
        line = " ".join(f"{x0 + inner * x / right:.1f},{y0 - tall * y / most:.1f}" for x, y in points)
        parts.append(f'<text x="{x0}" y="{top - 16}" font-weight="600">{escape(stage)}: loss</text>')
        for share in (0, 0.5, 1):
            y, x = y0 - tall * share, x0 + inner * share
            parts.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + inner}" y2="{y:.1f}" stroke="#dfe3e8"/>')
            parts.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{most * share:.2f}</text>')
            parts.append(f'<text x="{x:.1f}" y="{y0 + 18}" text-anchor="middle">{right * share:.0f}</text>')
        parts.append(f'<text x="{x0 + inner / 2}" y="{y0 + 36}" text-anchor="middle">step</text>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="#2f6db5" stroke-width="1.5"/>')
    return "\n".join([*parts, "</svg>", ""])


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Keep how long a stage takes, and say so when it is done."""
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began
    click.echo(f"{stage}: {seconds[stage]:.0f} s", err=True)


def _indexed(corpus: Path, out: Path, encoder: Path) -> Path:
    """The index of the corpus by the encoder in a folder, built unless it is there."""
    if glance(out) is None:
        build_index(corpus, out, SentenceEncoder(str(encoder.resolve()), dtype="float32"))
    return out


def _measure_both(
    questions: Path, index: Path, out: Path, plan: VerifyPlan
) -> tuple[tuple[Measured, ...], float]:
    """The recaller alone, all of it and above its own best score, and the verifier after it; its tau."""
    asked = [question for question in load_questions(questions) if any(question.answers)]
    recaller = SequenceRecaller(load_t5(str(out / "recaller"), "recaller"))
    found = list(gathered(asked, open_retriever(index), recaller, plan.passages))
    by_recall = [
        trace.grown(verdicts=tuple(Verdict((c.score,) * len(EVIDENCE_SIZES)) for c in trace.candidates))
        for trace in found
    ]
    best = max((measure("recaller, above its best score", by_recall, t) for t in FINE_TAUS), key=_worth)
    judged = verified(found, FusionVerifier(load_t5(str(out / "verifier"), "verifier")))
    tau, _ = choose_paper_tau(judged, plan.k)
    both = measure("recaller and verifier", judged, tau, plan.k)
    return (measure("recaller, every candidate", by_recall, None), best, both), tau


def _worth(row: Measured) -> float:
    return row.f1_all + row.f1_multi


if __name__ == "__main__":
    main()

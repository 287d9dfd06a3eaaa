"""Quality of retrieval, recall and verification on multi-answer questions, beside two plain baselines.

Run: python -m benchmarks.quality --data DIR --index DIR --out DIR [--models DIR] [--splits dev,test,demo]

`--data` holds questions/multispanqa-{dev,test}.jsonl.gz, `--index` is the index of the corpus they are asked
over. Rows are kept in OUT as JSON lines; a question with a row is not asked again. Tau and the logistic
regression are fitted on dev; test is reported, nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from rtv_core.datasets import load_questions
from rtv_core.factory import DEMO_QUESTIONS, MODELS, load_models
from rtv_core.metrics import (
    Interval,
    bootstrap_mean,
    covered_answers,
    f1_official,
    f1_optimal,
    hits,
    matched_answers,
    mrecall_at,
    paired_bootstrap,
)
from rtv_core.pipeline import Pipeline
from rtv_core.records import EVIDENCE_SIZES, Candidate, Question, Source, Span, Trace, Verdict
from rtv_core.settings import VerifierSettings, load_settings
from rtv_core.thresholds import FINE_TAUS, answers, judge

FINE = tuple(np.round(np.arange(0.02, 0.99, 0.02), 2))
"""Thresholds tried for the baselines: finer than our own, so that none of their loss is a coarse grid's."""

COMPLETE = DEMO_QUESTIONS.with_name("complete.jsonl")
K = len(EVIDENCE_SIZES) - 1


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--index", type=click.Path(path_type=Path), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--models", type=click.Path(path_type=Path), default=MODELS, show_default=True)
@click.option("--splits", default="dev,test,demo", show_default=True)
@click.option("--set", "overrides", multiple=True)
def main(data: Path, index: Path, out: Path, models: Path, splits: str, overrides: tuple[str, ...]) -> None:
    """Answer what is missing, then print the table."""
    out.mkdir(parents=True, exist_ok=True)
    settings = load_settings("embedded", overrides)
    wanted = splits.split(",")
    for split in wanted:
        source = COMPLETE if split == "demo" else data / f"questions/multispanqa-{split}.jsonl.gz"
        questions = load_questions(source)
        path = out / f"{split}.jsonl"
        if len(_read(path)) < len(questions):
            pipeline = load_models(None if split == "demo" else index, models).pipeline(settings)
            _collect(pipeline, questions, path)
    _table({split: _read(out / f"{split}.jsonl") for split in wanted}, out)


def _collect(pipeline: Pipeline, questions: Sequence[Question], path: Path) -> None:
    """Answer the questions that `path` lacks, adding a line each."""
    known = _read(path)
    if known and known[0]["provenance"] != dict(pipeline.provenance):
        raise click.ClickException(f"{path} was made with other models or settings. Name another --out.")
    done = {row["id"] for row in known}
    with path.open("a", encoding="utf-8") as file:
        for question in tqdm([q for q in questions if q.id not in done], desc=path.stem):
            file.write(json.dumps(_row(pipeline.ask(question)), ensure_ascii=False, sort_keys=True) + "\n")
            file.flush()


def _row(trace: Trace) -> dict[str, Any]:
    """What the table needs of a trace: no passage texts."""
    annotations = trace.question.answers
    texts = [hit.passage.text for hit in trace.hits]
    return {
        "id": trace.question.id,
        "question": trace.question.text,
        "answers": annotations,
        "mrecall": {str(k): mrecall_at(k, texts, annotations) for k in (5, 10, 20, 100)}
        if any(annotations)
        else {},
        "covered": [covered_answers(texts, annotation) for annotation in annotations],
        "candidates": [
            {
                "answer": candidate.answer,
                "recall": candidate.score,
                "p_right": verdict.p_right,
                "plain": plain_features(trace, i),
                "sources": [[s.passage_id, s.span.start, s.span.end] for s in candidate.sources],
            }
            for i, (candidate, verdict) in enumerate(zip(trace.candidates, trace.verdicts, strict=True))
        ],
        "seconds": dict(trace.seconds),
        "provenance": dict(trace.provenance),
    }


def plain_features(trace: Trace, i: int) -> list[float]:
    """Nine plain features of a candidate: what a logistic regression can know of it without reading.

    Best and summed span score, passages recalling it, evidence passages covering it, best rank of either,
    best relevance, best dense score, length in words.
    """
    candidate, evidence = trace.candidates[i], trace.evidence[i]
    covering = [p for p in evidence.passages if p.covers]
    return [
        candidate.score,
        math.log1p(sum(s.span.score for s in candidate.sources)),
        math.log1p(len({s.passage_id for s in candidate.sources})),
        len(covering) / 10,
        math.log(min(s.rank for s in candidate.sources)),
        math.log(min((p.hit.rank for p in covering), default=200)),
        max(s.relevance for s in candidate.sources),
        max((p.hit.dense for p in covering), default=0.0),
        len(candidate.answer.split()),
    ]


@dataclass(frozen=True)
class System:
    """A way to score candidates, and the thresholds it may choose from on dev."""

    name: str
    score: Callable[[dict[str, Any]], float]
    taus: Sequence[float]

    def predict(self, row: dict[str, Any], tau: float) -> list[str]:
        """The answers under the rule of `thresholds.judge`, whatever gave the scores."""
        verdicts = tuple(Verdict((self.score(c),) * len(EVIDENCE_SIZES)) for c in row["candidates"])
        trace = Trace(Question("", ""), candidates=_candidates(row), verdicts=verdicts)
        return answers(judge(trace, VerifierSettings(tau=tau)))

    def best_tau(self, rows: Iterable[dict[str, Any]]) -> float:
        rows = list(rows)
        return max(
            self.taus, key=lambda tau: (np.mean([_f1(self.predict(row, tau), row) for row in rows]), -tau)
        )


def _candidates(row: dict[str, Any]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            c["answer"],
            (c["answer"],),
            c["recall"],
            tuple(Source(passage, 0, Span(start, end, 0.0), 0.0) for passage, start, end in c["sources"]),
        )
        for c in row["candidates"]
    )


def _f1(predictions: Sequence[str], row: dict[str, Any]) -> float:
    return f1_optimal(predictions, row["answers"]).f1


def _systems(dev: Sequence[dict[str, Any]]) -> list[System]:
    return [
        System("recall, then verify", lambda c: c["p_right"][K], FINE_TAUS),
        System("recaller alone", lambda c: c["recall"], FINE),
        System("logistic regression on 9 plain features", _fit_plain(dev), FINE),
    ]


def _fit_plain(dev: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], float]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = [c["plain"] for row in dev for c in row["candidates"]]
    labels = [right for row in dev for right in _right(row)]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features, labels)
    return lambda c: float(model.predict_proba([c["plain"]])[0, 1])


def _right(row: dict[str, Any]) -> list[bool]:
    """Which candidates equal a gold answer."""
    gold = [annotation for annotation in row["answers"] if annotation]
    return [any(any(matched_answers([c["answer"]], a)) for a in gold) for c in row["candidates"]]


def _table(rows: dict[str, list[dict[str, Any]]], out: Path) -> None:
    results: dict[str, Any] = {"provenance": next(iter(rows.values()))[0]["provenance"]}
    dev = rows.get("dev")
    for split, some in rows.items():
        answerable = [row for row in some if any(row["answers"])]
        results[split] = {"questions": len(some)} | _retrieval_and_recall(answerable) | _seconds(some)
    if dev:
        systems = _systems(dev)
        # A logistic regression scores one candidate at a time slowly; once each is enough.
        systems = [System(s.name, _remembered(s.score, rows), s.taus) for s in systems]
        taus = {system.name: float(system.best_tau(dev)) for system in systems}
        results["tau"] = taus
        for split in rows:
            results[split] |= _answers(systems, taus, rows[split])
            results[split]["f1_by_k"] = _by_k(rows[split], dev)
            results[split]["calibration_error"] = _calibration_error(rows[split])
    (out / "results.json").write_text(json.dumps(results, indent=2, sort_keys=True, default=_plain) + "\n")
    print(json.dumps(results, indent=2, default=_plain))


def _remembered(score: Callable[[dict[str, Any]], float], rows: dict[str, list[dict[str, Any]]]) -> Callable:
    known = {id(c): score(c) for some in rows.values() for row in some for c in row["candidates"]}
    return lambda c: known[id(c)]


def _retrieval_and_recall(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """MRecall; of the gold answers that some retrieved passage covers, the share that was recalled; |A|."""
    shares, precision = [], []
    for row in rows:
        answers = [c["answer"] for c in row["candidates"]]
        found = [
            (c, m)
            for a, cov in zip(row["answers"], row["covered"], strict=True)
            for c, m in zip(cov, matched_answers(answers, a), strict=True)
        ]
        covered = [m for c, m in found if c]
        if covered:
            shares.append((sum(covered), len(covered)))
        precision.append(sum(_right(row)) / max(1, len(answers)))
    return {
        "mrecall": {
            k: bootstrap_mean([r["mrecall"][k] for r in rows], seed=1) for k in ("5", "10", "20", "100")
        },
        "recalled_of_covered": sum(a for a, _ in shares) / sum(b for _, b in shares),
        "candidates": float(np.mean([len(r["candidates"]) for r in rows])),
        "recaller_precision": float(np.mean(precision)),
    }


def _answers(
    systems: Sequence[System], taus: dict[str, float], rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    table, f1 = {}, {}
    answerable = [row for row in rows if any(row["answers"])]
    empty = [row for row in rows if not any(row["answers"])]
    for system in systems:
        predicted = [system.predict(row, taus[system.name]) for row in answerable]
        scores = [f1_optimal(p, r["answers"]) for p, r in zip(predicted, answerable, strict=True)]
        f1[system.name] = [score.f1 for score in scores]
        table[system.name] = {
            "tau": taus[system.name],
            "f1": bootstrap_mean(f1[system.name], seed=1),
            "f1_official": float(
                np.mean([f1_official(p, r["answers"]).f1 for p, r in zip(predicted, answerable, strict=True)])
            ),
            "precision": float(np.mean([score.precision for score in scores])),
            "recall": float(np.mean([score.recall for score in scores])),
            "hits": sum(hits(p, r["answers"]) for p, r in zip(predicted, answerable, strict=True)),
            "predictions": float(np.mean([len(p) for p in predicted])),
        }
        if empty:
            silent = sum(all(system.score(c) <= taus[system.name] for c in r["candidates"]) for r in empty)
            table[system.name]["unanswerable_left_unanswered"] = f"{silent} of {len(empty)}"
    ours = systems[0].name
    gains = {s.name: paired_bootstrap(f1[ours], f1[s.name], seed=1) for s in systems[1:]}
    return {"systems": table, "gain_over": gains}


def _by_k(rows: Sequence[dict[str, Any]], dev: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """F1 of each evidence size at its own best threshold on dev."""
    answerable, table = [row for row in rows if any(row["answers"])], {}
    for i, k in enumerate(EVIDENCE_SIZES):
        system = System(str(k), lambda c, i=i: c["p_right"][i], FINE_TAUS)
        tau = system.best_tau(dev)
        table[str(k)] = {
            "tau": tau,
            "f1": float(np.mean([_f1(system.predict(r, tau), r) for r in answerable])),
        }
    return table


def _calibration_error(rows: Sequence[dict[str, Any]]) -> float:
    """Expected calibration error of the scores over ten equal bins, candidates as they come."""
    scores = np.array([c["p_right"][K] for row in rows for c in row["candidates"]])
    right = np.array([r for row in rows for r in _right(row)], dtype=float)
    bins = np.minimum((scores * 10).astype(int), 9)
    return float(
        sum(
            abs(scores[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
            for b in set(bins.tolist())
        )
    )


def _seconds(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    stages = sorted({stage for row in rows for stage in row["seconds"]})
    median = {stage: float(np.median([row["seconds"].get(stage, 0.0) for row in rows])) for stage in stages}
    return {"median_seconds": median | {"all": float(np.median([sum(r["seconds"].values()) for r in rows]))}}


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return [round(value.mean, 4), round(value.low, 4), round(value.high, 4)]
    return float(value)


if __name__ == "__main__":
    main()

"""Recall-then-verify beside the baselines of the same encoder, data and steps, question by question.

Run: python -m benchmarks.baselines --data DIR --index DIR --out DIR
         [--reader DIR [--reranker DIR]] [--concatenated DIR] [--models DIR] [--splits dev,test]

The folders hold what `python -m rtv_core train joint-reader`, `train reranker` and `train joint-reader
--concatenated` leave. A joint reader ranks passages, too; a reranker of its own is a second network. Rows are
kept in OUT as JSON lines, ours in the files of benchmarks.quality: given its OUT, its rows are used. Every
tau, and whether a candidate counts by its share or by its share of the best one's, is chosen on dev; the
other splits are reported, nothing else. The table goes to standard output and, with the values by question,
into OUT/baselines.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import click
from tqdm import tqdm

from benchmarks.measures import Measures, difference, interval, measure_rows
from benchmarks.question_sets import load_question_set, without_one_passage
from benchmarks.rows import Row, RowCandidate, RowFile, collect
from benchmarks.systems import MAIN, System, verifier_scores
from rtv_core.baselines.load import load_baselines
from rtv_core.baselines.systems import BASELINE_TAUS, Baseline
from rtv_core.errors import InputError, MismatchError, RtvError
from rtv_core.factory import MODELS, Models, load_models
from rtv_core.metrics import Interval, covered_answers, f1_optimal, mrecall_at
from rtv_core.records import EVIDENCE_SIZES, Question, Trace
from rtv_core.settings import Settings, load_settings
from rtv_core.thresholds import FINE_TAUS

__all__ = ["Compared", "baseline_row", "collect_baselines", "compare", "main", "render", "scorings"]

DEPTHS = (5, 10)
FIGURES = ("f1", "f1_official", "precision", "recall", "answers")
RECALLER = "recaller alone"
ALL, SEVERAL = "all", "no single passage has all the gold"


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--index", type=click.Path(path_type=Path), required=True)
@click.option("--reader", type=click.Path(path_type=Path))
@click.option("--reranker", type=click.Path(path_type=Path))
@click.option("--concatenated", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--models", type=click.Path(path_type=Path), default=MODELS, show_default=True)
@click.option("--splits", default="dev,test", show_default=True)
@click.option("--set", "overrides", multiple=True)
def main(
    data: Path,
    index: Path,
    reader: Path | None,
    reranker: Path | None,
    concatenated: Path | None,
    out: Path,
    models: Path,
    splits: str,
    overrides: tuple[str, ...],
) -> None:
    """Answer what is missing, then print the table."""
    try:
        if not (reader or concatenated) or (reranker and not reader):
            raise InputError("Name a joint reader by --reader (a reranker needs one), or --concatenated.")
        settings = load_settings("embedded", overrides)
        baselines = load_baselines(reranker, reader, concatenated, settings.reader.backend)
        loaded = load_models(index, models)
        out.mkdir(parents=True, exist_ok=True)
        rows: dict[str, dict[str, list[Row]]] = {}
        several: dict[str, set[str]] = {}
        for split in dict.fromkeys(("dev", *splits.split(","))):
            questions = load_question_set(split, data, 0).questions
            own = collect(loaded.pipeline(settings), questions, RowFile(out / f"{split}.jsonl"))
            others = collect_baselines(loaded, settings, baselines, questions, out, split)
            rows[split] = {MAIN: own} | others
            apart = [row.question for row in own if not row.in_one]
            several[split] = without_one_passage(apart, loaded.retriever.index.passages)
    except RtvError as error:
        raise click.ClickException(str(error)) from error
    compared = compare(rows, several)
    save(compared, out / "baselines.json")
    print(render(compared), end="")


def collect_baselines(
    loaded: Models,
    settings: Settings,
    baselines: Sequence[Baseline],
    questions: Sequence[Question],
    out: Path,
    split: str,
) -> dict[str, list[Row]]:
    """The rows of each baseline, by its name; what its file lacks is asked and added.

    Raises MismatchError for a file from other weights, index or settings.
    """
    retriever = loaded.retriever.under(settings.retriever)
    manifest = retriever.index.manifest
    provenance = {
        "corpus_sha256": manifest.corpus_sha256,
        "encoder_sha256": manifest.encoder_fingerprint,
        "retriever": repr(settings.retriever),
    }
    files = {b.name: RowFile(out / f"{split}.{_slug(b.name)}.jsonl") for b in baselines}
    known = {name: {row.question: row for row in file.rows()} for name, file in files.items()}
    for baseline in baselines:
        expected = provenance | dict(baseline.weights) | {"system": baseline.name}
        if any(dict(row.provenance) != expected for row in known[baseline.name].values()):
            raise MismatchError(
                f"{files[baseline.name].path} was made with other models or settings. Name another --out."
            )
    missing = [q for q in questions if any(q not in some for some in known.values())]
    for question in tqdm(missing, desc=f"{split}, baselines"):
        hits = tuple(retriever.search([question.text], settings.retriever.passages)[0])
        trace = Trace(question, hits=hits, provenance=provenance, stage="retrieved")
        for baseline in baselines:
            if question not in known[baseline.name]:
                row = baseline_row(baseline.read(trace))
                known[baseline.name][question] = row
                files[baseline.name].add(row)
    return {name: [some[question] for question in questions] for name, some in known.items()}


def baseline_row(trace: Trace) -> Row:
    """The row of a baseline's trace; `retrieval` and `covered` speak of the passages as it ordered and read.

    Its scores stand where ours has validity scores, at every evidence size.
    """
    gold = trace.question.answers
    texts = [hit.passage.text for hit in trace.hits]
    read = texts[: len(trace.readings)]
    return Row(
        question=trace.question,
        retrieval={f"mrecall@{k}": mrecall_at(k, texts, gold) for k in DEPTHS} if any(gold) else {},
        covered=tuple(tuple(covered_answers(read, annotation)) for annotation in gold),
        in_one=any(all(covered_answers([text], a)) for text in read for a in gold if a),
        candidates=tuple(
            RowCandidate(
                answer=candidate.answer,
                recall=candidate.score,
                p_right=verdict.p_right,
                plain=(),
                places=tuple((s.passage_id, s.span.start, s.span.end) for s in candidate.sources),
            )
            for candidate, verdict in zip(trace.candidates, trace.verdicts, strict=True)
        ),
        seconds=trace.seconds,
        provenance=trace.provenance,
    )


@dataclass(frozen=True)
class Compared:
    """One system on one split: its scoring and tau from dev, and its measures question by question.

    `subsets` names groups of question ids; `ours` are the measures of recall-then-verify.
    """

    split: str
    system: str
    tau: float
    measures: Measures
    passages: Measures
    ours: Measures
    subsets: Mapping[str, Sequence[str]]

    def gain(self, subset: str) -> Interval | None:
        """How much higher our F1 is, question by question."""
        return difference("f1", self.measures, self.ours, self.subsets[subset])


def compare(
    rows: Mapping[str, Mapping[str, Sequence[Row]]], several: Mapping[str, set[str]]
) -> list[Compared]:
    """Every system on every split. `rows` by split and system must hold the split "dev"."""
    chosen = {MAIN: System(MAIN, verifier_scores(EVIDENCE_SIZES[-1]), FINE_TAUS)}
    chosen[RECALLER] = System(RECALLER, _recall_scores, BASELINE_TAUS)
    sources = {MAIN: MAIN, RECALLER: MAIN}
    for name in rows["dev"]:
        if name != MAIN:
            sources[name] = name
            chosen[name] = max(scorings(name), key=lambda system: _f1_on(system, rows["dev"][name]))
    taus = {name: system.best_tau(_gold(rows["dev"][sources[name]])) for name, system in chosen.items()}
    found: list[Compared] = []
    for split, own in rows.items():
        ids = [row.question.id for row in _gold(own[MAIN])]
        subsets = {ALL: ids, SEVERAL: [i for i in ids if i in several.get(split, set())]}
        ours: Measures = {}
        for name, system in chosen.items():
            tau = taus[name]
            measures = measure_rows(own[sources[name]], [system], {system.name: tau}, single_answer=False)
            ours = measures[system.name] if name == MAIN else ours
            passages = measures.get("retrieval", {})
            found.append(Compared(split, system.name, tau, measures[system.name], passages, ours, subsets))
    return found


def scorings(name: str) -> tuple[System, System]:
    """The two ways to read a reader's shares: as they are, or against the best candidate's.

    Ten answers that are all right have a tenth each; against the best one's share they have 1. Dev decides.
    """
    return (
        System(f"{name}, by share", verifier_scores(EVIDENCE_SIZES[-1]), BASELINE_TAUS),
        System(f"{name}, by share of the best", _relative_scores, BASELINE_TAUS),
    )


def _recall_scores(row: Row) -> list[float]:
    return [candidate.recall for candidate in row.candidates]


def _relative_scores(row: Row) -> list[float]:
    shares = _recall_scores(row)
    return [share / max(shares) for share in shares]


def _f1_on(system: System, rows: Sequence[Row]) -> float:
    gold = _gold(rows)
    tau = system.best_tau(gold)
    return mean(f1_optimal(system.predict(row, tau), row.question.answers).f1 for row in gold)


def _gold(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.answerable]


def render(compared: Sequence[Compared]) -> str:
    """A Markdown table per split; F1 and our gain with 95 % intervals over questions, in points."""
    lines: list[str] = []
    for split in dict.fromkeys(each.split for each in compared):
        own = [each for each in compared if each.split == split]
        counts = {name: len(ids) for name, ids in own[0].subsets.items()}
        lines += [
            f"## {split}: {counts[ALL]} questions; of {counts[SEVERAL]} {SEVERAL}",
            "",
            "| system | tau | F1 | official | precision | recall | #Hit | answers | MRecall@10 read "
            "| our gain | our gain, no single passage |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            *(_line(each) for each in own),
            "",
        ]
    return "\n".join(lines)


def _line(each: Compared) -> str:
    ids = each.subsets[ALL]
    official, precision, recall, answers = (interval(f, each.measures, ids) for f in FIGURES[1:])
    mrecall = interval("mrecall@10", each.passages, ids)
    cells = [
        each.system,
        f"{each.tau:g}",
        _points(interval("f1", each.measures, ids)),
        *(f"{100 * value.mean:.1f}" if value else "" for value in (official, precision, recall)),
        f"{sum(each.measures.get('hits', {}).values()):.0f}",
        f"{answers.mean:.1f}" if answers else "",
        f"{100 * mrecall.mean:.1f}" if mrecall else "",
        *("" if each.system == MAIN else _points(each.gain(subset)) for subset in (ALL, SEVERAL)),
    ]
    return "| " + " | ".join(cells) + " |"


def _points(value: Interval | None) -> str:
    if value is None:
        return ""
    return f"{100 * value.mean:.1f} ({100 * value.low:.1f} to {100 * value.high:.1f})"


def save(compared: Sequence[Compared], path: Path) -> None:
    """Everything behind the table, sorted, whole or not at all."""
    content: list[dict[str, Any]] = [
        {
            "split": each.split,
            "system": each.system,
            "tau": each.tau,
            "measures": each.measures,
            "subsets": {name: sorted(ids) for name, ids in each.subsets.items()},
            "gain": {
                name: None if (gain := each.gain(name)) is None else [gain.mean, gain.low, gain.high]
                for name in each.subsets
            },
        }
        for each in compared
    ]
    aside = path.with_suffix(".partial")
    aside.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    aside.replace(path)


def _slug(name: str) -> str:
    return "-".join(name.replace(",", "").split())


if __name__ == "__main__":
    main()

"""F1 raw and corrected, from a random sample of wrong predictions that a language model judged.

Run: python -m benchmarks.judged show --data DIR
     python -m benchmarks.judged draw --data DIR --store DB --run NAME --out DIR
     python -m benchmarks.judged collect --data DIR --out DIR ANNOTATOR=VERDICTS ...

`show` needs the question set only: predictions, sample and judgements lie in benchmarks/judgements. The
verdicts are AUTOMATIC, a language model's and not people's; their annotators are named so.

`draw` takes a run of MultiSpanQA test that `python -m rtv_core evaluate` kept. It writes the predictions, the
sample with the probability of each item, and a sheet for judges, which has passages, but neither scores nor
gold. As in a blind queue of the app, each item is first called right, invalid or unsure; what was called
right is then placed beside the gold, as listed, variant or unlisted, and the first verdict stays. `collect`
reads these labels, JSON lines of item (its number), label, evidence, gold and note, in the words of
`records.Judgement`, and writes them as the app exports judgements. The annotator named `LAST` settles what
the others disagree on.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from benchmarks.question_sets import load_question_set
from rtv_core.analysis.rulings import Counting
from rtv_core.analysis.shares import Share
from rtv_core.annotation.agreement import Coefficient, agreement, ratings
from rtv_core.annotation.queue import draw as draw_queue
from rtv_core.errors import InputError, MismatchError, RtvError
from rtv_core.evaluation import import_predictions
from rtv_core.predictions import file_facts, read_predictions
from rtv_core.records import Judgement, Question, QueueItem, QueuePlan, Run, RunQuestion
from rtv_core.store.export import export_jsonl
from rtv_core.store.importing import import_judgements
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.ui.analysis.state import Analysis

__all__ = ["Sample", "analysed", "collect_verdicts", "draw_sample", "main", "render"]

FILES = Path(__file__).parent / "judgements"
NAME = "MultiSpanQA test"
LAST = "language model, third reading"
"""The annotator who settles disagreements."""

RIGHT = "listed"
"""Stands for every label of a right answer where only right or wrong is compared."""


@dataclass(frozen=True)
class Sample:
    """A run made from a file of predictions, in a store of its own, and what was drawn from it."""

    store: Path
    run: Run
    questions: tuple[RunQuestion, ...]
    items: tuple[QueueItem, ...]


@click.group()
def main() -> None:
    """A sample of wrong predictions, judged by a language model."""


@main.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--files", type=click.Path(path_type=Path), default=FILES, help="What `collect` wrote.")
def show(data: Path, files: Path) -> None:
    """Print F1 raw and corrected, the kinds of wrong predictions, and how far the readings agree."""
    with _plain_errors():
        click.echo(render(analysed(_gold(data), files)), nl=False)


@main.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--store", type=click.Path(path_type=Path), required=True)
@click.option("--run", "name", required=True)
@click.option("--count", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def draw(data: Path, store: Path, name: str, count: int, seed: int, out: Path) -> None:
    """Draw wrong predictions of a run, each as likely, and write what a judge needs."""
    with _plain_errors():
        plan = QueuePlan(strategy="uniform", count=count, seed=seed, overlap=2, population="wrong")
        drawn = draw_sample(_gold(data), store, name, plan, out)
    click.echo(f"{out}: {drawn:,} wrong predictions to judge; the sheet is sheet.jsonl.")


@main.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="What `draw` wrote.")
@click.argument("verdicts", nargs=-1, required=True, metavar="ANNOTATOR=FILE...")
def collect(data: Path, out: Path, verdicts: tuple[str, ...]) -> None:
    """Turn verdicts on the sheet into judgements as the app exports them."""
    with _plain_errors():
        given = [(name, Path(path)) for name, _, path in (v.partition("=") for v in verdicts)]
        if missing := next((name for name, path in given if not path.is_file()), None):
            raise InputError(f"There is no file for {missing!r}. Write ANNOTATOR=FILE.")
        count = collect_verdicts(_gold(data), out, given)
    click.echo(f"{out / 'judgements.jsonl'}: {count:,} judgements.")


def draw_sample(questions: Sequence[Question], store: Path, name: str, plan: QueuePlan, out: Path) -> int:
    """Write predictions.jsonl, sample.json and sheet.jsonl; returns how many items were drawn."""
    out.mkdir(parents=True, exist_ok=True)
    runs, kept = RunStore(store), JudgementStore(store)
    answered = runs.questions(runs.run(name).id)
    with (out / "predictions.jsonl").open("w", encoding="utf-8") as file:
        for question in answered:
            given = [
                {"answer": a.answer, "score": round(a.p_right, 4)}
                for a in question.answers
                if a.predicted and not a.repeats
            ]
            file.write(_line({"id": question.question.id, "predictions": given}))
    traces = {question.question.id: question.trace_id for question in answered}
    with (
        _imported(questions, out / "predictions.jsonl") as (_, _, own),
        (out / "sheet.jsonl").open("w", encoding="utf-8") as sheet,
    ):
        items, rows = draw_queue(own, plan), []
        by_position = {question.position: question.question for question in own}
        for number, item in enumerate(items, start=1):
            question = by_position[item.position]
            trace = kept.load_trace(traces[question.id])
            evidence = next(e for e in trace.evidence if e.candidate.answer == item.answer)
            passages = [p.hit.passage for p in evidence.passages]
            shown = [{"title": passage.title, "text": passage.text} for passage in passages]
            sheet.write(
                _line({"item": number, "question": question.text, "answer": item.answer, "passages": shown})
            )
            rows.append(_row(number, question, item) | {"evidence": [passage.id for passage in passages]})
    facts = {"run": NAME, "plan": asdict(plan), "items": rows}
    (out / "sample.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return len(items)


def collect_verdicts(questions: Sequence[Question], out: Path, verdicts: Sequence[tuple[str, Path]]) -> int:
    """Write judgements.jsonl from the files of each annotator; returns how many there are.

    Raises InputError for a line that is no verdict on an item of the sample.
    """
    with _opened(questions, out) as sample:
        store = JudgementStore(sample.store)
        by_position = {question.position: question for question in sample.questions}
        for annotator, path in verdicts:
            for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                row = _verdict(line, f"{path}, line {place}")
                if not 1 <= row["item"] <= len(sample.items):
                    raise InputError(f"{path}, line {place}: the sample has no item {row['item']}.")
                item = sample.items[row["item"] - 1]
                question = by_position[item.position]
                said = Judgement(
                    trace_id=question.trace_id,
                    question=question.question.text,
                    answer=item.answer,
                    label=row["label"],
                    annotator=annotator,
                    evidence=row.get("evidence", ""),
                    gold=row.get("gold", ""),
                    note=row.get("note", ""),
                    blind=True,
                )
                store.judge(said, f"{annotator} {row['item']}")
        (out / "judgements.jsonl").write_text("".join(export_jsonl(store)), encoding="utf-8")
        return len(store.current())


def analysed(questions: Sequence[Question], files: Path) -> Analysis:
    """The app's own analysis of the run, the sample and the judgements."""
    with _opened(questions, files) as sample:
        import_judgements(files / "judgements.jsonl", sample.store)
        said = JudgementStore(sample.store).current()
        queues = QueueStore(sample.store)
        queues.create(sample.run.id, _plan(files), sample.items, "sample")
        (queue,) = queues.queues(sample.run.id)
        counting = Counting(adjudicators=frozenset({LAST}))
        return Analysis(sample.run, sample.questions, said, [(queue, sample.items)], counting)


def render(analysis: Analysis) -> str:
    """What `show` prints."""
    wrong = analysis.table6.wrong
    lines = [
        "Automatic judgements by a language model, not by people. Right or wrong was said blind to score and "
        "gold; what was right was then placed beside the gold.",
        analysis.headline.text if analysis.headline else "No gold is known.",
        f"Wrong predictions: {wrong.total:,}, of them {wrong.unsure} unsure, {wrong.split} split.",
        *(f"  {row.name}: {_share(row.plain)}; in the paper {_share(row.published)}" for row in wrong.rows),
    ]
    blind = [replace(said, label=_first(said.label)) for said in analysis.judgements]
    found = agreement(ratings(blind, leave_out={LAST}))
    for coefficient in (found.percent, found.kappa) if found else ():
        lines.append(f"Two readings by one model, right, invalid or unsure: {_coefficient(coefficient)}")
    return "\n".join(lines) + "\n"


def _first(label: str) -> str:
    """The blind verdict behind a label."""
    return label if label in ("invalid", "unsure") else RIGHT


def _coefficient(coefficient: Coefficient) -> str:
    """Value and interval, as far as they are defined."""
    text = f"{coefficient.name} "
    text += "undefined" if coefficient.value is None else f"{coefficient.value:.3f}"
    if coefficient.low is not None and coefficient.high is not None:
        text += f" ({coefficient.low:.3f} to {coefficient.high:.3f})"
    return f"{text}, {coefficient.items:,} items. {coefficient.note}".rstrip()


@contextmanager
def _imported(
    questions: Sequence[Question], predictions: Path
) -> Iterator[tuple[Path, Run, tuple[RunQuestion, ...]]]:
    """The run that a file of predictions makes, in a store that lasts as long as this."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "rtv.db"
        runs = RunStore(store)
        facts = file_facts(predictions)
        run = import_predictions(read_predictions(predictions), questions, runs, NAME, "RTV", facts)
        yield store, run, tuple(runs.questions(run.id))


@contextmanager
def _opened(questions: Sequence[Question], files: Path) -> Iterator[Sample]:
    """The run with its sample drawn again. Raises MismatchError if that is not the sample that was kept."""
    with _imported(questions, files / "predictions.jsonl") as (store, run, own):
        items = draw_queue(own, _plan(files))
        by_position = {question.position: question.question for question in own}
        drawn = [_row(n, by_position[item.position], item) for n, item in enumerate(items, start=1)]
        kept = json.loads((files / "sample.json").read_text(encoding="utf-8"))["items"]
        if drawn != [{name: row[name] for name in _FIELDS} for row in kept]:
            raise MismatchError(
                f"{files / 'sample.json'} was not drawn from these predictions and this gold."
            )
        yield Sample(store, run, own, items)


_FIELDS = ("item", "question", "answer", "inclusion")


def _row(number: int, question: Question, item: QueueItem) -> dict[str, Any]:
    return {"item": number, "question": question.id, "answer": item.answer, "inclusion": item.inclusion}


def _verdict(line: str, place: str) -> dict[str, Any]:
    """One line of verdicts, with the fields that every one has."""
    try:
        row = json.loads(line)
        return row | {"item": int(row["item"]), "label": str(row["label"])}
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{place}: {line[:60]!r} is no verdict: an object with item and label.") from error


def _plan(files: Path) -> QueuePlan:
    return QueuePlan(**json.loads((files / "sample.json").read_text(encoding="utf-8"))["plan"])


def _gold(data: Path) -> tuple[Question, ...]:
    return load_question_set("test", data, 0).questions


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _share(share: Share) -> str:
    low, high = 100 * share.low, 100 * share.high
    return f"{100 * share.share:.1f} % ({low:.1f} to {high:.1f}; {share.count} of {share.of})"


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except RtvError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()

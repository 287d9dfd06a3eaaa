"""What each step of the training gives: the reader trained without it, on a small share of the examples.

Run: python -m benchmarks.ablations --data DIR --index DIR --out DIR [--rows NAME,NAME]

`--data` is laid out as rtv_core.training.sources says. The second stage is that of the course "again", but
for fewer passages a question, no rehearsal and fewer repeats: a variant must take minutes. Every variant has
the same settings and seeds; how many steps they come to follows from the examples that it leaves in, and is
in the table. F1 on dev is cross-validated: each of five parts of the questions is answered with a scale of
the scores and a tau from the other four. Each line is one training: the intervals are over questions, not
over seeds. Stopped and started again, it goes on: weights and rows lie in OUT, a folder a variant, and
variants that agree in their recaller train it once. Nothing is asked of the test questions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from benchmarks.measures import RECALLED_OF_COVERED, Measures, difference, interval, measure_rows
from benchmarks.plain import fit_plain
from benchmarks.question_sets import load_question_set
from benchmarks.rows import Row, RowCandidate, RowFile, collect
from benchmarks.systems import System
from benchmarks.table import cell, markdown
from rtv_core.cli.options import progress_bar
from rtv_core.errors import InputError, RtvError
from rtv_core.factory import Models, load_models
from rtv_core.pipeline import Pipeline
from rtv_core.reading.weights import CARD, load_network, read_card
from rtv_core.records import Passage
from rtv_core.settings import Settings, load_settings
from rtv_core.training.courses import VERIFIER_COURSES
from rtv_core.training.examples import Example
from rtv_core.training.recaller import RecallerPlan, train_recaller
from rtv_core.training.run import blank_recaller, open_training, train_stage
from rtv_core.training.verifier import SECOND_STAGE, VerifierPlan, train_verifier
from rtv_core.verify.embedded import RereadingVerifier

__all__ = ["VARIANTS", "Variant", "cross_validated", "main", "render", "thinned"]

THINNING = 16
"""Every sixteenth example of each set is seen."""

KEPT = "multispanqa"
"""Its examples are few, and the only ones of their kind: all of them are seen."""

FOLDS = 5
WHOLE = "the whole training"
FEW_WRONG = "one wrong candidate for each right one"
REAL = ("ambignq", "multispanqa", "nq", "webquestions")
COURSE = VERIFIER_COURSES["again"]
BUT_LISTS = tuple(name for name in COURSE.shares if name != "squad-lists")

RECALLER = RecallerPlan()
VERIFIER = replace(
    COURSE.plan,
    passages=8,
    rehearsed=0,
    repeats=((KEPT, 2),),
    shares=tuple(
        (name, count if name == KEPT else math.ceil(count / THINNING)) for name, count in COURSE.plan.shares
    ),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A training, and what it leaves out. `sets`: only examples of these; (): of all.

    `beside` is the training that its F1 is compared with.
    """

    name: str
    recaller: RecallerPlan = field(default=RECALLER)
    verifier: VerifierPlan = field(default=VERIFIER)
    sets: tuple[str, ...] = ()
    frozen: bool = False
    beside: str = WHOLE

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def first_stage(self) -> tuple[object, ...]:
        """What the recaller depends on: variants that agree in it share one."""
        return self.recaller, self.sets


VARIANTS = (
    Variant(WHOLE),
    Variant("no lists of SQuAD", sets=BUT_LISTS),
    Variant("real questions only", sets=REAL),
    Variant(
        "spans of a passage compete",
        replace(RECALLER, single_span=True),
        replace(VERIFIER, single_span=True),
    ),
    Variant("no irrelevant passages for the recaller", replace(RECALLER, alpha_neg=0.0)),
    Variant("no unanswered questions for the verifier", verifier=replace(VERIFIER, unanswered=0.0)),
    Variant("random wrong candidates", verifier=replace(VERIFIER, own_candidates=False)),
    Variant("verifier on a frozen encoder", frozen=True),
    Variant(FEW_WRONG, verifier=replace(VERIFIER, invalid=1)),
    Variant(
        "evidence read again for each candidate",
        verifier=replace(VERIFIER, reread=True, invalid=1),
        beside=FEW_WRONG,
    ),
)
"""Each candidate of the last one is read with all its evidence, so that memory holds few of them: it is
compared with a training that sees as few and reads once."""


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--index", type=click.Path(path_type=Path), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--rows", "names", default="", help="Some of the variants, by name; all of them without it.")
@click.option("--set", "overrides", multiple=True)
def main(data: Path, index: Path, out: Path, names: str, overrides: tuple[str, ...]) -> None:
    """Train and ask what is missing, then print the table."""
    try:
        chosen = choose(names)
        settings = load_settings("embedded", overrides)
        questions = load_question_set("dev", data, 0).questions
        weights = {variant: out / variant.folder / "verifier" for variant in chosen}
        if missing := [variant for variant in chosen if not (weights[variant] / CARD).exists()]:
            _, passages, examples = open_training(data, index, out, COURSE.shares)
            for variant in missing:
                train(variant, examples, passages, out, weights[variant])
        rows = {}
        for variant in chosen:
            pipeline = asking(variant, load_models(index, weights[variant]), settings)
            rows[variant.name] = collect(pipeline, questions, RowFile(out / variant.folder / "dev.jsonl"))
    except RtvError as error:
        raise click.ClickException(str(error)) from error
    found = {name: figures(own) for name, own in rows.items()}
    steps = {variant.name: _steps(weights[variant]) for variant in chosen}
    print(render(found, steps), end="")


def asking(variant: Variant, models: Models, settings: Settings) -> Pipeline:
    """The pipeline of a trained variant."""
    pipeline = models.pipeline(settings)
    if not variant.verifier.reread:
        return pipeline
    verifier = RereadingVerifier(models.reader.under(settings.reader.backend), models.card.calibration)
    return replace(pipeline, verifier=verifier)


def choose(names: str) -> list[Variant]:
    """The variants of these names and those they are compared with. Raises InputError for an unknown one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = [variant.name for variant in VARIANTS]
    if unknown := [name for name in wanted if name not in known]:
        raise InputError(f"There is no variant {unknown[0]!r}. There are: {', '.join(known)}.")
    compared = {variant.beside for variant in VARIANTS if variant.name in wanted}
    return [v for v in VARIANTS if not wanted or v.name in (*wanted, *compared, WHOLE)]


def train(
    variant: Variant, examples: Sequence[Example], passages: Sequence[Passage], out: Path, weights: Path
) -> None:
    """Both stages of a variant into its folder, the first one where no other variant trained the same."""
    few = thinned(examples, variant.sets)
    first = next(v for v in VARIANTS if v.first_stage == variant.first_stage)
    start = out / first.folder / "recaller"
    if not (start / CARD).exists():
        click.echo(f"{variant.name}: recaller", err=True)
        with progress_bar("steps") as progress:
            begun = blank_recaller(variant.recaller.seed)
            train_stage(
                "recaller", train_recaller, begun, few, passages, start, variant.recaller, None, progress
            )
    click.echo(f"{variant.name}: recaller and verifier", err=True)
    loop = replace(SECOND_STAGE, encoder_rate=0.0) if variant.frozen else SECOND_STAGE
    with progress_bar("steps") as progress:
        begun = load_network(start)
        train_stage(
            "verifier", train_verifier, begun, few, passages, weights, variant.verifier, loop, progress
        )


def thinned(examples: Iterable[Example], sets: Sequence[str] = ()) -> list[Example]:
    """Every `THINNING`th example of each set but `KEPT`, of all sets or of these."""
    seen: dict[str, int] = defaultdict(int)
    kept = []
    for example in examples:
        if sets and example.set not in sets:
            continue
        if example.set == KEPT or seen[example.set] % THINNING == 0:
            kept.append(example)
        seen[example.set] += 1
    return kept


def cross_validated(rows: Sequence[Row]) -> dict[str, float]:
    """F1 (optimal matching) by the question's id, each with a calibration and a tau from the other parts."""
    found: dict[str, float] = {}
    for fold in range(FOLDS):
        fitted = [row for i, row in enumerate(rows) if i % FOLDS != fold]
        held = [row for i, row in enumerate(rows) if i % FOLDS == fold]
        features = [_features(candidate) for row in fitted for candidate in row.candidates]
        score = fit_plain(features, [right for row in fitted for right in row.right()])
        system = System("", lambda row, score=score: score([_features(c) for c in row.candidates]))
        measures = measure_rows(held, [system], {"": system.best_tau(fitted)}, single_answer=False)
        found |= measures[""]["f1"]
    return found


def _features(candidate: RowCandidate) -> tuple[float, ...]:
    """The log-odds of the validity score: fitting it moves the scores, and leaves their order."""
    p = min(max(candidate.p_right[-1], 1e-6), 1 - 1e-6)
    return (math.log(p / (1 - p)),)


def figures(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """The measures of a variant by the question's id."""
    recalled = measure_rows(rows, [], {}, single_answer=False)["recaller"]
    return {"f1": cross_validated(rows), **{n: recalled[n] for n in ("covered", "recalled", "candidates")}}


def _steps(weights: Path) -> str:
    """How many steps each stage of a trained reader took."""
    training = read_card(weights).training or {}
    return " + ".join(f"{training[stage]['steps']:,}" for stage in ("recaller", "verifier"))


def render(found: Mapping[str, Measures], steps: Mapping[str, str]) -> str:
    """The table, a row a variant, with the paired difference to what it is compared with."""
    besides = {variant.name: variant.beside for variant in VARIANTS}
    lines = []
    for name, own in found.items():
        ids = list(own["f1"])
        other = besides[name]
        gap = None if name == other else difference("f1", own, found[other], ids)
        lines.append(
            (
                name,
                steps[name],
                cell(interval("f1", own, ids)),
                cell(gap) if other == WHOLE else f"{cell(gap)}, as against {other}",
                cell(interval(RECALLED_OF_COVERED, own, ids)),
                cell(interval("candidates", own, ids), scale=1),
            )
        )
    header = (
        "training",
        "steps",
        "F1",
        "the whole training is ahead by",
        "recalled of covered",
        "candidates",
    )
    return markdown("Training without its parts, MultiSpanQA dev", header, lines) + "\n"


if __name__ == "__main__":
    main()

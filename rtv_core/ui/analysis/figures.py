"""The headline, how verdicts were counted, scores raw and corrected, table 6, and where gold was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rtv_core.analysis.scores import Scores
from rtv_core.analysis.shares import Share
from rtv_core.analysis.table6 import PUBLISHED, Part
from rtv_core.ui.analysis.filtering import LEFT_OUT, in_words
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import (
    drawn,
    figure,
    note,
    opener,
    points_of,
    section,
    share_text,
    short,
    table,
)
from rtv_core.ui.markup import Markup, join, tag
from rtv_core.ui.render.parts import counted

__all__ = ["LOST_WORDS", "counted_in_words", "render_figures"]

NO_VERDICTS = (
    "No verdict on this run counts yet, so that corrected figures equal raw ones. Draw a queue "
    "(python -m rtv_core queue draw) and judge it on the Annotate page, or judge answers on Explore."
)
NO_GOLD = (
    "No gold answers are known for the questions of this run, so there is no F1. Run or import it once more "
    "with a question file that has answers."
)
LOST_WORDS = {
    "not retrieved": "no retrieved passage holds it",
    "not recalled": "a passage holds it, no candidate equals it",
    "not covered": "recalled, but its evidence doesn't cover it",
    "at or below tau": "verified, but scored too low",
    "predicted": "among the answers",
    "not predicted": "the system's passages are not known",
}


def render_figures(analysis: Analysis, turn: int, open_verdicts: bool) -> Markup:
    """What a reader of a paper needs, first in one sentence. `open_verdicts`: single ones may be seen."""
    return drawn(
        turn,
        _headline(analysis, open_verdicts),
        _counting(analysis, open_verdicts),
        _scores(analysis),
        _table6(analysis, open_verdicts),
        _blame(analysis),
    )


def counted_in_words(analysis: Analysis) -> str:
    """How the verdicts were counted, in one or two sentences."""
    bases = analysis.bases
    names = {
        "adjudicated": "adjudicated",
        "majority": "by majority",
        "blind": "by one annotator, blind",
        "single": "by one annotator who could see score and gold",
    }
    total = sum(bases[basis] for basis in names)
    parts = [f"{bases[basis]:,} {name}" for basis, name in names.items() if bases[basis]]
    text = f"{counted(total, 'answer')} with a verdict that counts"
    text += f": {', '.join(parts)}." if parts else "."
    if bases["split"]:
        text += f" {counted(bases['split'], 'answer')} without a majority: they leave gold as it is."
    if waiting := analysis.unplaced:
        text += f" {counted(waiting, 'blind verdict')} “right” not yet placed in the gold: “unlisted” so far."
    if left := analysis.rulings.left_out:
        text += f" Not counted: {counted(left, 'lone verdict')} given with score and gold in sight."
    return text


def _weighed(analysis: Analysis) -> str:
    """By which of several queues the judged answers are weighed."""
    left = len(analysis.queues) - len(analysis.weighed)
    if not left or not analysis.weighed:
        return ""
    names = ", ".join(queue.name[:80] for queue, _ in analysis.weighed)
    return f"Weighed by {names} alone: {'the other is' if left == 1 else 'the others are'} not judged as far."


def _headline(analysis: Analysis, open_verdicts: bool) -> Markup:
    line = analysis.headline
    if line is None:
        return tag("p", NO_GOLD, class_="rtv-headline none")
    return join(
        [
            tag("p", line.text, class_="rtv-headline"),
            _about(analysis, open_verdicts),
            None if sum(analysis.bases.values()) else note(NO_VERDICTS),
        ]
    )


def _about(analysis: Analysis, open_verdicts: bool) -> Markup:
    """Which run it is, its provenance behind a click, and the report, which shows single verdicts."""
    run = analysis.run
    tau = "" if run.tau is None else f" · tau {run.tau:.2f} · k {run.k}"
    size = counted(run.questions, "question")
    if analysis.where:
        size = f"{len(analysis.questions):,} of {size}: {', '.join(map(in_words, analysis.where))}"
    line = (short(run.name), " · ", short(run.system), " · ", short(size, 400), tau)
    facts = (
        tag("div", tag("dt", short(name)), tag("dd", short(str(value), 300)))
        for name, value in sorted(run.provenance.items())
    )
    made = tag("details", tag("summary", "how it was made"), tag("dl", *facts)) if run.provenance else None
    report = None
    if open_verdicts:
        report = tag("button", "Report (HTML)", type="button", data_file="report", class_="take")
    return tag("div", tag("span", *line), made, report, class_="rtv-about-run")


def _counting(analysis: Analysis, open_verdicts: bool) -> Markup:
    queues = [
        f"{queue.name[:80]} ({queue.plan.strategy}, {queue.items:,} items{', blind' * queue.plan.blind})"
        for queue in analysis.queues
    ]
    drawn_by = None
    if queues:
        drawn_by = note(
            f"Drawn by the queue{'s' if len(queues) > 1 else ''} ",
            tag("bdi", ", ".join(queues)),
            ". ",
            _weighed(analysis),
        )
    split = None
    if analysis.bases["split"]:
        split = opener("Show where annotators disagree", "split", "disagreement", off=not open_verdicts)
    return tag(
        "div",
        tag("p", "Counted: ", counted_in_words(analysis), " ", split),
        note(LEFT_OUT) if analysis.where and not open_verdicts else None,
        drawn_by,
        class_="rtv-counting",
    )


def _scores(analysis: Analysis) -> Markup | None:
    scores = analysis.scores
    if scores is None:
        return None
    estimate = analysis.estimate
    estimated = estimate is not None and not estimate.complete
    columns = (
        ["", "raw", "corrected so far"] + (["corrected, estimated"] if estimated else []) + ["gain so far"]
    )
    rows = [
        _score_row("F1", "f1", scores.raw, scores.corrected, estimate if estimated else None, scores.gain),
        _score_row("precision", "precision", scores.raw, scores.corrected, estimate if estimated else None),
        _score_row("recall", "recall", scores.raw, scores.corrected, estimate if estimated else None),
    ]
    if scores.raw_multi:
        rows.append(
            [
                f"F1, several answers (n = {scores.raw_multi.questions:,})",
                points_of(scores.raw_multi.f1),
                points_of(scores.corrected_multi.f1),
                *([points_of(estimate.f1_multi)] if estimated else []),
                points_of(scores.gain_multi),
            ]
        )
    rows.append(
        [
            "F1, AmbigQA's matching",
            points_of(scores.raw.f1_official),
            points_of(scores.corrected.f1_official),
            *([tag("span", "–")] if estimated else []),
            tag("span", "–"),
        ]
    )
    caption = "Scores in points of 100 with 95 % bootstrap intervals over questions"
    notes = [f"Means over {counted(scores.raw.questions, 'question')}; 95 % intervals resample questions."]
    if without := analysis.corrected.without_gold:
        notes.append(f"{counted(without, 'question')} without known gold left out.")
    if estimated:
        notes.append("Estimated: as if people had judged every wrong prediction.")
        notes += estimate.notes
    notes.append("Gold corrected by judging one system's predictions favours that system.")
    return section(
        "Scores",
        figure("Raw and corrected", table(caption, columns, rows), note(" ".join(notes)), file="scores"),
        name="scores",
    )


def _score_row(name: str, field: str, raw: Scores, corrected: Scores, estimate, gain=None) -> list[Markup]:
    cells = [points_of(getattr(raw, field)), points_of(getattr(corrected, field))]
    if estimate is not None:
        cells.append(points_of(getattr(estimate, field)))
    return [name, *cells, points_of(gain) if gain else tag("span", "–")]


def _table6(analysis: Analysis, open_verdicts: bool) -> Markup:
    found = analysis.table6
    weighted = analysis.weighted
    columns = ["", "judged", "share", *(["design-weighted"] if weighted else []), "published"]
    wrong = f"Wrong predictions ({found.wrong.total:,})"
    missed = f"Gold answers recalled but not predicted ({found.missed.total:,})"
    rows = [
        [wrong],
        *_part_rows(found.wrong, "wrong", weighted, open_verdicts),
        [missed],
        *_part_rows(found.missed, "missed", weighted, open_verdicts),
    ]
    caption = "Table 6: this run beside the published error analysis of 25 and 25 mistakes"
    return section(
        "Error analysis (Table 6)",
        figure(
            "What the mistakes are",
            table(caption, columns, rows, groups=(wrong, missed)),
            _left(found.wrong, "wrong", "Wrong predictions", open_verdicts),
            _left(found.missed, "missed", "Missed gold answers", open_verdicts),
            note(
                "Shares with Wilson's 95 % interval. Published: Shao and Huang (2022), table 6. ",
                "Design-weighted: each judged item counts for those it was drawn for. " if weighted else "",
                "" if analysis.inclusion else "No queue drew the judged items: they may be no fair sample.",
            ),
            file="table6",
        ),
        name="table6",
    )


def _part_rows(part: Part, kind: str, weighted: bool, open_verdicts: bool) -> list[list[str]]:
    rows = []
    for row in part.rows:
        count = f"{row.plain.count:,} of {row.plain.of:,}"
        shown = opener(count, f"{kind}:{row.name}", row.name, off=not (open_verdicts and row.plain.count))
        cells = [shown, share_text(row.plain)]
        if weighted:
            cells.append(share_text(row.weighted))
        rows.append([row.name, *cells, share_text(PUBLISHED[row.name])])
    return rows


def _left(part: Part, kind: str, what: str, open_verdicts: bool) -> Markup | None:
    """What is in no row of the table."""
    left = {"not judged": part.unjudged, "unsure": part.unsure, "split": part.split}
    if not any(left.values()):
        return None
    shown = [
        opener(f"{count:,} {name}", f"{kind}:{name}", f"{what}, {name}", off=not open_verdicts)
        for name, count in left.items()
        if count
    ]
    return note(f"{what} in no row: ", *_between(shown), ".")


def _between(parts: Sequence[Markup]) -> list[str]:
    return [p for part in parts for p in (", ", part)][1:]


def _blame(analysis: Analysis) -> Markup:
    total = sum(share.count for share in analysis.blame)
    if not total:
        return section("Where gold answers were lost", note(NO_GOLD), name="blame")
    rows = [_blame_row(share) for share in analysis.blame]
    caption = "What became of the gold answers, stage by stage"
    return section(
        "Where gold answers were lost",
        figure(
            f"{counted(total, 'gold answer')}",
            table(caption, ("", "answers", "share", "what it means"), rows, class_="blame"),
            note("A number opens its questions. Wilson's 95 % intervals take answers for independent."),
            file="blame",
        ),
        name="blame",
    )


def _blame_row(share: Share, words: Mapping[str, str] = LOST_WORDS) -> list[Markup | str]:
    count = opener(f"{share.count:,}", f"lost:{share.name}", share.name, off=not share.count)
    bar = tag(
        "span",
        tag("i", style=f"width:{100 * share.share:.1f}%"),
        class_=f"bar{' predicted' if share.name == 'predicted' else ''}",
        aria_hidden="true",
    )
    return [share.name, count, tag("span", share_text(share), bar, class_="barred"), words[share.name]]

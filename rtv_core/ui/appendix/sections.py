"""The tables of the appendix: what the Analyse page shows, without its buttons; and the examples."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.analysis.table6 import Part
from rtv_core.annotation.agreement import AXES, Coefficient
from rtv_core.metrics import Interval
from rtv_core.ui.analysis.figures import LOST_WORDS
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import note, number, points, points_of, share_text, short, table
from rtv_core.ui.appendix.examples import Example, Group
from rtv_core.ui.markup import Markup, escape, join, marked, tag
from rtv_core.ui.render.parts import counted

__all__ = [
    "NO_GOLD",
    "render_added",
    "render_agreement",
    "render_blame",
    "render_examples",
    "render_scores",
    "render_table6",
]

AROUND = 240
LONGEST = 400
ADDED_SHOWN = 500

NO_GOLD = "No gold answers are known for the questions of this run, so there is nothing to score."


def render_scores(analysis: Analysis) -> Markup:
    """Raw and corrected scores with their intervals, and the estimate where not all is judged."""
    scores, estimate = analysis.scores, analysis.estimate
    if scores is None:
        return note(NO_GOLD)
    if estimate is not None and estimate.complete:
        estimate = None
    columns = ["", "raw", "corrected so far", *(["corrected, estimated"] if estimate else []), "gain so far"]
    rows = [_row("F1", "f1", analysis)]
    rows += [_row(name, name, analysis) for name in ("precision", "recall")]
    if scores.raw_multi:
        name = f"F1, several answers (n = {scores.raw_multi.questions:,})"
        means = scores.raw_multi.f1, scores.corrected_multi.f1
        rows.append(_cells(name, *means, [estimate.f1_multi] if estimate else [], scores.gain_multi))
    official = scores.raw.f1_official, scores.corrected.f1_official
    rows.append(_cells("F1, AmbigQA's matching", *official, [None] if estimate else [], None))
    words = [
        f"Points of 100. Means over {counted(scores.raw.questions, 'question')}; 95 % bootstrap intervals."
    ]
    if without := analysis.corrected.without_gold:
        words.append(f"{counted(without, 'question')} without known gold left out.")
    if estimate:
        words += ["Estimated: as if people had judged every wrong prediction.", *estimate.notes]
    words.append("Gold corrected by judging one system's predictions favours that system.")
    return join([table("Scores in points of 100 with 95 % intervals", columns, rows), note(" ".join(words))])


def render_table6(analysis: Analysis) -> Markup:
    """The error analysis beside the published one."""
    found, weighted = analysis.table6, analysis.weighted
    columns = ["", "judged", "share", *(["design-weighted"] if weighted else []), "published"]
    groups = (
        f"Wrong predictions ({found.wrong.total:,})",
        f"Gold answers recalled but not predicted ({found.missed.total:,})",
    )
    rows = [
        [groups[0]],
        *_part_rows(found.wrong, weighted),
        [groups[1]],
        *_part_rows(found.missed, weighted),
    ]
    words = ["Shares with Wilson's 95 % interval. Published: Shao and Huang (2022), table 6, 25 of each."]
    if weighted:
        words.append("Design-weighted: each judged item counts for those it was drawn for.")
    if analysis.inclusion is None:
        words.append("No queue drew the judged items: they may be no fair sample.")
    left = [_left(found.wrong, "Wrong predictions"), _left(found.missed, "Missed gold answers")]
    made = table("The error analysis beside the published one", columns, rows, groups=groups)
    return join([made, *(note(text) for text in left if text), note(" ".join(words))])


def render_blame(analysis: Analysis) -> Markup:
    """The stage at which each gold answer was lost."""
    total = sum(share.count for share in analysis.blame)
    if not total:
        return note(NO_GOLD)
    rows = [
        [share.name, f"{share.count:,}", share_text(share), LOST_WORDS[share.name]]
        for share in analysis.blame
    ]
    columns = ("", "answers", "share", "what it means")
    made = table("What became of the gold answers", columns, rows, class_="blame")
    words = f"{counted(total, 'gold answer')}, of the annotation that suits the predictions best. "
    return join([made, note(words, "Wilson's 95 % intervals take them for independent.")])


def render_agreement(analysis: Analysis) -> Markup | None:
    """Agreement on both axes; None for one annotator."""
    found = [analysis.agreement(axis) for axis in AXES] if len(analysis.annotators) > 1 else []
    found = [own for own in found if own.shared]
    if not found:
        return None
    rows = [
        [
            f"{own.axis}, {counted(own.shared, 'shared item')}",
            _percent(own.percent),
            _coefficient(own.kappa),
            _coefficient(own.alpha),
        ]
        for own in found
    ]
    columns = ("", "agreement", "kappa", "Krippendorff's alpha")
    notes = dict.fromkeys(c.note for own in found for c in (own.percent, own.kappa, own.alpha) if c.note)
    words = f"{counted(len(found[0].annotators), 'annotator')}; 95 % bootstrap intervals over items. "
    words += f"Kappa is {' and '.join(dict.fromkeys(own.kappa.name for own in found))}. "
    return join([table("Agreement between annotators", columns, rows), note(words + " ".join(notes))])


def render_examples(groups: Sequence[Group]) -> Markup | None:
    """The examples, class by class; None where nothing is judged."""
    if not groups:
        return None
    return join(
        tag(
            "section",
            tag(
                "h3",
                f"{group.name[0].upper()}{group.name[1:]}",
                " ",
                tag("small", f"{len(group.examples):,} of {group.of:,}"),
            ),
            *(_example(example) for example in group.examples),
        )
        for group in groups
    )


def render_added(analysis: Analysis) -> Markup | None:
    """Every change of gold that the verdicts made; None where they made none."""
    additions = analysis.corrected.additions
    if not additions:
        return None
    rows = [
        [
            short(analysis.by_position[addition.position].question.text, LONGEST),
            short(addition.answer, LONGEST),
            short(addition.gold, LONGEST) if addition.gold else tag("i", "a new answer"),
        ]
        for addition in additions[:ADDED_SHOWN]
    ]
    new = sum(not addition.gold for addition in additions)
    words = f"{counted(new, 'new answer')} and {counted(len(additions) - new, 'new spelling')}."
    if len(additions) > ADDED_SHOWN:
        words += f" The first {ADDED_SHOWN:,} are shown; the corrected gold file has all."
    made = table("What verdicts added to gold", ("question", "answer", "a spelling of"), rows, class_="words")
    return join([note(words), made])


def _row(title: str, field: str, analysis: Analysis) -> list[str | Markup]:
    scores, estimate = analysis.scores, analysis.estimate
    estimated = [getattr(estimate, field)] if estimate is not None and not estimate.complete else []
    gain = scores.gain if field == "f1" else None
    return _cells(title, getattr(scores.raw, field), getattr(scores.corrected, field), estimated, gain)


def _cells(
    title: str,
    raw: Interval,
    corrected: Interval,
    estimated: Sequence[Interval | None],
    gain: Interval | None,
) -> list[str | Markup]:
    return [title, *map(points_of, (raw, corrected, *estimated, gain))]


def _part_rows(part: Part, weighted: bool) -> list[list[str | Markup]]:
    return [
        [
            row.name,
            f"{row.plain.count:,} of {row.plain.of:,}",
            share_text(row.plain),
            *([share_text(row.weighted)] if weighted else []),
            share_text(row.published),
        ]
        for row in part.rows
    ]


def _left(part: Part, what: str) -> str:
    """What is in no row of the table."""
    left = {"not judged": part.unjudged, "unsure": part.unsure, "split": part.split}
    named = ", ".join(f"{count:,} {name}" for name, count in left.items() if count)
    return f"{what} in no row: {named}." if named else ""


def _percent(found: Coefficient) -> str:
    return _with_interval(found, points, " %")


def _coefficient(found: Coefficient) -> str:
    return _with_interval(found, number, "")


def _with_interval(found: Coefficient, written, unit: str) -> str:
    if found.value is None:
        return "undefined"
    interval = "" if found.low is None else f" ({written(found.low)} to {written(found.high)})"
    return f"{written(found.value)}{unit}{interval}"


def _example(example: Example) -> Markup:
    scored = f", validity {example.p_right:.2f}" if example.p_right is not None else ""
    gold = [part for name in example.gold for part in (" · ", short(name, LONGEST))][1:]
    return tag(
        "article",
        tag("p", tag("b", short(example.question, LONGEST))),
        tag(
            "p",
            tag("strong", short(example.answer, LONGEST)),
            f"{scored}: ",
            short(example.verdict, LONGEST),
            ".",
        ),
        tag("p", "Gold: ", *gold, class_="gold"),
        None if example.passage is None else _passage(example),
    )


def _passage(example: Example) -> Markup:
    """The passage around the first place that holds the answer, or its beginning."""
    text = example.passage.text
    first = example.spans[0][0] if example.spans else 0
    start = max(0, first - AROUND)
    start = max(start, text.find(" ", start, first) + 1) if start else 0  # at the next word
    end = min(len(text), start + 2 * AROUND + 40)
    spans = [(a - start, b - start) for a, b in example.spans if a < end]
    return tag(
        "blockquote",
        tag(
            "cite",
            short(example.passage.title, LONGEST) if example.passage.title else escape("without title"),
        ),
        " ",
        tag(
            "bdi", "… " if start else None, marked(text[start:end], spans), " …" if end < len(text) else None
        ),
    )

"""The Markdown that the README quotes: one table a part, each figure with its 95 % bootstrap interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.calibration import BINS
from benchmarks.measures import PARTS, RECALLED_OF_COVERED, difference
from benchmarks.results import ALL, MULTI, SEVERAL_PASSAGES, Figures, SplitResult
from benchmarks.rows import DEPTHS
from benchmarks.systems import MAIN
from rtv_core.metrics import Interval
from rtv_core.records import EVIDENCE_SIZES

__all__ = ["cell", "markdown", "render_report"]

STAGES = ("retrieve", "recall", "gather", "verify", "all")
NO_DEV = "Thresholds are chosen on dev: add it to --splits for the answers of the other sets."


def render_report(results: Sequence[SplitResult], figures: Mapping[str, Figures]) -> str:
    """All tables of a run."""
    parts = [
        "95 % bootstrap intervals over questions in brackets; shares and F1 in percent; every tau from dev; "
        f"{max(EVIDENCE_SIZES)} evidence passages (k) unless a line says otherwise.",
        _retrieval(results, figures),
        _recaller(results, figures),
    ]
    for result in results:
        for group in (ALL, SEVERAL_PASSAGES):
            if result.groups.get(group):
                parts.append(_answers(result, figures[result.split], group))
    parts += [_calibration(results), _reliability(results), _seconds(results, figures)]
    return "\n\n".join(parts) + "\n"


def markdown(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A heading and a table; `note` stands between them."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n\n".join(part for part in (f"### {title}", note, "\n".join(lines)) if part)


def cell(figure: Interval | None, scale: float = 100, digits: int = 1) -> str:
    """A figure with its interval; a dash where there is none."""
    if figure is None:
        return "-"
    mean, low, high = (f"{scale * value:,.{digits}f}" for value in (figure.mean, figure.low, figure.high))
    return f"{mean} ({low} to {high})"


def _groups(results: Sequence[SplitResult]) -> Iterable[tuple[SplitResult, str, str]]:
    """Each split, then its questions that need several passages, if any: with the group and a label."""
    for result in results:
        yield result, ALL, result.label
        if result.groups.get(SEVERAL_PASSAGES):
            yield result, SEVERAL_PASSAGES, f"{result.label}, gold in no single passage"


def _retrieval(results: Sequence[SplitResult], figures: Mapping[str, Figures]) -> str:
    names = [f"mrecall@{k}" for k in DEPTHS] + [f"answer_recall@{DEPTHS[-1]}"]
    header = ["questions", "n", *(f"MRecall@{k}" for k in DEPTHS), f"answer recall@{DEPTHS[-1]}"]
    rows = []
    for result, group, label in _groups(results):
        found = figures[result.split][group].get("retrieval", {})
        rows.append(
            [label, _count(result, group, "retrieval", names[0]), *(cell(found.get(n)) for n in names)]
        )
    return markdown("Retrieval", header, rows)


def _recaller(results: Sequence[SplitResult], figures: Mapping[str, Figures]) -> str:
    header = ["questions", "n", "covered gold answers recalled", "precision", "candidates a question"]
    rows = []
    for result, group, label in _groups(results):
        found = figures[result.split][group].get("recaller", {})
        rows.append(
            [
                label,
                _count(result, group, "recaller", "covered"),
                cell(found.get(RECALLED_OF_COVERED)),
                cell(found.get("precision")),
                cell(found.get("candidates"), 1),
            ]
        )
    note = (
        "Covered: a retrieved passage holds the answer. Precision: the share of candidates that equal gold."
    )
    return markdown("Recaller", header, rows, note)


def _answers(result: SplitResult, figures: Figures, group: str) -> str:
    """A system a row; F1 on questions of several answers has columns of its own where not all are such."""
    title = f"Answers: {result.label}, {len(result.groups[group]):,} questions"
    systems = [name for name in result.measures if name not in PARTS]
    if not systems:
        return f"### {title}\n\n{NO_DEV}"
    if result.single_answer:
        header = ["system", "exact match of the best candidate", f"{MAIN}: ahead by"]
        rows = [
            [name, cell(figures[group][name].get("exact_match")), _ahead(result, name, group, "exact_match")]
            for name in systems
        ]
        return markdown(title, header, rows)
    if group == SEVERAL_PASSAGES:
        title += " whose gold no single passage of the corpus covers"
    multi = set(result.groups[MULTI]) < set(result.groups[ALL])
    silent = any("unanswered" in figures[group][name] for name in systems)
    header = ["system", "tau", "F1", *(["F1, multi"] if multi else []), "F1, official"]
    header += [*(["F1, official, multi"] if multi else []), "precision", "recall", "#Hit", "answers"]
    header += [*(["no answer, left unanswered"] if silent else []), f"F1 of {MAIN}: ahead by"]
    rows = []
    for name in systems:
        own, of_multi = figures[group][name], figures[MULTI].get(name, {})
        row = [name, f"{result.taus[name]:.2f}", cell(own.get("f1"))]
        row += [cell(of_multi.get("f1"))] if multi else []
        row.append(cell(own.get("f1_official")))
        row += [cell(of_multi.get("f1_official"))] if multi else []
        asked = len(set(result.measures[name].get("hits", {})) & set(result.groups[group]))
        row += [cell(own.get("precision")), cell(own.get("recall")), cell(own.get("hits"), asked, 0)]
        row.append(cell(own.get("answers"), 1))
        row += [cell(own.get("unanswered"))] if silent else []
        rows.append([*row, _ahead(result, name, group, "f1")])
    note = "" if multi else "Every question has several answers, so F1 (all) and F1 (multi) are one."
    return markdown(title, header, rows, note)


def _ahead(result: SplitResult, name: str, group: str, figure: str) -> str:
    """How far our system is ahead of another, paired by question."""
    if name == MAIN:
        return ""
    return cell(difference(figure, result.measures[name], result.measures[MAIN], result.groups[group]))


def _calibration(results: Sequence[SplitResult]) -> str:
    header = ["questions", "k", "candidates", "calibration error", "candidates above tau", "their error"]
    rows = [
        [
            result.label,
            str(c.k),
            f"{c.candidates:,}",
            cell(c.error, digits=2),
            f"{c.above_tau:,}",
            cell(c.error_above_tau, digits=2),
        ]
        for result in results
        for c in result.calibration
    ]
    note = f"Expected calibration error in points, {BINS} equal bins of the score."
    return markdown("Calibration", header, rows, note)


def _reliability(results: Sequence[SplitResult]) -> str:
    header = ["score", *(result.label for result in results)]
    bins = [{bin_.low: bin_ for bin_ in result.reliability} for result in results]
    rows = []
    for i in range(BINS):
        found = [own.get(i / BINS) for own in bins]
        cells = [f"{b.candidates:,}: {100 * b.score:.1f} → {cell(b.right)}" if b else "-" for b in found]
        rows.append([f"{i / BINS:.1f} to {(i + 1) / BINS:.1f}", *cells])
    note = (
        f"Candidates: mean score → share that equals a gold answer; k = {max(EVIDENCE_SIZES)}. "
        "Well calibrated scores have the two alike."
    )
    return markdown("Reliability", header, rows, note)


def _seconds(results: Sequence[SplitResult], figures: Mapping[str, Figures]) -> str:
    rows = []
    for result in results:
        found = figures[result.split][ALL]["seconds"]
        rows.append(
            [
                result.label,
                _count(result, ALL, "seconds", "all"),
                *(cell(found.get(s), 1, 2) for s in STAGES),
            ]
        )
    return markdown("Seconds a question, median", ["questions", "n", *STAGES], rows)


def _count(result: SplitResult, group: str, subject: str, measure: str) -> str:
    """How many questions of a group a measure applies to."""
    known = result.measures.get(subject, {}).get(measure, {})
    return f"{sum(i in known for i in result.groups[group]):,}"

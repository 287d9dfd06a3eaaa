"""What other runs say: how many valid answers nobody has found, and a paired comparison with one of them."""

from __future__ import annotations

from rtv_core.analysis.comparison import Comparison, Difference
from rtv_core.analysis.missing import Missing
from rtv_core.errors import InputError
from rtv_core.records import Run
from rtv_core.ui.analysis.state import Look, Pair
from rtv_core.ui.analysis.tables import note, points_of, short, table
from rtv_core.ui.markup import Markup, join, tag
from rtv_core.ui.render.parts import counted

__all__ = ["render_missing", "render_pair"]

FINDS_SHOWN = 50


def render_missing(look: Look) -> Markup | None:
    """The estimates by systems and by annotators; None where neither can be made.

    Annotators are counted, not named.
    """
    made = []
    for name, get in (("systems", look.missing), ("annotators", lambda: look.analysis.missing)):
        try:
            found = get()
        except InputError:
            continue
        made.append(_missing(name, found))
    return join(made) if made else None


def render_pair(pair: Pair) -> Markup:
    """Both runs' scores with their paired difference, and the gold answers that only one found."""
    try:
        raw, corrected = pair.raw, pair.corrected
    except InputError as error:
        return note(str(error))
    rows = [
        ["F1", *_cells(raw.f1)],
        ["precision", *_cells(raw.precision)],
        ["recall", *_cells(raw.recall)],
    ]
    rows += [["F1, several answers", *_cells(raw.f1_multi)]] if raw.f1_multi else []
    rows += [["F1 on corrected gold", *_cells(corrected.f1)]] if corrected else []
    caption = "Scores of both runs, in points of 100"
    words = (
        f"Over {counted(raw.questions, 'question')} that both runs have, {raw.left_out:,} left out. "
        "Difference: the first minus the second, paired by question, with 95 % bootstrap intervals; one "
        f"without 0 tells them apart. F1 of the first is better on {raw.better:,}, worse on {raw.worse:,}, "
        f"equal on {raw.equal:,}."
    )
    parts = [
        tag("p", "First: ", _named(pair.first.run), ". Second: ", _named(pair.second.run), "."),
        table(caption, ("", "first", "second", "difference"), rows),
        note(words),
        _finds(raw),
    ]
    if corrected is not None:
        parts.insert(3, note("Corrected by the verdicts on either run."))
    return join(parts)


def _missing(name: str, found: Missing) -> Markup:
    shown = found.sources if name == "systems" else ()
    rows = [[short(who, 200), f"{count:,}"] for who, count in shown]
    rows += [
        ["found by more than one", f"{found.overlap:,}"],
        ["found in all", f"{found.found:,}"],
        [
            "in all, at least" if found.lower_bound else "estimated in all",
            f"{found.total:,.0f} ({found.low:,.0f} to {found.high:,.0f})",
        ],
        ["still missing", f"{found.missing:,.0f}"],
    ]
    title = f"By {counted(len(found.sources), name[:-1])}: {found.method}"
    method, *assumed = found.notes
    words = f"{method} It rests on this. {' '.join(assumed)}"
    return join([tag("h3", title), table(f"Valid answers {title}", ("", "valid answers"), rows), note(words)])


def _cells(difference: Difference) -> list[Markup]:
    return [points_of(difference.first), points_of(difference.second), points_of(difference.difference)]


def _named(run: Run) -> Markup:
    return join([short(run.name, 200), " (", short(run.system, 200), ")"])


def _finds(found: Comparison) -> Markup:
    """How many gold answers only one run found, and some of them."""
    words = (
        f"Gold answers: {found.both:,} predicted by both, {len(found.only_first):,} by the first only, "
        f"{len(found.only_second):,} by the second only, {found.neither:,} by neither."
    )
    shown = [(find, "first") for find in found.only_first[:FINDS_SHOWN]]
    shown += [(find, "second") for find in found.only_second[:FINDS_SHOWN]]
    if not shown:
        return note(words)
    rows = [[short(find.question, 400), short(find.answer, 400), run] for find, run in shown]
    if len(shown) < len(found.only_first) + len(found.only_second):
        words += f" At most {FINDS_SHOWN} of each run are listed."
    columns = ("question", "answer", "only by the")
    return join([note(words), table("Gold answers that only one run found", columns, rows, class_="words")])

"""The Experiments page as HTML: the list to choose from, and the chosen table with all that belongs to it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import urlencode

from rtv_core.experiments import NEEDED, TITLES
from rtv_core.experiments.markdown import shown_interval
from rtv_core.experiments.results import COMMAND, Result, Results, by_number, told_path
from rtv_core.experiments.table import Cell, Row, Table
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.frame import render_message

__all__ = ["render_experiments"]

LONGEST_TEXT = 1000
LONGEST_FACT = 4000
FILES_NAMED = 5
DEMO = "Without an index it asks the demo's questions; with --help the command names its options."
TELLS_NO_OPTIONS = (
    "The result does not tell the options it was made with. Add the index and the questions that are named "
    "above, by --index and --questions."
)


def render_experiments(results: Results, chosen: str = "") -> Markup:
    """All experiments, and the `chosen` one; with "", the first that has a result."""
    found = {result.name: result for result in results.found}
    names = sorted({*TITLES, *found}, key=by_number)
    chosen = chosen or next((name for name in names if name in found), names[0])
    if result := found.get(chosen):
        shown = _result(result, results.folder)
    elif chosen in TITLES:
        shown = _none_yet(chosen, results)
    else:
        shown = render_message(f"There is no experiment “{chosen[:80]}”. Choose one of the list.", "error")
    listed = tag("ul", *(_item(name, found.get(name), name == chosen) for name in names))
    return tag(
        "div",
        tag("nav", listed, aria_label="Experiments"),
        tag("article", _problems(results), shown),
        class_="rtv-experiments",
    )


def _item(name: str, result: Result | None, current: bool) -> Markup:
    about = TITLES.get(name) or (result.table.title if result else "")
    link = tag(
        "a",
        tag("b", _label(name)),
        tag("span", escape(about, LONGEST_TEXT), class_="about"),
        None if result else tag("span", "no result yet", class_="none"),
        href=f"?{urlencode({'page': 'experiments', 'experiment': name}, errors='replace')}",
        data_experiment=name,
        aria_current="page" if current else None,
        class_=None if result else "empty",
    )
    return tag("li", link)


def _label(name: str) -> Markup:
    """ "Table 4" for table4, "RI2VER" for ri2ver; the names of other files as they are."""
    if name not in TITLES:
        return escape(name, LONGEST_TEXT)
    numbered = re.fullmatch(r"([a-z]+)([0-9]+)", name)
    return escape(f"{numbered[1].capitalize()} {numbered[2]}" if numbered else name.upper())


def _problems(results: Results) -> Markup | None:
    """What is wrong with the folder, in a line each."""
    lines = [results.problem] if results.problem else []
    if results.unreadable:
        files = results.unreadable[:FILES_NAMED]
        more = len(results.unreadable) - len(files)
        named = ", ".join(files) + (f" and {more:,} more" if more else "")
        lines.append(f"Not readable as an experiment's result, and left out: {named}.")
    return join(tag("p", escape(line, LONGEST_TEXT), class_="problem", role="status") for line in lines)


def _none_yet(name: str, results: Results) -> Markup:
    """What the experiment shows, and the command that would make it."""
    return join(
        [
            tag("h2", _label(name)),
            tag("p", f"{TITLES[name]}. There is no result of it yet.", class_="words"),
            _command("To make it", _default_command(name, results.folder)),
            tag("p", DEMO, class_="small"),
        ]
    )


def _result(result: Result, folder: Path) -> Markup:
    table = result.table
    notes = (tag("li", escape(text, LONGEST_TEXT)) for text in table.notes)
    plots = (tag("figure", Markup(plot)) for plot in result.plots)
    return join(
        [
            tag("h2", escape(table.title, LONGEST_TEXT)),
            _table(table),
            tag("ul", *notes, class_="notes") if table.notes else None,
            tag("div", *plots, class_="plots") if result.plots else None,
            _provenance(table),
            _again(table, folder),
        ]
    )


def _table(table: Table) -> Markup:
    names = (tag("th", escape(name, LONGEST_TEXT), scope="col", class_="number") for name in table.columns)
    source = escape(f"published ({table.published})", LONGEST_TEXT)
    head = tag(
        "tr",
        tag("th", escape(table.first, LONGEST_TEXT), scope="col"),
        *names,
        tag("th", source, scope="col", class_="published"),
    )
    made = tag(
        "table",
        tag("caption", escape(table.title, LONGEST_TEXT), class_="sr"),
        tag("thead", head),
        tag("tbody", *(_row(row, len(table.columns)) for row in table.rows)),
    )
    return tag(
        "div", made, class_="rtv-scroll", tabindex=0, role="region", aria_label=table.title[:LONGEST_TEXT]
    )


def _row(row: Row, columns: int) -> Markup:
    """A line of figures; one of published figures alone has them in place of ours, and says so."""
    name = tag("th", escape(row.name, LONGEST_TEXT), scope="row")
    published = escape(row.published, LONGEST_TEXT) or _no_figure()
    if row.cells:
        return tag("tr", name, *map(_cell, row.cells), tag("td", published, class_="published"))
    said = row.name.startswith("published")
    word = spoken("published: ") if said else tag("i", "published: ")
    return tag("tr", name, tag("td", word, published, colspan=columns + 1), class_="theirs")


def _cell(cell: Cell | None) -> Markup:
    if cell is None:
        return tag("td", _no_figure(), class_="number")
    whole = _figure(*shown_interval(cell.all, cell))
    if cell.multi is None:
        return tag("td", whole, class_="number")
    several = _figure(*shown_interval(cell.multi, cell), stroke="/ ")
    return tag("td", whole, " ", several, class_="number both")


def _figure(mean: str, between: str, stroke: str = "") -> Markup:
    """A mean, its interval in small print, and before it the stroke that the notes speak of."""
    mean, between = (text.replace("-", "\N{MINUS SIGN}") for text in (mean, between))
    interval = tag("span", f" ({between})" if between else "", class_="between")
    return tag("span", stroke, tag("b", mean), interval, class_="figure")


def _no_figure() -> Markup:
    return join([tag("span", "–", aria_hidden="true"), spoken("none")])


def _provenance(table: Table) -> Markup | None:
    facts = [(name, value) for name, value in table.provenance if name != COMMAND]
    if not facts:
        return None
    pairs = (
        tag("div", tag("dt", escape(name, LONGEST_TEXT)), tag("dd", escape(value, LONGEST_FACT)))
        for name, value in facts
    )
    return tag("details", tag("summary", "Made with"), tag("dl", *pairs))


def _again(table: Table, folder: Path) -> Markup | None:
    """The command that the result was made by; for one that doesn't tell, the experiment's own."""
    if known := dict(table.provenance).get(COMMAND):
        return _command("To make it again", known)
    if table.name not in TITLES:
        return None
    own = _command("To make it again", _default_command(table.name, folder))
    return join([own, tag("p", TELLS_NO_OPTIONS, class_="small")])


def _default_command(name: str, folder: Path) -> str:
    needed = f" {NEEDED[name]}" if name in NEEDED else ""
    return f"python -m rtv_core experiment {name}{needed} --out {shlex.quote(told_path(folder))}"


def _command(title: str, command: str) -> Markup:
    return join([tag("h3", title), tag("pre", tag("code", escape(command, LONGEST_FACT)), tabindex=0)])

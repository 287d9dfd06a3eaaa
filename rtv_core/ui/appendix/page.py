"""The document: its parts in a reader's order, where the figures come from, and how to make it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from rtv_core import __version__
from rtv_core.records import Trace
from rtv_core.ui.analysis.figures import counted_in_words
from rtv_core.ui.analysis.filtering import in_words
from rtv_core.ui.analysis.state import Analysis, Look
from rtv_core.ui.analysis.tables import note, short
from rtv_core.ui.appendix import figures, others, sections
from rtv_core.ui.appendix.examples import chosen_examples
from rtv_core.ui.markup import Markup, escape, join, tag
from rtv_core.ui.render.parts import counted

__all__ = ["render_appendix"]

STYLE = Path(__file__).resolve().parents[3] / "assets" / "appendix.css"

HEAD = Markup(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="referrer" content="no-referrer">'
)
"""The page loads nothing and runs nothing, wherever it is opened."""

LONGEST_FACT = 4000


def render_appendix(
    look: Look,
    load_trace: Callable[[str], Trace],
    facts: Mapping[str, str],
    examples: int = 3,
) -> str:
    """The page as a whole HTML document, the same for the same run and verdicts.

    `facts` are further lines of its provenance, by name. At most `examples` mistakes of each class are shown.
    Annotators are counted, not named, and their notes are left out. The other run is compared, if there is
    one.
    """
    analysis, pair = look.analysis, look.pair
    run = analysis.run
    title = f"Error analysis of {run.name}"
    parts = [
        tag("h1", "Error analysis of ", short(run.name, 200)),
        tag("p", _subtitle(analysis), class_="subtitle"),
        _headline(analysis),
        tag("p", "Counted: ", counted_in_words(analysis)),
        _queues(analysis),
        _section("Scores", sections.render_scores(analysis)),
        _section("What the mistakes are", sections.render_table6(analysis)),
        _section("Where gold answers were lost", sections.render_blame(analysis)),
        _section("Scores and thresholds", figures.render_plots(analysis)),
        _section("Kinds of questions", figures.render_kinds(analysis)),
        _section("Answers still missing", others.render_missing(look)),
        _section("Against another run", None if pair is None else others.render_pair(pair)),
        _section("Agreement between annotators", sections.render_agreement(analysis)),
        _section("Examples", sections.render_examples(chosen_examples(analysis, load_trace, examples))),
        _section("What verdicts added to gold", sections.render_added(analysis)),
        _section("Provenance", _provenance(analysis, facts)),
        _section("How to make this page again", _again(look, examples)),
    ]
    style = tag("style", Markup(STYLE.read_text(encoding="utf-8")))
    head = tag("head", HEAD, tag("title", title), style)
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', *parts)), lang='en')}\n"


def _section(title: str, content: Markup | None) -> Markup | None:
    return None if content is None else tag("section", tag("h2", title), content)


def _subtitle(analysis: Analysis) -> Markup:
    run = analysis.run
    tau = "" if run.tau is None else f" · tau {run.tau:.2f} · evidence of {counted(run.k, 'passage')}"
    size = counted(len(analysis.questions), "question")
    if analysis.where:
        size += f" of {run.questions:,}, those of which {' and '.join(map(in_words, analysis.where))}"
    return join([short(run.system, 200), " · ", escape(size, LONGEST_FACT), f"{tau} · {run.at[:10]}"])


def _headline(analysis: Analysis) -> Markup:
    if analysis.headline is None:
        return tag("p", sections.NO_GOLD, class_="headline")
    return tag("p", analysis.headline.text, class_="headline")


def _queues(analysis: Analysis) -> Markup | None:
    """How what was judged was chosen."""
    if not analysis.queues:
        return note("No queue was drawn from this run: people judged what they happened to look at.")
    drawn = [
        f"{queue.items:,} by the strategy “{queue.plan.strategy}” (seed {queue.plan.seed}, population "
        f"“{queue.plan.population}”, {'blind' if queue.plan.blind else 'score and gold in sight'})"
        for queue in analysis.queues
    ]
    return note(f"Answers drawn to be judged: {'; '.join(drawn)}.")


def _provenance(analysis: Analysis, facts: Mapping[str, str]) -> Markup:
    run, times = analysis.run, sorted(judgement.at for judgement in analysis.judgements if judgement.at)
    people = len(analysis.annotators)
    verdicts = f"{counted(len(analysis.judgements), 'verdict')} of {counted(people, 'annotator')}"
    if times:
        verdicts += f", {times[0][:10]} to {times[-1][:10]}"
    own = {
        "run": f"{run.name} ({run.id})",
        "system": run.system,
        "begun": run.at,
        "verdicts": verdicts,
        "made by": f"rtv_core {__version__}",
    }
    rows = [(name, value) for name, value in (own | dict(facts)).items()]
    rows += [(name, str(value)) for name, value in sorted(run.provenance.items())]
    pairs = (
        tag("div", tag("dt", short(name)), tag("dd", short(value, LONGEST_FACT))) for name, value in rows
    )
    return tag("dl", *pairs)


def _again(look: Look, examples: int) -> Markup:
    """The commands; an adjudicator's name is for the reader to fill in."""
    analysis, counting = look.analysis, look.analysis.counting
    options = ["--every-verdict"] if not counting.settled_only else []
    options += ["--adjudicator NAME"] * len(counting.adjudicators)
    options += ["--across-runs"] if counting.across_runs else []
    options += [f"--where {shlex.quote(str(condition))}" for condition in analysis.where]
    options += [f"--against {shlex.quote(look.pair.second.run.name)}"] if look.pair else []
    options += [f"--examples {examples}"]
    name = shlex.quote(analysis.run.name)
    commands = (
        "python -m rtv_core judgements restore BACKUP --store rtv.db",
        f"python -m rtv_core report {name} --store rtv.db {' '.join(options)} --out report.html",
        f"python -m rtv_core judgements gold --run {name} --store rtv.db --out gold.json",
    )
    words = (
        "With the database that belongs to this run (`judgements backup` makes the copy), the first two "
        "commands make this page again, byte for byte with the same version; the third writes the corrected "
        "gold in AmbigQA's format."
    )
    return join([tag("p", words), tag("pre", tag("code", escape("\n".join(commands))))])

"""`ask`: one question, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rtv_core.cli.options import stay_offline, with_settings
from rtv_core.settings import Settings, load_settings

__all__ = ["command"]


@click.command("ask")
@click.argument("question")
@with_settings
@click.option("--json", "as_json", is_flag=True, help="Everything that was found, as JSON.")
@click.option(
    "--show", type=click.IntRange(0, 10), default=1, show_default=True, help="Evidence passages shown."
)
def command(
    question: str, index: Path | None, profile: str, overrides: tuple[str, ...], as_json: bool, show: int
) -> None:
    """Answer one QUESTION, with scores and evidence."""
    from rtv_core.pipeline import check_question

    settings = load_settings(profile, overrides)
    check_question(question)
    if index is not None:
        from rtv_core.retrieval.manifest import read_manifest

        read_manifest(index)  # says that there is no index before the models are loaded
    stay_offline()
    from rtv_core.factory import load_models

    trace = load_models(index).pipeline(settings).ask(question)
    if as_json:
        from rtv_core.report import answer_report
        from rtv_core.wire import to_json

        click.echo(to_json(answer_report(trace, settings), indent=2))
        return
    _print_answers(trace, settings, show)


def _print_answers(trace: Any, settings: Settings, show: int) -> None:
    from rtv_core.ri2ver import says_words, score_text
    from rtv_core.thresholds import judge

    predictions = judge(trace, settings.verifier)
    if not predictions:
        click.echo("No candidate was recalled. Try another question, or a larger corpus with --index.")
        return
    words = says_words(trace)
    for prediction in predictions:
        if not prediction.accepted:
            continue
        note = (
            f"  (the best, though not above tau {settings.verifier.tau:.2f})" if prediction.fallback else ""
        )
        score = score_text(prediction.p_right, words)
        click.echo(f"{score:<4}  {prediction.answer}{note}")
        for passage in trace.evidence[prediction.index].passages[:show]:
            title = passage.hit.passage.title or "(no title)"
            click.echo(f"      {title}: {passage.hit.passage.text[:160]}…")
    rejected = sum(not prediction.accepted for prediction in predictions)
    spent = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in trace.seconds.items())
    click.echo(
        f"{rejected} more candidates at or below tau {settings.verifier.tau:.2f}  ·  {spent}", err=True
    )

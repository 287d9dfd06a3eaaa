"""`serve`: the pages."""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.cli.options import STORE, stay_offline, with_settings
from rtv_core.settings import load_settings

__all__ = ["command"]


@click.command("serve")
@with_settings
@click.option("--questions", type=click.Path(path_type=Path), help="Questions with gold answers to offer.")
@click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Judgements."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=7860, show_default=True)
@click.option("--open", "open_browser", is_flag=True, help="Open a browser.")
def command(
    index: Path | None,
    profile: str,
    overrides: tuple[str, ...],
    questions: Path | None,
    store: Path,
    host: str,
    port: int,
    open_browser: bool,
) -> None:
    """Show every stage of an answer in the browser, and judge it."""
    stay_offline()
    settings = load_settings(profile, overrides)
    from rtv_core.ui.app import check_host
    from rtv_core.ui.app import serve as serve_app

    check_host(host)
    from rtv_core.factory import Workbench

    workbench = Workbench(settings, store, index, questions)
    click.echo(f"RTV on http://{host}:{port}  ·  corpus: {workbench.corpus}  ·  judgements: {store}")
    workbench.start()
    serve_app(workbench, host, port, open_browser)

"""`serve`: the pages."""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.cli.accounts import no_admin
from rtv_core.cli.options import STORE, stay_offline, with_settings
from rtv_core.settings import load_settings

__all__ = ["command"]

UNENCRYPTED = (
    "Passwords and pages travel unencrypted. Beyond a network that you trust, serve on 127.0.0.1 behind a "
    "proxy with HTTPS, and name its address by --site."
)


@click.command("serve")
@with_settings
@click.option("--questions", type=click.Path(path_type=Path), help="Questions with gold answers to offer.")
@click.option(
    "--baselines",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="A trained baseline's folder, or a profile, to compare with; repeatable.",
)
@click.option(
    "--experiments",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Show the results that `experiment` wrote to this folder by --out.",
)
@click.option(
    "--store", type=click.Path(path_type=Path), default=STORE, show_default=True, help="Judgements."
)
@click.option(
    "--auth", type=click.Path(path_type=Path), help="Accounts, made by `accounts add`: sign in first."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Another one only with --auth.")
@click.option(
    "--site", "sites", multiple=True, metavar="URL", help="The address in the browser, where it is another."
)
@click.option("--port", type=click.IntRange(1, 65535), default=7860, show_default=True)
@click.option("--open", "open_browser", is_flag=True, help="Open a browser.")
def command(
    index: Path | None,
    profile: str,
    overrides: tuple[str, ...],
    questions: Path | None,
    baselines: tuple[Path, ...],
    experiments: Path | None,
    store: Path,
    auth: Path | None,
    host: str,
    sites: tuple[str, ...],
    port: int,
    open_browser: bool,
) -> None:
    """Show every stage of an answer in the browser, and judge it."""
    stay_offline()
    settings = load_settings(profile, overrides)
    from rtv_core.accounts import Accounts
    from rtv_core.baselines.offers import Systems, offers
    from rtv_core.ui.app import check_host, is_local
    from rtv_core.ui.app import serve as serve_app
    from rtv_core.ui.guard import read_site

    check_host(host, shared=auth is not None)
    for site in sites:
        read_site(site)
    accounts = None if auth is None else Accounts(auth)
    if accounts is not None:
        accounts.names()
        if not accounts.admins():
            click.echo(no_admin(accounts.path), err=True)
    from rtv_core.factory import MODELS, Workbench

    systems = Systems(offers(baselines, MODELS, settings.reader.backend))
    workbench = Workbench(settings, store, index, questions)
    click.echo(f"RTV on http://{host}:{port}  ·  corpus: {workbench.corpus}  ·  judgements: {store}")
    if not is_local(host):
        click.echo(UNENCRYPTED, err=True)
    workbench.start()
    serve_app(workbench, host, port, open_browser, accounts, sites, systems, experiments)

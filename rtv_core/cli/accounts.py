"""`accounts`: who may sign in to `serve --auth`."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]

_FILE = click.option(
    "--file", "path", type=click.Path(path_type=Path), required=True, help="The file of accounts."
)


@click.group("accounts")
def command() -> None:
    """Who may sign in, when the pages are served with --auth."""


@command.command()
@click.argument("name")
@_FILE
def add(name: str, path: Path) -> None:
    """Add NAME, asking for a password twice. Also while a server runs."""
    from rtv_core.accounts import SHORTEST_PASSWORD, Accounts

    password = click.prompt(
        f"Password for {name} (at least {SHORTEST_PASSWORD} characters)",
        hide_input=True,
        confirmation_prompt="The same again",
    )
    added = Accounts(path).add(name, password)
    click.echo(f"{path}: {added} can sign in.")


@command.command("list")
@_FILE
def list_names(path: Path) -> None:
    """The names, one a line."""
    from rtv_core.accounts import Accounts

    for name in Accounts(path).names():
        click.echo(name)


@command.command()
@click.argument("name")
@_FILE
def remove(name: str, path: Path) -> None:
    """Take NAME away; what it judged stays. A new password: remove the name and add it again."""
    from rtv_core.accounts import Accounts

    removed = Accounts(path).remove(name)
    click.echo(f"{path}: {removed} can no longer sign in. Restart the server to end open sessions too.")

"""`accounts`: who may sign in to `serve --auth`."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command", "no_admin"]

_FILE = click.option(
    "--file", "path", type=click.Path(path_type=Path), required=True, help="The file of accounts."
)


@click.group("accounts")
def command() -> None:
    """Who may sign in, when the pages are served with --auth."""


@command.command()
@click.argument("name")
@_FILE
@click.option("--admin", is_flag=True, help="NAME sees the page Admin: claims, progress, backups, accounts.")
def add(name: str, path: Path, admin: bool) -> None:
    """Add NAME, asking for a password twice. Also while a server runs."""
    from rtv_core.accounts import SHORTEST_PASSWORD, Accounts

    password = click.prompt(
        f"Password for {name} (at least {SHORTEST_PASSWORD} characters)",
        hide_input=True,
        confirmation_prompt="The same again",
    )
    accounts = Accounts(path)
    added = accounts.add(name, password, admin)
    click.echo(f"{path}: {added} can sign in{', and is an admin' if admin else ''}.")
    if not accounts.admins():
        click.echo(no_admin(path), err=True)


@command.command("list")
@_FILE
def list_names(path: Path) -> None:
    """The names, one a line; "admin" stands after an admin's, behind a tab."""
    from rtv_core.accounts import Accounts

    accounts = Accounts(path)
    admins = accounts.admins()
    for name in accounts.names():
        click.echo(f"{name}\tadmin" if name in admins else name)


@command.command()
@click.argument("name")
@_FILE
def remove(name: str, path: Path) -> None:
    """Take NAME away, ending its sessions; what it judged stays. For a new password, add it again."""
    from rtv_core.accounts import Accounts

    removed = Accounts(path).remove(name)
    click.echo(f"{path}: {removed} can no longer sign in; open sessions have ended.")


def no_admin(path: Path) -> str:
    """What to know and do where no account is an admin's."""
    return (
        f"No account in {path} is an admin's, so nobody sees the page Admin. Make one: "
        f"python -m rtv_core accounts add NAME --admin --file {path}"
    )

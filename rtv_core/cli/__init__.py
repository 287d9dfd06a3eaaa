"""The command line: `python -m rtv_core`. The only part that writes to the terminal; one module a command."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

import click

from rtv_core.cli import (
    accounts,
    ask,
    evaluate,
    experiment,
    index,
    judgements,
    queue,
    report,
    runs,
    serve,
    train,
    verdicts,
)
from rtv_core.errors import RtvError

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what a person can mend is one line on stderr and exit status 1."""
    try:
        cli.main(
            args=None if arguments is None else list(arguments), prog_name="rtv_core", standalone_mode=False
        )
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RtvError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        click.echo(f"Error: {error.filename or 'A file'} can't be used: {error.strerror}.", err=True)
        sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("-v", "--verbose", is_flag=True, help="Log what happens.")
def cli(verbose: bool) -> None:
    """Answer open-domain questions that have many answers: recall, then verify."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s")


for module in (
    accounts,
    ask,
    evaluate,
    experiment,
    index,
    judgements,
    queue,
    report,
    runs,
    serve,
    train,
    verdicts,
):
    cli.add_command(module.command)

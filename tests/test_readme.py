"""What the README and CONTRIBUTING tell people to type, open and set is there."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from rtv_core.cli import cli
from rtv_core.experiments.markdown import markdown
from rtv_core.experiments.results import read_results
from rtv_core.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OUR_FILE = re.compile(r"(?:app\.py|(?:assets|benchmarks|rtv_core|tests)/[\w./-]*|[\w-]+\.(?:md|toml))")
SHELL = {"apt-get", "pip", "ruff", ".", "python3"}
"""Programs that the README starts besides `python`."""


def blocks(page: str, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(PAGES[page]) if found == language]


def commands(page: str) -> list[str]:
    """The commands of a page's shell blocks, one by one, and those in its running text."""
    lines = [line for text in blocks(page, "sh") for line in text.replace("\\\n", " ").splitlines()]
    lines += [code for code in CODE.findall(BLOCK.sub("", PAGES[page])) if code.startswith("python -m ")]
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


ALL_COMMANDS = sorted({command for page in PAGES for command in commands(page)})
OURS = [command for command in ALL_COMMANDS if command.startswith("python -m rtv_core")]


def context_of(command: str) -> click.Context:
    """The parsed arguments of a `python -m rtv_core ...` line. Raises click.UsageError for a wrong one."""
    words = shlex.split(command)[3:]
    found: click.Command = cli
    while isinstance(found, click.Group):
        if not words or words[0] not in found.commands:
            raise click.UsageError(f"{found.name} has no command {words[:1]}")
        found = found.commands[words.pop(0)]
    return found.make_context(found.name, words)


@pytest.mark.parametrize("command", OURS)
def test_a_command_of_ours_has_the_options_that_are_shown(command: str) -> None:
    parameters = context_of(command).params
    load_settings(overrides=parameters.get("overrides", ()))


@pytest.mark.parametrize(
    "command", ["python -m rtv_core aks q", "python -m rtv_core ask q --jsn", "python -m rtv_core train"]
)
def test_a_command_that_is_not_ours_would_be_noticed(command: str) -> None:
    with pytest.raises(click.UsageError):
        context_of(command)


def test_every_command_is_shown() -> None:
    shown = {context_of(command).command.name for command in OURS}
    assert shown == {command.name for command in leaves(cli)}


def leaves(command: click.Command) -> list[click.Command]:
    """The commands that are no groups."""
    if not isinstance(command, click.Group):
        return [command]
    return [leaf for inner in command.commands.values() for leaf in leaves(inner)]


@pytest.mark.parametrize("command", [c for c in ALL_COMMANDS if c not in OURS])
def test_any_other_command_starts_something_that_is_there(command: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    if program != "python":
        assert program in SHELL
    elif arguments[0] == "-m":
        assert find_spec(arguments[1]) is not None
    else:
        assert (ROOT / arguments[0]).is_file()


@pytest.mark.parametrize("text", blocks("README.md", "toml"))
def test_a_profile_that_is_shown_can_be_used(text: str, tmp_path: Path) -> None:
    (tmp_path / "shown.toml").write_text(text, encoding="utf-8")
    settings = load_settings(str(tmp_path / "shown.toml"))
    for part, values in tomllib.loads(text).items():
        assert {name: getattr(getattr(settings, part), name) for name in values} == values


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = {code for code in CODE.findall(PAGES[page]) if OUR_FILE.fullmatch(code)}
    named |= set(LINK.findall(PAGES[page]))
    assert named
    assert not {name for name in named if not (ROOT / name).exists()}


def test_set_up_takes_two_commands_of_the_first_screen() -> None:
    first, second, *_ = blocks("README.md", "sh")
    set_up, run = first.splitlines()
    assert set_up.endswith("pip install -r requirements.txt")
    assert run == "python app.py"
    assert second == "python -m pytest\n"
    assert PAGES["README.md"].index(second) < PAGES["README.md"].index("\n## ")


def test_ci_sets_up_and_tests_as_the_readme_says() -> None:
    lines = [line.strip() for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()]
    assert lines[-1] == blocks("README.md", "sh")[1].strip()
    assert "pip install --quiet -r requirements.txt" in lines


def test_the_tables_that_are_shown_are_the_kept_results() -> None:
    folder = ROOT / "assets" / "experiments"
    kept, page = read_results(folder), (folder / "README.md").read_text(encoding="utf-8")
    assert len(kept.found) == 9
    assert not kept.unreadable
    for result in kept.found:
        _, body = markdown(result.table).split("\n", 1)
        assert body.strip() in page, result.name
        (plot,) = result.plots
        assert f"({result.name}.svg)" in page
        assert plot == (folder / f"{result.name}.svg").read_text(encoding="utf-8")

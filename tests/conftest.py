"""What any test may ask for: the folder with the public data sets, where `--data` names one."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--data", type=Path, help="The folder with public sets, for slow tests of real files.")


@pytest.fixture
def data(request: pytest.FixtureRequest) -> Path:
    """The folder that `--data` names; without it the test is skipped."""
    folder = request.config.getoption("--data")
    if folder is None:
        pytest.skip("needs the public data sets: name their folder by --data")
    return folder

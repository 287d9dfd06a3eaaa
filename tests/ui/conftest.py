"""The fakes one folder up for the tests of the pages, a Chromium, and the pages served over a workbench."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from chromium import faultless_page, served

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's path. Without one the tests that need it are skipped, but not where CI runs."""
    path = shutil.which("chromium")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("There is no chromium on the path; the browser test must run here.")
        pytest.skip("There is no chromium on the path (apt-get install chromium).")
    return path


@pytest.fixture(scope="session")
def driver(chromium):
    """Playwright, once for all: there may be only one of it in a thread."""
    with pytest.importorskip("playwright.sync_api").sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def engine(driver, chromium):
    """A browser in which each context is somebody's own."""
    browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def browser(driver, chromium, tmp_path_factory):
    """One person's browser, with a new profile."""
    context = driver.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=chromium,
        headless=True,
        args=ARGUMENTS,
        viewport={"width": 1280, "height": 800},
    )
    yield context
    context.close()


@pytest.fixture(scope="module")
def systems():
    """The systems that the pages compare with: those of every server, unless a module has its own."""
    return None


@pytest.fixture(scope="module")
def address(workbench, systems):
    """Where the pages over the module's own `workbench` are served."""
    from rtv_core.ui.app import build_app, launch_options

    with served(build_app(workbench, systems=systems), **launch_options()) as own:
        yield f"{own}/"


@pytest.fixture
def page(engine):
    """A page that did nothing wrong: no alert, no error."""
    with faultless_page(engine) as page:
        yield page

"""The pages of a server with a sign-in, in a real Chromium, as wide as a phone and as a desk's screen."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher
from chromium import free_port, served
from fakes import FakeWorkbench

from rtv_core.accounts import Accounts
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

pytestmark = pytest.mark.browser

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def accounts(tmp_path_factory):
    made = Accounts(tmp_path_factory.mktemp("shared") / "people.json", PasswordHasher(1, 8, 1))
    made.add("Ann", PASSWORD, admin=True)
    return made


@pytest.fixture(scope="module")
def shared(accounts):
    """Where the pages are served to those who sign in."""
    from rtv_core.ui.app import build_app, launch_options, read_site
    from rtv_core.ui.signin import SignIn

    path = accounts.path.with_name("rtv.db")
    parts = {"store": JudgementStore(path), "runs": RunStore(path), "queues": QueueStore(path)}
    port = free_port()  # known beforehand: the site's own address is part of what is served
    site = read_site(f"http://127.0.0.1:{port}")
    app = build_app(FakeWorkbench([], "", **parts), shared=True, accounts=accounts)
    with served(app, port, **launch_options([site], SignIn(accounts))) as own:
        yield own


@pytest.fixture
def page(engine, shared, request):
    context = engine.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(shared)
    page.fill("input[name=name]", "Ann")
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector(".rtv-sign-out button")
    page.wait_for_selector("#rtv-tabs [role=tab]")
    yield page
    context.close()


@pytest.mark.parametrize("page", [390, 700, 1280], indirect=True)
def test_the_sign_out_button_covers_neither_tabs_nor_their_menu(page):
    page.wait_for_timeout(500)  # Gradio lays out its tabs once more
    out = page.locator(".rtv-sign-out button").bounding_box()
    shown = [*page.locator("#rtv-tabs .tab-container [role=tab]").all()]
    shown += page.locator("#rtv-tabs .overflow-menu:not(.hide) > button").all()
    boxes = [box for each in shown if (box := each.bounding_box()) and box["width"]]
    assert boxes
    for box in boxes:
        assert box["x"] + box["width"] <= out["x"]
    assert out["x"] + out["width"] <= page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("page", [390], indirect=True)
def test_on_a_phone_the_menu_leads_to_the_other_tabs_and_the_button_out(page):
    for attempt in range(10):  # Gradio lays out its tabs once more, and may take the menu from under a click
        page.click("#rtv-tabs .overflow-menu > button")
        page.click("#rtv-tabs .overflow-dropdown button:has-text('About')")
        page.wait_for_timeout(200 * (attempt + 1))
        if page.locator("#rtv-about").is_visible():
            break
    assert page.locator("#rtv-about").is_visible()
    page.click(".rtv-sign-out button")
    page.wait_for_selector("input[name=password]")
    assert page.url.endswith("/sign-in")


@pytest.mark.parametrize("page", [1280], indirect=True)
def test_whose_account_is_removed_meets_the_sign_in_page_at_the_next_step(page, accounts):
    accounts.add("Bob", PASSWORD)
    accounts.remove("Ann")
    try:
        page.reload()
        page.wait_for_selector("input[name=password]")
    finally:
        accounts.add("Ann", PASSWORD, admin=True)

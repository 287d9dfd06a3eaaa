"""What the browser tests share: pages served on a free port, and a list of what a page did wrong."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(app: Any, port: int | None = None, **options: Any) -> Iterator[str]:
    """The address, without a slash at its end, at which a Gradio app is served meanwhile."""
    port = port or free_port()
    app.launch(server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, **options)
    yield f"http://127.0.0.1:{port}"
    app.close()


LEFT = "rtv-test: the page is left"
ABORTED = ("AbortError", "Connection errored out")
"""What Gradio says of a request that it aborts itself when the page is left."""


def watch(page: Any) -> list[str]:
    """What a page does wrong from now on: dialogs, which are dismissed, and errors. The list grows.

    Gradio aborts what is under way when the page is left, and calls that an error: here it is none.
    """
    found: list[str] = []
    leaving = False

    def hear(message: Any) -> None:
        nonlocal leaving
        leaving = leaving or message.text == LEFT
        if message.type == "error" and not (leaving and any(word in message.text for word in ABORTED)):
            found.append(message.text)

    def arrive(frame: Any) -> None:
        nonlocal leaving
        leaving = leaving and frame != page.main_frame

    page.add_init_script(f"window.addEventListener('beforeunload', () => console.debug({LEFT!r}))")
    page.on("framenavigated", arrive)
    page.set_default_timeout(60_000)
    page.on("dialog", lambda dialog: (found.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("console", hear)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


@contextmanager
def faultless_page(engine: Any) -> Iterator[Any]:
    """A page of a laptop's size that must do nothing wrong while it is open."""
    page = engine.new_page(viewport={"width": 1280, "height": 800})
    wrong = watch(page)
    yield page
    page.close()
    assert wrong == []

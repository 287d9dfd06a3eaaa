"""The web application: its tabs, its look, and how it is served."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from pathlib import Path

import gradio as gr
from starlette.middleware import Middleware

from rtv_core.accounts import Accounts
from rtv_core.baselines.offers import Systems, offers
from rtv_core.errors import InputError, MissingError
from rtv_core.ui import render
from rtv_core.ui.admin import Access, add_admin
from rtv_core.ui.analyse import add_analyse
from rtv_core.ui.annotate import add_annotate
from rtv_core.ui.compare import add_compare
from rtv_core.ui.documents import Receiver, Room, add_documents
from rtv_core.ui.experiments import add_experiments
from rtv_core.ui.explore import add_explore
from rtv_core.ui.guard import Guard, read_site
from rtv_core.ui.markup import join
from rtv_core.ui.signin import SignIn, render_sign_out, signed_in_name
from rtv_core.ui.workbench import Workbench

__all__ = ["build_app", "check_host", "is_local", "launch_options", "serve"]

ASSETS = Path(__file__).resolve().parents[2] / "assets"
STYLES = (
    "style.css",
    "present.css",
    "annotate.css",
    "analyse.css",
    "compare.css",
    "experiments.css",
    "documents.css",
    "admin.css",
)
SCRIPTS = (
    "latest.js",
    "keys.js",
    "present.js",
    "annotate.js",
    "analyse.js",
    "whatif.js",
    "compare.js",
    "experiments.js",
    "documents.js",
    "admin.js",
)


def build_app(
    workbench: Workbench,
    shared: bool = False,
    accounts: Accounts | None = None,
    systems: Systems | None = None,
    room: Room | None = None,
    experiments: Path | None = None,
) -> gr.Blocks:
    """The pages over a workbench; serve them with `launch(**launch_options())`.

    `shared` pages have a way to sign out, and a page for the admins among the `accounts`. `systems` can be
    compared with; without them, the recaller alone. `room` is where documents are made into indexes.
    `experiments` is a folder of the papers' experiments' results; without one there is no page for them.
    """
    systems = systems or Systems(offers())
    access = Access(shared, accounts)
    header = render.render_header(workbench.corpus, workbench.settings.profile)
    with gr.Blocks(title="RTV: recall, then verify", analytics_enabled=False, fill_width=True) as app:
        gr.HTML(
            join([header, render_sign_out() if shared else None]),
            elem_id="rtv-header",
            apply_default_css=False,
        )
        with gr.Tabs(elem_id="rtv-tabs"):
            with gr.Tab("Explore", id="explore", elem_id="rtv-explore"):
                add_explore(workbench, app, systems)
            with gr.Tab("Annotate", id="annotate", elem_id="rtv-annotate"):
                add_annotate(workbench, _asset("guidelines.md"))
            with gr.Tab("Analyse", id="analyse", elem_id="rtv-analyse"):
                add_analyse(workbench, access.allows)
            with gr.Tab("Compare", id="compare", elem_id="rtv-compare"):
                add_compare(workbench, systems)
            if experiments is not None:
                add_experiments(experiments)
            add_documents(room or Room(workbench), access, app)
            add_admin(workbench, access, app)
            with gr.Tab("About", id="about", elem_id="rtv-about"):
                gr.Markdown(_asset("about.md"), elem_classes="rtv-prose")
                gr.Markdown(_asset("guidelines.md"), elem_classes="rtv-prose")
        gr.HTML(render.render_keys(), elem_id="rtv-help", apply_default_css=False)
    return app


def launch_options(
    sites: Sequence[str] = (),
    sign_in: SignIn | None = None,
    receiver: Middleware | None = None,
) -> dict[str, object]:
    """How `Blocks.launch` must be called: our look, nothing shared, recorded or reported, no file served.

    `sites` are the origins (from `read_site`) that people use besides the address itself. With `sign_in`
    nobody sees anything before signing in. Documents are handed in to the `receiver`, if there is one.
    """
    return {
        "theme": gr.themes.Base(
            font=["system-ui", "sans-serif"],
            font_mono=["ui-monospace", "monospace"],
        ),
        "head": f"<style>{_assets(STYLES)}</style><script>{_assets(SCRIPTS)}</script>",
        "share": False,
        "run_history": False,
        "enable_monitoring": False,
        "footer_links": [],
        "allowed_paths": [],
        "max_file_size": 1,  # bytes: nothing comes in by Gradio; `Receiver` takes documents
        "app_kwargs": {
            "openapi_url": None,
            "docs_url": None,
            "redoc_url": None,
            "middleware": [Middleware(Guard, sites, sign_in), *([receiver] if receiver else [])],
        },
        "auth_dependency": None if sign_in is None else signed_in_name,
        "show_error": False,
        "strict_cors": True,
        "mcp_server": False,
        "pwa": False,
        "ssr_mode": False,
        "quiet": True,
    }


def serve(
    workbench: Workbench,
    host: str = "127.0.0.1",
    port: int = 7860,
    open_browser: bool = False,
    accounts: Accounts | None = None,
    sites: Sequence[str] = (),
    systems: Systems | None = None,
    experiments: Path | None = None,
) -> None:
    """Serve the pages until interrupted; with `accounts`, to those who sign in.

    `sites` are the addresses under which people reach the server, where that isn't `host` and `port`, such
    as that of a proxy in front of it. Raises InputError for an address that others can reach, unless there
    are accounts, and for a port that is taken; MissingError where nobody could sign in.
    """
    check_host(host, shared=accounts is not None)
    if accounts is not None:
        accounts.names()
    _check_port(host, port)
    name = f"[{host}]" if ":" in host else host
    room = Room(workbench)
    options = launch_options(
        [read_site(site) for site in (f"http://{name}:{port}", *sites)],
        None if accounts is None else SignIn(accounts),
        Middleware(Receiver, room, Access(accounts is not None, accounts)),
    )
    app = build_app(workbench, accounts is not None, accounts, systems, room, experiments)
    app.launch(server_name=name, server_port=port, inbrowser=open_browser, **options)


def check_host(host: str, shared: bool = False) -> None:
    """Raise InputError for an address that others can reach, unless it is `shared` with a sign-in."""
    if not (shared or is_local(host)):
        raise InputError(
            f"The address {host!r} can be reached from other machines, and there is no login. Serve it on "
            "127.0.0.1, or name a file of accounts by --auth."
        )
    if not host:
        raise InputError("The address is empty. Name one by --host.")


def is_local(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_port(host: str, port: int) -> None:
    """Ask before Gradio does: it would only say that it found no port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"Port {port} can't be used: {error}. Choose another with --port.") from error


def _assets(names: Sequence[str]) -> str:
    return "\n".join(map(_asset, names))


def _asset(name: str) -> str:
    path = ASSETS / name
    if not path.is_file():
        raise MissingError(f"The file {name} is missing from {ASSETS}. Check out the repository again.")
    return path.read_text(encoding="utf-8")

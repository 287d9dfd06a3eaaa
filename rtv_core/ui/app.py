"""The web application: its tabs, its look, and how it is served."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import gradio as gr

from rtv_core.errors import InputError, MissingError
from rtv_core.ui import render
from rtv_core.ui.explore import add_explore
from rtv_core.ui.workbench import Workbench

__all__ = ["build_app", "check_host", "launch_options", "serve"]

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def build_app(workbench: Workbench) -> gr.Blocks:
    """The pages over a workbench; serve them with `launch(**launch_options())`."""
    with gr.Blocks(title="RTV: recall, then verify", analytics_enabled=False, fill_width=True) as app:
        gr.HTML(
            render.render_header(workbench.corpus, workbench.settings.profile),
            elem_id="rtv-header",
            apply_default_css=False,
        )
        with gr.Tabs(elem_id="rtv-tabs"):
            with gr.Tab("Explore", id="explore", elem_id="rtv-explore"):
                add_explore(workbench, app)
            with gr.Tab("About", id="about", elem_id="rtv-about"):
                gr.Markdown(_asset("about.md"), elem_classes="rtv-prose")
                gr.Markdown(_asset("guidelines.md"), elem_classes="rtv-prose")
        gr.HTML(render.render_keys(), elem_id="rtv-help", apply_default_css=False)
    return app


def launch_options() -> dict[str, object]:
    """How `Blocks.launch` must be called: our look, nothing shared, recorded or reported, no file served."""
    return {
        "theme": gr.themes.Base(
            font=["system-ui", "sans-serif"],
            font_mono=["ui-monospace", "monospace"],
        ),
        "head": f"<style>{_asset('style.css')}</style><script>{_asset('keys.js')}</script>",
        "share": False,
        "run_history": False,
        "enable_monitoring": False,
        "footer_links": [],
        "allowed_paths": [],
        "max_file_size": 1,  # bytes: nothing on these pages is uploaded
        "app_kwargs": {"openapi_url": None, "docs_url": None, "redoc_url": None},
        "show_error": False,
        "strict_cors": True,
        "mcp_server": False,
        "pwa": False,
        "ssr_mode": False,
        "quiet": True,
    }


def serve(
    workbench: Workbench, host: str = "127.0.0.1", port: int = 7860, open_browser: bool = False
) -> None:
    """Serve the pages until interrupted.

    Raises InputError for an address that others can reach, and for a port that is taken.
    """
    check_host(host)
    _check_port(host, port)
    app = build_app(workbench)
    app.launch(server_name=host, server_port=port, inbrowser=open_browser, **launch_options())


def check_host(host: str) -> None:
    """Raise InputError for an address that others can reach."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise InputError(
            f"The address {host!r} can be reached from other machines, and RTV has no login yet. "
            "Serve it on 127.0.0.1."
        )


def _check_port(host: str, port: int) -> None:
    """Ask before Gradio does: it would only say that it found no port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"Port {port} can't be used: {error}. Choose another with --port.") from error


def _asset(name: str) -> str:
    path = ASSETS / name
    if not path.is_file():
        raise MissingError(f"The file {name} is missing from {ASSETS}. Check out the repository again.")
    return path.read_text(encoding="utf-8")

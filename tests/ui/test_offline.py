"""The pages with the network cut: nothing is fetched, reported or shared, and no code comes with a model."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from rtv_core.ui.app import launch_options

ROOT = Path(__file__).resolve().parents[2]

SERVER = """
    import socket, sys, urllib.request

    tried = []
    def is_here(host):
        return host in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", b"localhost", b"127.0.0.1")

    def look_up(host, *more, **others):
        if not is_here(host):
            tried.append(host)
            raise socket.gaierror(-3, "the network is cut")
        return known(host, *more, **others)

    class Cut(socket.socket):
        def connect(self, address):
            if self.family != socket.AF_UNIX and not is_here(address[0]):
                tried.append(address)
                raise OSError(101, "the network is cut")
            return super().connect(address)

    known, socket.getaddrinfo, socket.socket = socket.getaddrinfo, look_up, Cut
    sys.path.insert(0, sys.argv[1])
    from fakes import FakeWorkbench
    from rtv_core.ui.app import build_app, launch_options

    app = build_app(FakeWorkbench([], ""))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app.launch(server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, **launch_options())
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
    app.close()
    print("rtv-tabs" in page.decode(), tried)
"""


def test_the_pages_start_with_the_network_cut_and_ask_for_nothing_outside() -> None:
    command = [sys.executable, "-c", textwrap.dedent(SERVER), ROOT / "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True []"


def test_nothing_is_shared_recorded_or_reported() -> None:
    options = launch_options()
    for name in ("share", "run_history", "enable_monitoring", "mcp_server", "pwa", "show_error"):
        assert options[name] is False, name


def test_no_model_may_bring_its_own_code_and_no_page_names_another_site() -> None:
    sources = [*ROOT.glob("rtv_core/**/*.py"), *ROOT.glob("assets/*.js"), *ROOT.glob("assets/*.css")]
    assert len(sources) > 50
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"trust_remote_code\s*=\s*True|allow_pickle\s*=\s*True", text), path
        if path.suffix in (".js", ".css"):
            assert not re.search(r"""(?:url\(|import |fetch\(|src=)\s*["']?(?:https?:)?//""", text), path

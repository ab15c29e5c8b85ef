"""A reader who enters the commands of a page in a checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final, NamedTuple

from tests.repository.pages import ROOT

BIN: Final = Path(sys.executable).parent
"""Programs of the environment in which the tests run."""
_COPIED: Final = ("client", "docker", "docs", "protos", "server", "tests")
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.so", "node_modules")
_ENDLESS: Final = ("tenure serve", "tenure console")
"""Commands that run until they are stopped, and print their address first."""
_SECONDS: Final = 300


class Reader(NamedTuple):
    """A copy of the checkout, and what was started in it."""

    folder: Path
    started: ExitStack
    addresses: dict[str, str]
    """Addresses in texts, and the ones that stand for them."""

    def enter(self, line: str, *, may_fail: bool = False) -> str:
        """Run a command in a shell, as a process of its own. Returns what it prints.

        What may fail has the exit status 0 or 1.
        """
        for shown, real in self.addresses.items():
            line = line.replace(shown, real)
        if line.startswith(_ENDLESS):
            return self._start(line)
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        told = f"{line}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
        assert (ended.returncode <= may_fail, "Traceback" in ended.stderr) == (True, False), told
        return ended.stdout

    def _start(self, line: str) -> str:
        """Start a server on a free port; it is stopped with all that was started."""
        process = self.started.enter_context(
            subprocess.Popen(
                ["bash", "-c", f"exec {line} --listen 127.0.0.1:0"],
                cwd=self.folder,
                env=self._environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self.started.callback(process.terminate)
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told.startswith(
            f"tenure: {'serving' if line.startswith('tenure serve') else 'console'} on "
        ), told
        if line.startswith("tenure serve"):
            self.addresses["127.0.0.1:50051"] = told.split()[-1]
        return told

    def _environment(self) -> Mapping[str, str]:
        added = {"PATH": f"{BIN}:{os.environ['PATH']}", "XDG_STATE_HOME": str(self.folder / "state")}
        config = {"KUBECONFIG": str(self.folder / "kubeconfig"), "COLUMNS": "100"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return {**kept, **added, **config}

    def serve_file(self, path: Path) -> str:
        """Serve a file by HTTP under every path; returns the address of the server."""
        content = path.read_bytes()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.started.callback(server.server_close)
        self.started.callback(server.shutdown)
        return f"127.0.0.1:{server.server_address[1]}"


@contextmanager
def reader_in(folder: Path) -> Iterator[Reader]:
    """A reader in a copy of this checkout, whose environment is the one in which the tests run."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=_LEFT_OUT)
    for file in (path for path in ROOT.iterdir() if path.is_file()):
        shutil.copy(file, folder)
    environment = folder / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(BIN.parent / part)
    for name in ("installed", "ready"):
        (environment / name).touch()  # newer than all files, so that make installs nothing
    with ExitStack() as started:
        yield Reader(folder, started, {})

"""People without a checkout install `kubectl tenure` with krew, from archives on a web server."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.kubectl import KubectlResult
from tests.e2e.cluster.story import Story
from tests.kubernetes.environment.binaries import ROOT, required_krew, required_kubectl

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

HERE = (
    f"{sys.platform}-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
)
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yields its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Home:
    """An empty home, with kubectl, krew and Python in the PATH."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        programs, self.krew = folder / "programs", folder / "home/.krew/bin"
        programs.mkdir()
        base = Path(sys.base_prefix, "bin", f"python{PYTHON}")
        for name, program in {
            "kubectl": required_kubectl(),
            "kubectl-krew": required_krew(),
            "python3": base,
        }.items():
            (programs / name).symlink_to(program)
        self._variables: Mapping[str, str] = {
            "HOME": str(folder / "home"),
            "PATH": os.pathsep.join((str(programs), str(self.krew), "/usr/bin", "/bin")),
            "KUBECONFIG": str(kubeconfig),
        }
        (folder / "home").mkdir()

    def kubectl(self, *arguments: str) -> KubectlResult:
        """Run kubectl."""
        ended = subprocess.run(
            ["kubectl", *arguments],
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return KubectlResult(ended.returncode, ended.stdout, ended.stderr)

    def output(self, *arguments: str) -> str:
        """Run a command that must succeed; return what it printed."""
        result = self.kubectl(*arguments)
        assert result.code == 0, result
        return result.output


def build(folder: Path, url: str) -> None:
    """Build the archive for this platform and Python, and the manifest, as for publishing."""
    command = [sys.executable, ROOT / "docker/krew/build.py", "--url", url, "--out", folder]
    ended = subprocess.run(
        [*command, "--platform", HERE, "--python", PYTHON], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.thorough
def test_krew_installs_the_plugin_and_it_shows_the_queues_of_the_cluster(
    cluster: WholeCluster, story: Story, tmp_path: Path
) -> None:
    """One test, because the build takes a minute."""
    archives = tmp_path / "archives"
    archives.mkdir()
    home = Home(tmp_path, cluster.plane.kubeconfig())
    with served(archives) as url:
        build(archives, url)
        install = ("krew", "install", "--no-update-index", "--manifest-url", f"{url}/tenure.yaml")
        other = tmp_path / "other.tar.gz"
        other.write_bytes(b"another archive")
        refused = home.kubectl(*install, "--archive", str(other))
        assert (refused.code, "checksum does not match" in refused.errors) == (1, True), refused
        home.output(*install)
    assert story.full("q") in home.output("tenure", "queues")
    assert "migrate" in home.output("tenure", "migrate", "--help")  # runs the command tenure of the archive
    assert home.kubectl("tenure", "why", "nothing").code == 2

    (home.krew / "kubectl_complete-tenure").symlink_to("kubectl-tenure")  # as the caveats say
    assert home.output("__complete", "tenure", "q").splitlines()[0].startswith("queues")

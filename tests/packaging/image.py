"""The check `image`: the image that `make image` built serves as an unprivileged user on a read-only root.

Its files are mounted read-only; programs run in a chroot on it, as the user, with the entry point, the
arguments and the variables that the image names. The command lines are those of the image and of the chart.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import grpc
import yaml
from tenure.client import Client

from tests.checks import CannotRun, Counts
from tests.packaging.charts import MANIFESTS
from tests.packaging.dockerfile import USER
from tests.server.test_grpc_server_health import health
from tests.small_snapshot import small_snapshot
from tests.supply_chain.others import DEBIAN
from tests.tools.tool import ROOT

ABOUT: Final = ROOT / "dist/image/image.json"
_UNWANTED: Final = (
    "sh",
    "bash",
    "dash",
    "gcc",
    "cc",
    "ld",
    "pip",
    "pip3",
    "apt",
    "apt-get",
    "dpkg",
    "perl",
    "curl",
)
"""Programs that the image needs at no time."""


class RunnableImage(NamedTuple):
    """The files of an image, and how its configuration says to run it."""

    root: Path
    config: dict[str, Any]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the entry point with these arguments."""
        command, pipe = [*self._chroot(), *self.config["Entrypoint"], *arguments], subprocess.PIPE
        return subprocess.Popen(command, env=self.variables(), stdout=pipe, stderr=pipe, text=True)

    def variables(self) -> dict[str, str]:
        """Variables of the image, and no others."""
        pairs = dict(one.split("=", 1) for one in self.config["Env"])
        return {**pairs, "TERM": "dumb", "COLUMNS": "100"}

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run any program of the image."""
        chroot = [*self._chroot(), *command]
        return subprocess.run(chroot, env=self.variables(), capture_output=True, text=True, check=False)

    def _chroot(self) -> list[str]:
        program = shutil.which("chroot") or "/usr/sbin/chroot"
        return [program, f"--userspec={self.config['User']}", "--groups=", str(self.root)]


def main() -> Counts:
    """Run the cases on the image that was built last."""
    about = built_image()
    passed = failed = 0
    with _mounted(about["image"]) as image:
        for case in (
            _serves,
            _rejects_writes,
            _has_no_tools,
            _trusts_public_authorities,
            _runs_what_the_chart_runs,
            _lists_its_packages,
        ):
            problems = list(case(image, about))
            for problem in problems:
                print(f"{case.__name__.strip('_')}: {problem}")
            passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{about['image']}: {about['bytes'] / 2**20:.0f} MiB, {len(about['packages'])} packages")
    return Counts(passed, failed)


def built_image() -> dict[str, Any]:
    """Name, size and packages of the image that `make image` built last. Raises CannotRun without one."""
    if not ABOUT.exists() or shutil.which("buildah") is None or os.geteuid():
        raise CannotRun("there is no image: make image (as root, with buildah and mmdebstrap)")
    about: dict[str, Any] = json.loads(ABOUT.read_text())
    if subprocess.run(["buildah", "inspect", about["image"]], check=False, capture_output=True).returncode:
        raise CannotRun(f"{about['image']} was removed: make image")
    return about


def save_image(name: str, archive: Path) -> None:
    """Write an image of buildah to an archive that Docker and containerd read. Raises CalledProcessError."""
    _output("buildah", "push", "--quiet", name, f"docker-archive:{archive}:{name}")


@contextmanager
def _mounted(name: str) -> Iterator[RunnableImage]:
    working = _output("buildah", "from", "--pull-never", name)
    config = json.loads(_output("buildah", "inspect", "--type", "image", name))["OCIv1"]["config"]
    with TemporaryDirectory() as root:
        try:
            _output("mount", "--bind", _output("buildah", "mount", working), root)
            _output("mount", "-o", "remount,bind,ro,nosuid", root)
            _output("mount", "--bind", "/dev", f"{root}/dev")  # engines give one of their own
            yield RunnableImage(Path(root), config)
        finally:
            for mounted in (f"{root}/dev", root):
                subprocess.run(["umount", mounted], check=False)
            _output("buildah", "rm", working)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _serves(image: RunnableImage, about: object) -> Iterator[str]:
    process = image.start(*image.config["Cmd"], "--listen", "127.0.0.1:0")
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        yield f"the server did not start: {process.communicate()[1][-500:]}"
        return
    address = line.split()[-1]
    with Client(address) as client, grpc.insecure_channel(address) as channel:
        if not client.decide(small_snapshot()).outcomes:
            yield "the decision has no outcomes"
        if health(channel) != 1:
            yield "health is not SERVING"
    process.terminate()
    _, errors = process.communicate(timeout=60)
    if process.returncode or "Traceback" in errors:
        yield f"SIGTERM: exit {process.returncode}: {errors[-500:]}"


def _rejects_writes(image: RunnableImage, about: object) -> Iterator[str]:
    if image.config["User"] != f"{USER}:{USER}":
        yield f"the user is {image.config['User']}"
    program = "import os\nprint(os.getuid())\nopen('/opt/tenure/new', 'w')"
    ended = image.run("/opt/tenure/bin/python", "-c", program)
    if ended.stdout.strip() != str(USER) or "Read-only file system" not in ended.stderr:
        yield f"a write: {ended.stdout} {ended.stderr[-300:]}"
    writable = [path for path in _files(image.root) if path.stat().st_mode & 0o022 and not path.is_symlink()]
    if writable:
        yield f"others can write, without the read-only root: {writable[:5]}"


def _has_no_tools(image: RunnableImage, about: object) -> Iterator[str]:
    folders = ("usr/bin", "bin", "usr/sbin", "sbin", "usr/local/bin", "opt/tenure/bin")
    found = [name for folder in folders for name in _UNWANTED if (image.root / folder / name).exists()]
    if found:
        yield f"programs that are not needed: {found}"
    privileged = [path for path in _files(image.root) if path.stat().st_mode & 0o6000]
    if privileged:
        yield f"programs with the rights of their owner: {privileged}"


def _trusts_public_authorities(image: RunnableImage, about: object) -> Iterator[str]:
    """Issuers of tokens are called over TLS."""
    program = "import ssl\nprint(ssl.create_default_context().cert_store_stats()['x509_ca'])"
    ended = image.run("/opt/tenure/bin/python", "-c", program)
    if not ended.stdout.strip().isdigit() or int(ended.stdout) < 100:
        yield f"authorities: {ended.stdout} {ended.stderr[-300:]}"


def _runs_what_the_chart_runs(image: RunnableImage, about: object) -> Iterator[str]:
    """Each container of the manifests starts: it gets as far as a file that only a cluster has."""
    documents = yaml.safe_load_all((MANIFESTS / "tenure.yaml").read_text())
    (deployment,) = (one for one in documents if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        process = image.start(*container["args"])
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            yield f"{container['name']}: still runs without its configuration"
            continue
        if process.returncode != 2 or "Traceback" in errors or not errors.strip():
            yield f"{container['name']}: exit {process.returncode}: {errors[-500:]}"


def _lists_its_packages(image: RunnableImage, about: Any) -> Iterator[str]:
    listed = (
        "from importlib.metadata import distributions\nfor one in distributions(): print(one.name.lower())"
    )
    ended = image.run("/opt/tenure/bin/python", "-c", listed)
    installed = {name.replace("_", "-") for name in ended.stdout.split()}
    billed = {one.split("/")[1].split("@")[0] for one in about["packages"] if one.startswith("pkg:pypi/")}
    if installed != billed:
        yield f"the bill of materials differs: {sorted(installed ^ billed)}"
    debian = {one.split("/")[2].split("@")[0] for one in about["packages"] if one.startswith("pkg:deb/")}
    if {unquote(name) for name in debian} != {*DEBIAN}:
        yield f"tests/supply_chain/others.py has other Debian packages: {sorted(debian ^ {*DEBIAN})}"


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())

"""A Docker daemon with a folder, a socket and images of its own; it needs root, and no registry."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tests.checks import CannotRun
from tests.child_processes import Program
from tests.kubernetes.cluster import wait_until
from tests.packaging.image import save_image
from tests.tools.catalog import COMPOSE

_OPTIONS: Final = ("--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs")
"""Nothing of the network or the file systems of this machine is changed."""


class DockerDaemon(NamedTuple):
    """A running daemon, and the variables with which clients reach it."""

    folder: Path
    variables: Mapping[str, str]

    def docker(self, *arguments: str) -> str:
        """Run a command of docker; returns its output. Raises CalledProcessError."""
        command, out = ["docker", *arguments], subprocess.PIPE
        return subprocess.run(
            command, env=self.variables, check=True, stdout=out, stderr=subprocess.STDOUT, text=True
        ).stdout

    def require_containers(self, image: str) -> None:
        """Run a container on a network with a published port. Raises CannotRun if this machine forbids it."""
        try:
            self.docker("network", "create", "tried")
            published = ("--network", "tried", "--publish", "127.0.0.1::1")
            self.docker("run", "--rm", *published, image, "python3", "-c", "")
            self.docker("network", "rm", "tried")
        except subprocess.CalledProcessError as failure:
            raise CannotRun(f"Docker runs no containers here: {failure.output}") from None

    def load(self, image: str) -> None:
        """Copy an image from buildah, with its name."""
        archive = self.folder / "image.tar"
        save_image(image, archive)
        self.docker("load", "--input", str(archive))
        archive.unlink()

    def build(self, name: str, base: str, files: Mapping[str, Path | str], *command: str) -> None:
        """Make an image with these files and a command, on an image that is here."""
        with TemporaryDirectory(dir=self.folder) as context:
            lines = [f"FROM {base}"]
            for number, (target, content) in enumerate(files.items()):
                source = Path(context, str(number))
                if isinstance(content, Path):
                    shutil.copy2(content, source)
                else:
                    source.write_text(content)
                lines.append(f"COPY {number} {target}")
            Path(context, "Dockerfile").write_text("\n".join([*lines, f"ENTRYPOINT {json.dumps(command)}"]))
            self.docker("build", "--quiet", "--tag", name, context)


@contextmanager
def run_docker() -> Iterator[DockerDaemon]:
    """Run a daemon; `docker compose` is a command of its clients. Ends all containers. Raises CannotRun."""
    missing = [program for program in ("docker", "dockerd") if shutil.which(program) is None]
    if missing or os.geteuid():
        what = f"{' and '.join(missing)}: apt-get install docker.io" if missing else "root"
        raise CannotRun(f"a Docker daemon needs {what}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plugin = folder / "config/cli-plugins/docker-compose"
        plugin.parent.mkdir(parents=True)
        plugin.symlink_to(COMPOSE)
        address = f"unix://{folder}/socket"
        variables = {
            **os.environ,
            "DOCKER_HOST": address,
            "DOCKER_CONFIG": str(folder / "config"),
            "DOCKER_BUILDKIT": "0",  # the other builder asks a registry about images that are here
        }
        places = (f"--data-root={folder}/data", f"--exec-root={folder}/run", f"--pidfile={folder}/pid")
        program = Program(folder / "dockerd.log", "dockerd", *_OPTIONS, *places, f"--host={address}")
        daemon = DockerDaemon(folder, variables)
        try:
            wait_until(lambda: program.has_ended or (folder / "socket").exists(), 30)
            if program.has_ended:
                raise CannotRun(f"dockerd does not run here: {program.output[-500:]}")
            yield daemon
        finally:
            program.terminate(30)

"""docker/Dockerfile as its instructions, and its build stage without a container engine."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, NamedTuple

import yaml

from tests.packaging.charts import ROOT

FILE: Final = ROOT / "docker/Dockerfile"
BUILT: Final = "/opt/tenure"
"""Folder of the program in the image."""
USER: Final = 65532
"""User of the image."""


class Instruction(NamedTuple):
    """An instruction with its continuation lines."""

    name: str
    rest: str


def instructions() -> list[Instruction]:
    """Return all instructions in order."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def arguments_of(name: str) -> list[str]:
    """Return the arguments of each instruction with this name."""
    return [one.rest for one in instructions() if one.name == name]


def compose_service() -> dict[str, Any]:
    """Return the service of docker/compose.yaml that runs the image."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]["tenure"]
    return found


class ImageContent(NamedTuple):
    """The content of BUILT in the image, in a folder that its user can read but not write."""

    folder: Path
    user: int | None
    """User that runs the program. None: the user of the tests, since only root can choose another one."""

    def start(self, *command: str, **variables: str) -> "subprocess.Popen[str]":
        """Run a program with only these environment variables, without a home or a writable folder."""
        program, *arguments = command
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [str(self.folder / "bin" / program), *arguments],
            cwd="/",
            env=variables,
            stdout=pipe,
            stderr=pipe,
            text=True,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )


@contextmanager
def install(user: int, is_root: bool) -> Iterator[ImageContent]:
    """Run the build stage in a separate folder: its COPY and RUN instructions."""
    base = Path(mkdtemp(prefix="tenure-image-"))
    try:
        base.chmod(0o755)
        places = {
            BUILT: str(base / "built"),
            "/wheels": str(base / "wheels"),
            "/builder": str(base / "builder"),
        }
        _copy(base / "source")
        _build(base, places)
        subprocess.run(["chmod", "-R", "a-w", base / "built"], check=True)
        yield ImageContent(base / "built", user if is_root else None)
    finally:
        subprocess.run(["chmod", "-R", "u+w", base], check=True)
        shutil.rmtree(base)


def _copy(source: Path) -> None:
    source.mkdir()
    for *names, target in (rest.split() for rest in arguments_of("COPY") if not rest.startswith("--from")):
        if target.endswith("/"):
            (source / target).mkdir(exist_ok=True)
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / target)


def _build(base: Path, places: Mapping[str, str]) -> None:
    """Run the only RUN instruction. `python` is an interpreter that other users can run."""
    (command,) = arguments_of("RUN")
    for inside, outside in places.items():
        command = command.replace(inside, outside)
    programs = base / "programs"
    programs.mkdir()
    (programs / "python").symlink_to(_interpreter())
    (programs / "pip").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m pip --disable-pip-version-check "$@"\n'
    )
    (programs / "pip").chmod(0o755)
    ended = subprocess.run(
        ["sh", "-ec", command],
        cwd=base / "source",
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(base), "TENURE_COMPILED": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _interpreter() -> str:
    """Return a Python of the current version that all users can run, else the interpreter of the tests."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    ours = Path(sys.base_prefix, "bin", name)
    everybodys = (Path(folder, name) for folder in ("/usr/local/bin", "/usr/bin"))
    return str(next((path for path in everybodys if path.exists()), ours))

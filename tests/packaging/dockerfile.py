"""docker/Dockerfile as its instructions, and its build stage without an engine."""

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
"""Where the image has the program."""
USER: Final = 65532
"""Who runs it."""


class Instruction(NamedTuple):
    """One instruction with its continuation lines."""

    name: str
    rest: str


def instructions() -> list[Instruction]:
    """All of them, in order."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def arguments_of(name: str) -> list[str]:
    """What follows each instruction of a name."""
    return [one.rest for one in instructions() if one.name == name]


def compose_service() -> dict[str, Any]:
    """The service of docker/compose.yaml that runs the image."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]["tenure"]
    return found


class ImageContent(NamedTuple):
    """What the image has in BUILT, in a folder that its user may read and not write."""

    folder: Path
    user: int | None
    """Who runs it; None: whoever runs the tests, as only root may choose."""

    def start(self, *command: str, **variables: str) -> "subprocess.Popen[str]":
        """Run a program of it, with nothing around it but these variables: no home, and nowhere to write."""
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
    """Do what the build stage does: copy what it copies, and run what it runs, in a folder of its own."""
    base = Path(mkdtemp(prefix="tenure-image-"))
    try:
        base.chmod(0o755)
        places = {BUILT: str(base / "built"), "/wheels": str(base / "wheels")}
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
    """Run the one RUN of the file. `python` is an interpreter that others may run, too."""
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
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(base)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _interpreter() -> str:
    """A Python of our own version in a place where everybody may run it; else the one that runs the tests."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    ours = Path(sys.base_prefix, "bin", name)
    everybodys = (Path(folder, name) for folder in ("/usr/local/bin", "/usr/bin"))
    return str(next((path for path in everybodys if path.exists()), ours))

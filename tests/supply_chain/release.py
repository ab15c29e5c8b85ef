"""The check `release`: two builds, in other folders and with other rights and times of files, are equal.

Each distribution is opened: it has the license, the version of pyproject.toml and no file that belongs
elsewhere.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from tests.checks import CannotRun, Counts
from tests.supply_chain.command import BIN
from tests.tools.tool import ROOT

VERSION: Final[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
_MODES: Final = ((0o022, 1_600_000_000), (0o077, 1_700_000_000))
"""Creation mask and time of the files of both copies."""


def main(
    compiled: Annotated[bool, typer.Option("--compiled", help="With the compiled solver (minutes)")] = False,
) -> Counts:
    """Build twice and compare; the first one with bills of materials."""
    with TemporaryDirectory() as folder:
        first, second = (
            _build(Path(folder, str(number), "checkout"), mask, time, compiled, has_bills=number == 0)
            for number, (mask, time) in enumerate(_MODES)
        )
        problems = [*_differences(first, second), *_omissions(first)]
        for problem in problems:
            print(problem)
        built = [path for path in first.iterdir() if path.name != "SHA256SUMS"]
        return Counts(len(built) - len(problems), len(problems))


def _build(copy: Path, mask: int, time: int, compiled: bool, has_bills: bool) -> Path:
    """Copy what git knows of this checkout, and build there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise CannotRun("the checkout is not a git repository")
    before = os.umask(mask)
    try:
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, copy / name)
                os.utime(copy / name, (time, time))
        made = copy.parent / "made"
        options = [*(["--compiled"] if compiled else []), *([] if has_bills else ["--no-bills"])]
        program = copy / "docker/release/build.py"
        subprocess.run([BIN / "python", program, made, *options], check=True, cwd=copy)
    finally:
        os.umask(before)
    return made


def _differences(first: Path, second: Path) -> Iterator[str]:
    for file in sorted(second.iterdir()):
        if file.name != "SHA256SUMS" and _digest(file) != _digest(first / file.name):
            yield f"{file.name} differs between two builds"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _omissions(folder: Path) -> Iterator[str]:
    """What is missing, or does not belong there."""
    for name in ("tenure", "tenure_kubernetes", "tenure_slurm"):
        (wheel,) = folder.glob(f"{name}-{VERSION}-*.whl")
        bill = folder / f"{wheel.stem.removesuffix('-py3-none-any')}.cdx.json"
        if not bill.exists():
            yield f"{bill.name} is missing"
        if "-linux_" in wheel.name:
            yield f"{wheel.name} has the tag of one machine, not of the distributions that it runs on"
        with zipfile.ZipFile(wheel) as archive:
            yield from _faults(wheel, archive.namelist(), {"tenure", f"{name}-{VERSION}.dist-info"})
        source = folder / f"{name}-{VERSION}.tar.gz"
        with tarfile.open(source) as packed:
            yield from _faults(source, packed.getnames(), {f"{name}-{VERSION}"})
    if len([*folder.glob("tenure-*.tgz")]) != 1:
        yield "the chart is missing"
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=False)
    if sums.returncode:
        yield "SHA256SUMS does not agree with the files"


def _faults(file: Path, names: list[str], tops: set[str]) -> Iterator[str]:
    found = {name.split("/")[0] for name in names}
    compiled = {name for name in found if name.endswith(".so")}
    if found - compiled != tops:
        yield f"{file.name} contains {sorted(found - tops)}"
    if not any(name.endswith("LICENSE") for name in names):
        yield f"{file.name} has no license"
    if any("__pycache__" in name for name in names):
        yield f"{file.name} contains bytecode"

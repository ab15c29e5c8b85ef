"""The check `policy-pictures`: the pictures of docs/use/policies.md are those of the reports of its studies.

A study is played by the command of the page. Runs are kept in .cache, so the check goes on where it ended.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from tests.checks import CannotRun, Counts
from tests.tools.tool import ROOT

FOLDER: Final = ROOT / "docs/use"
PAGE: Final = FOLDER / "policies.md"
_RUNS: Final = ROOT / ".cache/policy-pictures"
_TRACE: Final = Path(os.environ.get("PHILLY_TRACE", ROOT / "../shared/traces/philly/philly.csv"))
"""Not part of the repository."""


class Picture(NamedTuple):
    """The study that a picture is of."""

    study: str
    changes: Mapping[str, str] = {}
    """Texts of the files on the page, and what the page says to replace them by."""
    needs_trace: bool = False


PICTURES: Final = {
    "policies-minimum": Picture("minimum.yaml"),
    "policies-never": Picture(
        "minimum.yaml", {"nodes: 4x8\n": "nodes: 4x8\nsettings: {checkpointInterval: never}\n"}
    ),
    "minimum-runtimes": Picture("philly.yaml", needs_trace=True),
    "policies-spot-medium": Picture("spot-medium.yaml"),
    "policies-spot-high": Picture("spot-medium.yaml", {"perHour: 10,": "perHour: 20,"}),
    "policies-requeue": Picture("requeue.yaml"),
}
"""Pictures of the page by the names of their files."""


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Names of pictures; default: all")] = None,
    update: Annotated[bool, typer.Option("--update", help="Write the pictures first")] = False,
) -> Counts:
    """Play the studies of the page, and compare points in the pictures of the reports with kept ones."""
    passed = failed = 0
    for name in names or PICTURES:
        drawn = _draw(name)
        file = FOLDER / f"{name}.svg"
        if update:
            file.write_text(drawn, encoding="utf-8")
        is_same = points(file.read_text(encoding="utf-8")) == points(drawn)
        passed, failed = passed + is_same, failed + (not is_same)
        if not is_same:
            told = f"python -m tests policy-pictures {name} --update writes it"
            print(f"{name}.svg is not that of its study; {told}, and then its table changes, too", flush=True)
    return Counts(passed, failed)


def points(svg: str) -> list[tuple[str, dict[str, float]]]:
    """The named points of a picture: what each of the two goals is."""
    labels = re.findall(r'aria-label="([^"]*); point: ([\d, ]+)"', svg)
    return [(name, dict(_values(text))) for text, name in labels]


def _values(text: str) -> Iterator[tuple[str, float]]:
    for part in text.split("; "):
        name, _, value = part.rpartition(": ")
        yield name.partition(" (")[0], float(value.replace(",", ""))


def files_of(name: str) -> dict[str, str]:
    """Files of a study by name, as the page shows them, with the changes for a picture."""
    blocks = re.findall(r"```yaml\n(# (\S+)\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    files = {name: text for text, name in blocks}
    for old, new in PICTURES[name].changes.items():
        assert any(old in text for text in files.values()), old
        files = {file: text.replace(old, new) for file, text in files.items()}
    return files


def command_of(study: str) -> str:
    """The command of the page that plays a study."""
    (found,) = re.findall(rf"^tenure sweep {study} --report \S+$", PAGE.read_text(), re.MULTILINE)
    return str(found)


def _draw(name: str) -> str:
    """The picture in the report of a study."""
    picture = PICTURES[name]
    folder = _RUNS / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files_of(name).items():
        (folder / file).write_text(text, encoding="utf-8")
    if picture.needs_trace:
        _cut_trace(folder)
    words = command_of(picture.study).split()
    command = [sys.executable, "-m", "tenure.cli", *words[1:]]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    page = (folder / words[-1]).read_text(encoding="utf-8")
    (svg,) = re.findall(r'<svg [^>]*class="marks".*?</svg>', page, re.DOTALL)[:1]
    return str(svg)


def _cut_trace(folder: Path) -> None:
    """What the command of the page before the study keeps of the trace."""
    if not _TRACE.exists():
        raise CannotRun("PHILLY_TRACE names no file; name the pictures without it")
    (cut,) = re.findall(r"^awk .*$", PAGE.read_text(), re.MULTILINE)
    line = cut.replace(" philly.csv ", f" '{_TRACE.resolve()}' ")
    subprocess.run(["bash", "-c", line], cwd=folder, check=True)

"""Output of `tenure migrate`: a diff with a summary, or JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from difflib import unified_diff
from io import StringIO
from typing import Final

from rich.console import Console
from rich.text import Text
from tenure.cli.migration.findings import Status
from tenure.cli.migration.plan import FilePlan, Plan

_STYLES: Final = {"---": "bold", "+++": "bold", "@@ ": "cyan", "-": "red", "+": "green"}
"""Colors by prefix of a line; the first match applies."""
_NO_LINE_END: Final = "\\ No newline at end of file\n"


def print_differences(plan: Plan, console: Console) -> None:
    """Print a unified diff of each changed file, without color if the output is not a terminal."""
    for line in (line for file in plan.files for line in difference(file)):
        if console.is_terminal:
            style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
            console.print(Text(line.rstrip("\r\n"), style), soft_wrap=True)
        else:
            console.file.write(line)


def difference(file: FilePlan) -> Iterator[str]:
    """Lines of a unified diff for `patch -p0`."""
    name = str(file.path)
    for line in unified_diff(_lines(file.before), _lines(file.after), name, name):
        yield line if line.endswith("\n") else f"{line}\n{_NO_LINE_END}"


def needs_attention(plan: Plan) -> list[str]:
    """Print a line for each object that needs attention."""
    return [str(finding) for finding in plan.findings if finding.status is Status.ATTENTION]


def summary(plan: Plan, *, written: bool) -> str:
    """Print the numbers of files and objects."""
    attention, changed = plan.count(Status.ATTENTION), plan.count(Status.CHANGED)
    parts = [
        _counted(len(plan.files), "file"),
        _counted(changed, "object") + (" changed" if written else " to change"),
        f"{plan.count(Status.EXPLICIT)} already explicit",
        f"{attention} {'needs' if attention == 1 else 'need'} attention",
        f"{plan.count(Status.UNCHANGED)} unchanged",
    ]
    return ", ".join(parts)


def as_json(plan: Plan) -> str:
    """Findings as a JSON list."""
    return json.dumps([asdict(finding) for finding in plan.findings], indent=2)


def _lines(text: str) -> list[str]:
    """Split a text at line feeds only, as diff does."""
    return StringIO(text, newline="\n").readlines()


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

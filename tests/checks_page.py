"""The tables of checks and tools in docs/internals/testing.md, written from the registries."""

import re
from pathlib import Path
from typing import Final

from tests.checks import CHECKS
from tests.tools.catalog import TOOLS

PAGE: Final = Path(__file__).parents[1] / "docs" / "internals" / "testing.md"
BEGIN: Final = "<!-- checks: written by python -m tests --write-page -->\n"
END: Final = "<!-- end of checks -->"


def written(page: str) -> str:
    """Return the page with the current tables between its markers."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}{_checks()}\n{_tools()}{END}", page, flags=re.DOTALL)


def _checks() -> str:
    rows = [
        f"| `{check.name}` | {check.purpose} | {_names(check.needs)} | {check.duration} |\n"
        for check in CHECKS
    ]
    return "| check | purpose | needs | usual duration |\n|---|---|---|---|\n" + "".join(rows)


def _tools() -> str:
    rows = [
        f"| `{tool.name}` | {tool.purpose} | {_names((*tool.programs, *tool.after))} | {tool.duration} |\n"
        for tool in TOOLS
    ]
    return "| tool | what it is | built with | usual duration |\n|---|---|---|---|\n" + "".join(rows)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)

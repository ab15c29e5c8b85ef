"""Files of the repository that people and the forge read, as text."""

import re
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CONTRIBUTING: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def make_targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([.\w/-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def table(page: str, head: str) -> list[list[str]]:
    """The cells of the table of a page whose head line begins with these cells."""
    lines = page.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def code_owners() -> dict[str, list[str]]:
    """Owners by pattern."""
    lines = (ROOT / ".github/CODEOWNERS").read_text().splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {pattern: owners for pattern, *owners in words}


def hooks() -> list[dict[str, object]]:
    """Hooks of pre-commit."""
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    found: list[dict[str, object]] = local["hooks"]
    return found

"""`pip install` in pages and messages names folders of a checkout: nothing is published."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("docs/**/*.md", "*.md", "client/**/*.md", "server/**/*.py", "client/**/*.py")
EXTRAS = ("console", "parquet", "report", "sweep", "telemetry")
INSTALLED = tuple(f"pip install 'tenure[{extra}]'" for extra in EXTRAS)
"""In messages of an installed Tenure, pip only adds the packages of the extra."""
LINES = sorted(
    {
        (str(file.relative_to(ROOT)), line.strip())
        for pattern in SOURCES
        for file in ROOT.glob(pattern)
        for line in re.findall(r"pip install [^`\n\"]*", file.read_text())
    }
)


def test_pages_say_how_to_install() -> None:
    assert {file for file, _ in LINES} >= {"docs/operate/install.md", "docs/integrate/python.md"}


@pytest.mark.parametrize(("file", "line"), LINES)
def test_line_names_folders_of_the_checkout(file: str, line: str) -> None:
    if line in INSTALLED and file.endswith(".py"):
        return
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    words = line.replace("'", "").replace("{package}", "tenure-slurm").split()[2:]
    assert words
    for word in words:
        folder, _, extra = word.rstrip("]").partition("[")
        assert folder.startswith(".")
        assert (ROOT / folder / "pyproject.toml").exists()
        assert not extra or extra in extras

"""docs/internals/decision.md names existing files and symbols, and the code path stays short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = Path(__file__).parents[2] / "docs" / "internals" / "decision.md"
TEXT: Final = PAGE.read_text()
MAX_FILES: Final = 12
MAX_LINES: Final = 2_200
TOLERANCE: Final = 20
"""Maximum error of a number of lines on the page."""
_ROW: Final = re.compile(r"^\| \d+ \| \[[^\]]+\]\(([^)]+)\) \| (\d+) \|$", re.MULTILINE)
_SYMBOL: Final = re.compile(r"\[`([\w.]+)`\]\(([^)]+\.py)\)")
_FILE: Final = re.compile(r"\]\(([^)]+\.py)\)")
NAMED: Final = {(PAGE.parent / path).resolve() for path in _FILE.findall(TEXT)}
"""Every file that the page names."""

WAY: Final = {(PAGE.parent / path).resolve(): int(lines) for path, lines in _ROW.findall(TEXT)}
"""Files of the code path with their numbers of lines, as the page lists them."""
SYMBOLS: Final = sorted({(name, (PAGE.parent / path).resolve()) for name, path in _SYMBOL.findall(TEXT)})


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Names of classes, functions, methods and constants of a module."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id


def lines_of(file: Path) -> int:
    return len(file.read_text().splitlines())


def test_way_is_no_longer_than_the_limits() -> None:
    assert 0 < len(NAMED) <= MAX_FILES
    assert sum(map(lines_of, NAMED)) <= MAX_LINES


@pytest.mark.parametrize("file", WAY, ids=lambda file: file.stem)
def test_page_lists_the_lines_of_a_file(file: Path) -> None:
    assert abs(lines_of(file) - WAY[file]) <= TOLERANCE


def test_files_on_the_page_are_those_of_the_way_and_exist() -> None:
    assert WAY.keys() == NAMED
    assert [str(file) for file in NAMED if not file.is_file()] == []


@pytest.mark.parametrize(("name", "file"), SYMBOLS, ids=[name for name, _ in SYMBOLS])
def test_symbol_on_the_page_exists_on_the_way(name: str, file: Path) -> None:
    assert file in WAY
    assert name in set(definitions(ast.parse(file.read_text()).body))


def test_every_file_of_the_way_is_walked() -> None:
    assert {file for _, file in SYMBOLS} == WAY.keys()

"""Size of the house: modules, folders and small modules. The limits may only go down."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tenure.wire.generate import generate

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("protos/tenure", "server/tenure", "client/tenure", "client/tenure-kubernetes/tenure")
MAX_MODULES: Final = 352
"""Modules of all packages without `__init__.py` and generated messages."""
MAX_MODULES_IN_A_FOLDER: Final = 21
MAX_SMALL_MODULES: Final = 12
"""Modules under SMALL lines that a single module imports."""
SMALL: Final = 60
MAX_LONG_MODULES: Final = 8
"""Modules over LONG lines."""
LONG: Final = 300
MAX_TEST_FILES_IN_A_FOLDER: Final = 20


def modules() -> Mapping[str, Path]:
    """Source files by module name, without packages, generated messages and other generated modules."""
    files = [file for source in SOURCES for file in sorted((ROOT / source).rglob("*.py"))]
    generated = {ROOT / path for path in generate()}
    written = [
        file
        for file in files
        if file.name != "__init__.py" and "_pb2" not in file.name and file not in generated
    ]
    return {_name(file): file for file in written}


def importers(files: Mapping[str, Path]) -> Mapping[str, set[str]]:
    """Which modules import each module, directly."""
    found: dict[str, set[str]] = defaultdict(set)
    for importer, file in files.items():
        for imported in _imports(file):
            if imported in files:
                found[imported].add(importer)
    return found


def _name(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[len(parts) - 1 - parts[::-1].index("tenure") :])


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def test_there_are_no_more_modules_than_the_limit() -> None:
    assert len(modules()) <= MAX_MODULES


def test_no_folder_has_more_modules_than_the_limit() -> None:
    (folder, count), *_ = Counter(file.parent for file in modules().values()).most_common(1)
    assert count <= MAX_MODULES_IN_A_FOLDER, folder


def test_small_modules_with_one_importer_are_few() -> None:
    files = modules()
    users = importers(files)
    small = [name for name, file in files.items() if _lines(file) < SMALL and len(users[name]) == 1]
    assert len(small) <= MAX_SMALL_MODULES, small


def test_long_modules_are_few() -> None:
    long = [name for name, file in modules().items() if _lines(file) > LONG]
    assert len(long) <= MAX_LONG_MODULES, long


def test_no_folder_of_tests_has_more_files_than_the_limit() -> None:
    files = [file for file in (ROOT / "tests").rglob("*.py") if "__pycache__" not in file.parts]
    (folder, count), *_ = Counter(file.parent for file in files).most_common(1)
    assert count <= MAX_TEST_FILES_IN_A_FOLDER, folder


@pytest.mark.parametrize(
    "name", ["tenure.solver.cycle", "tenure.codec.decode", "tenure.integration.reconciler"]
)
def test_modules_are_found_by_name(name: str) -> None:
    assert name in modules()

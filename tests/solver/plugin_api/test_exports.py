"""Authors of plugins and actions find all that they need in `tenure.solver.plugin_api`."""

import ast
import re
from collections.abc import Iterator
from inspect import getmembers, isclass
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
from tenure.solver import plugin_api
from tenure.solver.plugin_api import action, context, ledger_view, points, scenario, step, traits

ROOT: Final = Path(__file__).parents[3]
EXPORTS: Final = ("tenure.solver.plugin_api", "tenure.solver.testing")
DOCUMENTED: Final = [
    *sorted((ROOT / "docs/extend").glob("*.md")),
    *sorted((ROOT / "tests/examples/timeslice").glob("*.py")),
]
OF_THE_FRAMEWORK: Final = {"PluginServices"}
"""What authors neither call nor implement."""


def sources(file: Path) -> list[str]:
    """The Python of a module, or of the blocks of a page."""
    text = file.read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if file.suffix == ".md" else [text]


def imported(source: str) -> Iterator[str]:
    """Modules of the solver that a source imports from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tenure.solver"):
            yield node.module or ""


@pytest.mark.parametrize("file", DOCUMENTED, ids=lambda file: file.name)
def test_documented_examples_import_nothing_else_of_the_solver(file: Path) -> None:
    assert {module for source in sources(file) for module in imported(source)} <= set(EXPORTS)


@pytest.mark.parametrize("module", [points, traits, context, ledger_view, scenario, action, step])
def test_every_class_of_the_api_is_exported(module: ModuleType) -> None:
    own = {name for name, each in getmembers(module, isclass) if each.__module__ == module.__name__}
    assert own - OF_THE_FRAMEWORK <= set(plugin_api.__all__)


@pytest.mark.interpreted
@pytest.mark.parametrize("module", [points, traits, scenario, ledger_view])
def test_every_class_in_a_signature_of_the_api_is_exported(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    from_model = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tenure.solver")
        for alias in node.names
    }
    assert from_model <= set(plugin_api.__all__)

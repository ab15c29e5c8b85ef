"""The public path that a test takes: gRPC, the command line, an API server, the published documents, or none.

It is read from the source of the test: what the test, its fixtures and the functions that they use come to.
A test that starts a server and calls it takes the path gRPC, whatever else it imports.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[2]
_WAYS: Final = {
    "tests.kubernetes.adapter.adapter_stage.open_stage": "API server",
    "tests.kubernetes.environment.control_plane.run_control_plane": "API server",
    "tenure.cli.main.main": "CLI",
    "tests.e2e.command.run_tenure": "CLI",
    "tests.server.servers.run_server": "gRPC",
    "tests.server.servers.run_server_process": "gRPC",
    "tests.contract.proto_comments.all_declarations": "documents",
    "tests.contract.test_comments.declarations": "documents",
}
"""Functions by which a test takes a path."""
PUBLIC: Final = ("gRPC", "CLI", "API server")
_ORDER: Final = ("API server", "CLI", "gRPC", "documents")
"""A test takes the first of these: an adapter and a command call a server, too."""
INSIDE: Final = "inside"
NO_TEST: Final = "none"


class _Module(NamedTuple):
    name: str
    defined: dict[str, ast.AST]
    imported: dict[str, str]
    """Full names by local names."""


def paths_of(node_ids: Iterable[str]) -> str:
    """Paths of all these tests, as a row names them. `inside` only if no test takes another path."""
    found = {path_of(each) for each in node_ids}
    named = [path for path in (*PUBLIC, "documents") if path in found]
    return ", ".join(named) if named else INSIDE if found else NO_TEST


def path_of(node_id: str) -> str:
    """Path of one test."""
    file, _, test = node_id.partition("::")
    name = ".".join(Path(file).with_suffix("").parts)
    ways = {way for reached in _reached(name, test.partition("[")[0], set()) if (way := _WAYS.get(reached))}
    return next((way for way in _ORDER if way in ways), INSIDE)


def _reached(module_name: str, name: str, seen: set[str]) -> Iterator[str]:
    """Full names of everything that a function or fixture uses."""
    full = f"{module_name}.{name}"
    if full in seen:
        return
    seen.add(full)
    yield full
    module = _module(module_name)
    if full in _WAYS or module is None:
        return
    if name in module.imported:
        owner, _, attribute = module.imported[name].rpartition(".")
        yield from _reached(owner, attribute, seen)
    elif name in module.defined:
        for used in _names(module.defined[name]):
            yield from _reached(module_name, used, seen)
    elif fixture := _fixture_module(module_name, name):
        yield from _reached(fixture, name, seen)


def _names(node: ast.AST) -> set[str]:
    """Names that a definition uses, and its parameters, which may be fixtures."""
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if isinstance(node, ast.FunctionDef):
        used |= {each.arg for each in node.args.args}
    return used


def _fixture_module(module_name: str, name: str) -> str:
    """The nearest conftest with this fixture; empty: there is none."""
    parts = module_name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        candidate = ".".join((*parts[:length], "conftest"))
        found = _module(candidate)
        if candidate != module_name and found is not None and name in found.defined:
            return candidate
    return ""


@cache
def _module(name: str) -> _Module | None:
    """The definitions of a module of the tests; None for other modules."""
    if not name.startswith("tests."):
        return None
    path = _ROOT / Path(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    defined: dict[str, ast.AST] = {}
    imported: dict[str, str] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            defined.update({each.id: node.value for each in node.targets if isinstance(each, ast.Name)})
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            defined[node.target.id] = node.value
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    return _Module(name, defined, imported)

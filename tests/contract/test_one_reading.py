"""One module reads what owners write about preemptibility; all others render its result (R1.80, R8.20)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("protos/tenure", "server/tenure", "client")
RULE: Final = ROOT / "protos/tenure/terms/preemptibility.py"
_OF_A_TRACE: Final = "the column of a trace, which is no pod group"
_OF_OBJECTS: Final = "fields of objects, for rows"
_REQUESTED: Final = "the legacy rule for what is requested beside what is in force"
MAY_READ: Final = {
    "server/tenure/codec/annotations.py": "rows of callers",
    "server/tenure/codec/pod_groups.py": "rows of callers",
    "server/tenure/server/telemetry/cycle_log.py": "rows of callers, after the cycle",
    "server/tenure/solver/model/workload.py": "the legacy rule for decoded pod groups",
    "server/tenure/solver/resolution/grants.py": _REQUESTED,
    "server/tenure/solver/grants.py": _REQUESTED,
    "server/tenure/cli/migration/assess.py": "manifests, before there is a pod group",
    "server/tenure/simulator/jobs.py": _OF_A_TRACE,
    "server/tenure/simulator/traces/generated.py": _OF_A_TRACE,
    "server/tenure/simulator/traces/own.py": _OF_A_TRACE,
    "server/tenure/simulator/traces/observed.py": "rows of records, which have no cluster",
    "client/tenure-kubernetes/tenure/kubernetes/observe/wishes.py": _OF_OBJECTS,
    "client/tenure-kubernetes/tenure/kubernetes/observe/derived_pod_groups.py": _OF_OBJECTS,
    "client/tenure-kubernetes/tenure/kubernetes/observe/pod_group_rows.py": _OF_OBJECTS,
    "client/tenure-kubernetes/tenure/kubernetes/plugin/workload_list.py": "objects, without a server",
    "server/tenure/cli/what_if/submitted_job.py": "what a user writes on the command line",
    "client/tenure-kubernetes/tenure/kubernetes/plugin/assign.py": "what a user writes on the command line",
}
"""Modules that call a reader, and what for. All others render `PodGroupStatus`."""
_MODES: Final = ("preemptible", "nonpreemptible", "semipreemptible")
_LEGACY_LIMIT: Final = 100


def modules() -> list[Path]:
    found = [path for root in PRODUCT for path in sorted((ROOT / root).rglob("*.py"))]
    return [path for path in found if path != RULE and not path.stem.endswith(("_pb2", "_pb2_grpc"))]


MODULES: Final = modules()


def is_mode(node: ast.AST | None) -> bool:
    """Whether a text is a value of preemptibility, in any spelling."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value.strip().lower().replace("-", "").replace("_", "") in _MODES


def is_priority(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "priority" in name.lower()


def is_limit(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == _LEGACY_LIMIT


def readings(tree: ast.AST) -> Iterator[str]:
    """What in a module reads a text of preemptibility, or the legacy limit."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                inner = [each for operand in operands for each in ast.walk(operand)]
                if any(map(is_mode, inner)):
                    yield f"line {node.lineno} compares a text"
                if any(map(is_limit, operands)) and any(map(is_priority, operands)):
                    yield f"line {node.lineno} compares a priority with {_LEGACY_LIMIT}"
            case ast.Dict():
                if any(map(is_mode, node.keys)):
                    yield f"line {node.lineno} maps a text"
            case ast.MatchValue():
                if is_mode(node.value):
                    yield f"line {node.value.lineno} matches a text"
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                if is_limit(value) and ("LEGACY" in name or "PREEMPTIBLE" in name or "PRIORITY" in name):
                    yield f"line {node.lineno} has the legacy limit as {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_other_module_reads_preemptibility(path: Path) -> None:
    assert list(readings(ast.parse(path.read_text()))) == []


def readers(tree: ast.Module) -> Iterator[str]:
    """Functions of a module that others may call and that return, or set, a preemptibility."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            result = "" if node.returns is None else ast.unparse(node.returns)
            if re.search(r"\bPreemptibility(Reading)?\b", result) or node.name == "read_preemptibility":
                yield node.name


def calls(tree: ast.Module, names: frozenset[str]) -> Iterator[str]:
    """Functions with these names that a module imports, or takes from a module that it imports."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=aliases):
                yield from (alias.name for alias in aliases if alias.name in names)
            case ast.Attribute(value=ast.Name(), attr=name) if name in names:
                yield name


@cache
def trees() -> dict[str, ast.Module]:
    """Modules by path; parsed by the tests that need them, not by every process that collects tests."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in [RULE, *MODULES]}


@cache
def all_readers() -> frozenset[str]:
    return frozenset(name for tree in trees().values() for name in readers(tree))


def test_readers_are_found() -> None:
    named = {"effective_preemptibility", "parse_preemptibility", "read_preemptibility", "preemptibility_of"}
    assert named < all_readers()


def test_only_these_modules_call_a_reader() -> None:
    assert {path for path, tree in trees().items() if any(calls(tree, all_readers()))} == set(MAY_READ)


@pytest.mark.parametrize(
    "text",
    [
        "from tenure.codec.annotations import preemptibility_of",
        "from tenure.codec.annotations import preemptibility_of as mode",
        "from tenure.codec import annotations\nannotations.preemptibility_of(row)",
    ],
)
def test_scan_finds_a_call(text: str) -> None:
    assert list(calls(ast.parse(text), all_readers())) == ["preemptibility_of"]


def test_scan_finds_a_reader() -> None:
    texts = "def mode(row) -> Preemptibility | None: ...\ndef shown(row) -> PreemptibilitySource: ..."
    assert list(readers(ast.parse(texts))) == ["mode"]


@pytest.mark.parametrize(
    "text",
    [
        'MODES = {"pre-emptible".replace("-", ""): 1, "semi-preemptible": 3}',
        'mode == "Non-Preemptible"',
        'mode in ("preemptible", "semipreemptible")',
        "LEGACY_LIMIT: Final = 100",
        "NON_PREEMPTIBLE: Final = 100",
        "row.priority < 100",
        "100 <= priority",
        'match mode:\n    case "preemptible":\n        pass',
    ],
)
def test_scan_finds_a_second_rule(text: str) -> None:
    assert list(readings(ast.parse(text)))

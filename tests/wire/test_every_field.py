"""Every field of every message is mapped once, or listed as unread with a reason; every fact is used.

Facts of nodes, queues, pod groups and pods are generated from the field table. All other fields are read or
written by hand: their names occur in the modules that are listed here for the file of their message.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

import pytest
import tenure.v1
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from tenure.wire.generate import CLASSES, ROOT, FactsClass
from tenure.wire.schema import ROWS, FactKind, Row, fact

CODEC: Final = (
    "server/tenure/codec/*.py",
    "server/tenure/codec/carried/*.py",
    "server/tenure/codec/constraints/*.py",
    "server/tenure/codec/decisions/*.py",
    "protos/tenure/wire/columns.py",
    "protos/tenure/wire/rows.py",
)
SERVICE: Final = (
    "server/tenure/server/service/*.py",
    "server/tenure/server/state/*.py",
    "protos/tenure/wire/*.py",
)
MAPPED_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "capabilities": ("server/tenure/server/capabilities.py",),
    "cycles": ("server/tenure/server/service/states.py", "server/tenure/server/records/recent_cycles.py"),
    "decide": (
        *CODEC,
        *SERVICE,
        "server/tenure/solver/model/decision.py",
        "server/tenure/solver/model/disruption_limits.py",
    ),
    "decision": (*CODEC, "server/tenure/solver/model/decision.py"),
    "explain": ("server/tenure/server/explain/*.py", "server/tenure/server/service/queries.py"),
    "report": ("server/tenure/server/reports/*.py", "server/tenure/server/service/*.py"),
    "pod_group_status": ("server/tenure/codec/pod_group_status.py",),
    "resources": CODEC,
    "simulate": (
        "server/tenure/codec/simulation.py",
        "server/tenure/codec/pod_group_status.py",
        "server/tenure/server/service/queries.py",
    ),
    "snapshot": CODEC,
    "state": SERVICE,
}
"""Modules that read or write the fields of messages, by the file of the contract."""
UNREAD: Final[Mapping[str, str]] = {}
"""Full names of fields that are not mapped, with the reason."""


def messages() -> Iterator[Descriptor]:
    """Messages of the contract. Entries of maps are part of their fields."""
    for module in iter_modules(tenure.v1.__path__):
        if module.name.endswith("_pb2"):
            file = import_module(f"tenure.v1.{module.name}").DESCRIPTOR
            yield from file.message_types_by_name.values()


MESSAGES: Final = tuple(messages())
FACTS: Final = {
    f"{row.descriptor.full_name}.{field.name}"
    for row in ROWS
    for field in row.fields
    if field.fact is not None
}


@cache
def words(file: str) -> frozenset[str]:
    """Words in the modules of a proto file, in lower case because constants are named after fields."""
    paths = [path for glob in MAPPED_IN[file] for path in sorted(ROOT.glob(glob))]
    return frozenset(word for path in paths for word in re.findall(r"\w+", path.read_text().lower()))


def is_mapped(field: FieldDescriptor) -> bool:
    return field.full_name in FACTS or field.name in words(Path(field.file.name).stem)


@pytest.mark.interpreted
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.full_name)
def test_every_field_is_mapped_or_unread_for_a_reason(message: Descriptor) -> None:
    unmapped = {field.full_name for field in message.fields if not is_mapped(field)}
    assert unmapped == {name for name in UNREAD if name.rpartition(".")[0] == message.full_name}
    assert all(UNREAD.values())


TABLE: Final = {row.descriptor.name: row for row in ROWS}
OWNERS: Final = ("facts", "victim", "spec")
"""Names of variables and attributes that have facts."""
GENERATED: Final = ("server/tenure/solver/model/facts.py", "server/tenure/codec/read_facts.py")


def fact_names(facts: FactsClass, row: Row) -> Iterator[str]:
    yield from (field.into for field in row.fields if field.fact and field.part == facts.part)
    yield from (attribute.name for attribute in facts.by_hand)


@cache
def used_facts() -> frozenset[str]:
    """Facts that the product reads: `queue.facts.quota`, or "facts.quota" as the path of an attrgetter."""
    paths = [ROOT / "server/tenure" / each for each in ("solver", "codec", "server")]
    modules = [path for folder in paths for path in folder.rglob("*.py")]
    skipped = {ROOT / path for path in GENERATED} | {*(ROOT / "server/tenure/solver/testing").rglob("*.py")}
    nodes = [
        node for path in modules if path not in skipped for node in ast.walk(ast.parse(path.read_text()))
    ]
    return frozenset(name for node in nodes if (name := _used_fact(node)))


def _used_fact(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        owner, _, name = node.value.partition(".")
        return name if owner in OWNERS and name.isidentifier() else ""
    if not isinstance(node, ast.Attribute):
        return ""
    owner = getattr(node.value, "attr", "") or getattr(node.value, "id", "")
    return node.attr if owner in OWNERS else ""


def unused_facts(facts: FactsClass, row: Row) -> set[str]:
    return {name for name in fact_names(facts, row) if name not in used_facts()}


@pytest.mark.interpreted
@pytest.mark.parametrize("facts", CLASSES, ids=lambda facts: facts.name)
def test_every_fact_is_used(facts: FactsClass) -> None:
    assert unused_facts(facts, TABLE[facts.message]) == set()


@pytest.mark.interpreted
@pytest.mark.parametrize("facts", CLASSES, ids=lambda facts: facts.name)
def test_field_that_nothing_uses_is_found(facts: FactsClass) -> None:
    row = TABLE[facts.message]
    line = fact("tie_breaker", FactKind.NUMBER).of(facts.part)
    assert "tie_breaker" in unused_facts(facts, row._replace(fields=(*row.fields, line)))


def test_every_file_of_the_contract_has_modules() -> None:
    assert {Path(message.file.name).stem for message in MESSAGES} <= set(MAPPED_IN)
    assert len(MESSAGES) > 60

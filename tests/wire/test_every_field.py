"""Every field of every message is mapped once, or listed as unread with a reason.

Facts of nodes, pod groups and pods are generated from the field table. All other fields are read or written
by hand: their names occur in the modules that are listed here for the file of their message.
"""

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
from tenure.wire.generate import ROOT
from tenure.wire.schema import ROWS

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
    "resources": CODEC,
    "simulate": ("server/tenure/codec/simulation.py", "server/tenure/server/service/queries.py"),
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


def test_every_file_of_the_contract_has_modules() -> None:
    assert {Path(message.file.name).stem for message in MESSAGES} <= set(MAPPED_IN)
    assert len(MESSAGES) > 60

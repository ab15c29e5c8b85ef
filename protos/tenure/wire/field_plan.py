"""Plan of a scan: how each field of a message is counted and measured. Computed once per message type."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.encoding import FIXED32, FIXED64, SIZED, VARINT
from tenure.wire.schema import declared_texts

ELEMENTS: Final = "elements"
"""Limit for everything without a limit of its own."""

_SNAPSHOT: Final = ClusterSnapshot.DESCRIPTOR.full_name
_DELTA: Final = StateDelta.DESCRIPTOR.full_name
_COLUMNS: Final = PodColumns.DESCRIPTOR.full_name
_LONG_NAMES: Final = frozenset([field.full_name for field, declared in declared_texts() if declared.is_long])
"""Fields of a snapshot that can be longer than names: labels, and texts that are not names."""
_LONG_ELSEWHERE: Final = frozenset(("message", "description", "detail", "gpu_groups"))
"""Fields of other messages: sentences and devices."""

_UPSERTS: Final = "upserts"
"""A snapshot within a delta or a simulation; paths of violations start with this field."""
_ANNOTATIONS: Final = "annotations"
"""Not measured: owners of workloads write them, and they must not invalidate a snapshot."""

_WIDTHS: Final = {
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
}
"""Size in bytes of numbers that are not varints."""


class FieldKind(Enum):
    """Kind of value of a field."""

    MESSAGE = auto()
    NAME = auto()
    TEXT = auto()
    NUMBERS = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """How one field is counted and measured."""

    name: str
    kind: FieldKind
    counter: str
    """Counter of its occurrences; empty if they are not counted."""
    limit: str
    """Limit of the counter."""
    is_list: bool
    """Whether paths contain positions in it; not for maps."""
    leads_on: bool
    """Whether it is not a row but can contain rows, so that its size is irrelevant."""
    starts_paths: bool
    """Whether paths of violations start below it."""
    inner: Descriptor | None
    width: int
    """Size in bytes of each number of a packed list; 0: varints."""


@cache
def plan_of(message: Descriptor) -> Mapping[int, Field]:
    """Fields of a message that are counted or measured, by tag."""
    plan = {}
    for field in message.fields:
        entry = _field(message, field)
        if entry is None:
            continue
        if entry.kind is FieldKind.NUMBERS:
            wire_type = {0: VARINT, 8: FIXED64, 4: FIXED32}[entry.width]
            plan[field.number << 3 | wire_type] = entry
        plan[field.number << 3 | SIZED] = entry
    return plan


def _field(message: Descriptor, field: FieldDescriptor) -> Field | None:
    inner, is_list = field.message_type, field.is_repeated
    kind = _kind(message, field)
    if kind is None or (kind is FieldKind.NUMBERS and not is_list):
        return None
    in_snapshot, in_columns = message.full_name == _SNAPSHOT, message.full_name == _COLUMNS
    counter, limit = ELEMENTS, ELEMENTS
    if in_snapshot and is_list:
        counter = limit = field.name
    elif in_columns:
        counter, limit = f"pod_columns.{field.name}", "pods"
    elif not is_list and inner is None:
        counter = ""
    return Field(
        name=field.name,
        kind=kind,
        counter=counter,
        limit=limit,
        is_list=is_list and not (inner is not None and inner.GetOptions().map_entry),
        leads_on=inner is not None and not is_list,
        starts_paths=inner is not None and inner.full_name in (_SNAPSHOT, _DELTA) and field.name != _UPSERTS,
        inner=inner,
        width=_WIDTHS.get(field.type, 0),
    )


def _kind(message: Descriptor, field: FieldDescriptor) -> FieldKind | None:
    """None if it is neither counted nor measured."""
    if field.message_type is not None:
        own = field.message_type.file.package == message.file.package
        return FieldKind.MESSAGE if own else None
    if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        return FieldKind.NUMBERS
    is_free = (
        field.full_name in _LONG_NAMES or field.name in _LONG_ELSEWHERE or message.GetOptions().map_entry
    )
    return FieldKind.TEXT if is_free else FieldKind.NAME


def is_unmeasured(message: Descriptor) -> bool:
    """Whether texts of a message can have any length: entries of annotations."""
    return message.GetOptions().map_entry and message.name == f"{_ANNOTATIONS.capitalize()}Entry"

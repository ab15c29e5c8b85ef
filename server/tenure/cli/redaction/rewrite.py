"""Redact a snapshot: collect all names, assign new ones in the same order, and rewrite every field."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tenure.cli.redaction.name_fields import NAMES, NO_NAMES, NameField
from tenure.cli.redaction.name_map import NameMap
from tenure.codec.annotations import SENT
from tenure.codec.decode import decode_snapshot
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns, PodGroup
from tenure.wire.columns import TEXT_COLUMNS, read_table, write_tables


def rewrite_columns(source: PodColumns, change: Callable[[NameField, str, str], str]) -> PodColumns:
    """Pod columns with new names. One text can be a name of several kinds, with several new names."""
    table = read_table(source)
    scopes = {"sub_group": table.pod_group}
    new: dict[str, Any] = {
        field: [
            change(NAMES[f"Pod.{field}"], scope, text)
            for scope, text in zip(scopes.get(field, repeat("")), getattr(table, field), strict=False)
        ]
        for field in ("uid", "name", *TEXT_COLUMNS)
    }
    return write_tables([table._replace(**new)])


Change = Callable[[NameField, str, str], str]
"""New name, from field, scope and nonempty text."""

_PACKAGE: Final = ClusterSnapshot.DESCRIPTOR.file.package
_COLUMNS: Final = PodColumns.DESCRIPTOR.full_name
_ANNOTATIONS: Final = PodGroup.DESCRIPTOR.fields_by_name["annotations"].full_name


def rewrite(snapshot: ClusterSnapshot, change: Change) -> ClusterSnapshot:
    """Snapshot with new names. Fields unknown to this version are dropped."""
    result = ClusterSnapshot()
    _Rewriter(change).copy(snapshot, result, None)
    result.DiscardUnknownFields()
    return result


class _Use(NamedTuple):
    """Handling of one field."""

    name: str
    is_list: bool
    inner: str
    """Full name of a message of the contract, else empty."""
    is_other_message: bool
    key: NameField | None
    value: NameField | None
    """The text field, or the text field of map values."""
    is_map: bool


@cache
def _use(field: FieldDescriptor) -> _Use:
    message = field.message_type
    if message is None:
        return _Use(field.name, field.is_repeated, "", False, None, _name_of(field), False)
    if message.GetOptions().map_entry:
        entry = message.fields_by_name
        return _Use(field.name, True, "", False, _name_of(entry["key"]), _name_of(entry["value"]), True)
    is_own = message.file.package == _PACKAGE
    return _Use(field.name, field.is_repeated, message.full_name * is_own, not is_own, None, None, False)


def _name_of(field: FieldDescriptor) -> NameField | None:
    """Name field of a text field; None if it has no names. Raises KeyError for unclassified fields."""
    if field.type != FieldDescriptor.TYPE_STRING:
        return None
    key = field.full_name.removeprefix(f"{_PACKAGE}.")
    return None if key in NO_NAMES else NAMES[key]


def _known(annotations: Mapping[str, str]) -> dict[str, str]:
    """Fields that Tenure reads."""
    return {key: annotations[key] for key in SENT if key in annotations}


class _Rewriter:
    def __init__(self, change: Change) -> None:
        self._change = change

    def copy(self, source: Any, target: Any, row: Message | None) -> None:
        """Fill the target; `row` is the list element of the snapshot that contains the source."""
        for field, value in source.ListFields():
            use = _use(field)
            if use.is_map:
                entries = _known(value) if field.full_name == _ANNOTATIONS else value
                self._map(use, entries, getattr(target, use.name))
            elif use.inner == _COLUMNS:
                target.pod_columns.CopyFrom(rewrite_columns(value, self._one))
            elif use.inner:
                self._messages(use, value, target, row)
            elif use.is_other_message:
                getattr(target, use.name).CopyFrom(value)
            else:
                self._scalar(use, value, source, target, row)

    def _messages(self, use: _Use, value: Any, target: Any, row: Message | None) -> None:
        if not use.is_list:
            inner = getattr(target, use.name)
            inner.SetInParent()
            self.copy(value, inner, row)
            return
        messages = getattr(target, use.name)
        for each in value:
            self.copy(each, messages.add(), row or each)

    def _scalar(self, use: _Use, value: Any, source: Message, target: Any, row: Message | None) -> None:
        if use.value is None:
            changed = value
        else:
            name, scope = use.value, use.value.scope(row or source, source)
            changed = [self._one(name, scope, each) for each in (value if use.is_list else (value,))]
        if use.is_list:
            getattr(target, use.name).extend(changed)
        else:
            setattr(target, use.name, changed if use.value is None else changed[0])

    def _map(self, use: _Use, entries: Mapping[str, Any], target: Any) -> None:
        for key in sorted(entries):
            value = entries[key]
            new = self._one(use.value, key, value) if use.value else value
            target[self._one(use.key, "", key) if use.key else key] = new

    def _one(self, name: NameField, scope: str, text: str) -> str:
        return self._change(name, scope, text) if text else ""


_NUMERIC: Final = (pb.SELECTOR_OPERATOR_GREATER_THAN, pb.SELECTOR_OPERATOR_LESS_THAN)


class RedactedSnapshot(NamedTuple):
    """Redacted snapshot."""

    snapshot: pb.ClusterSnapshot
    names: Mapping[str, Mapping[str, str]]
    """Old name by new name, by kind."""


def redact(snapshot: pb.ClusterSnapshot) -> RedactedSnapshot:
    """Same cluster with new names and identical decisions.

    Amounts, times, priorities and list order are preserved. IDs of decisions differ, because they are digests
    of names. Spellings of a subgroup that differ in case only become one.

    Raises SnapshotValidationError if the snapshot is invalid.
    """
    decode_snapshot(snapshot)
    names = NameMap(set(_compared_keys(snapshot)))

    def note(name: NameField, scope: str, text: str) -> str:
        names.add(name.kind, scope, text, name.declares)
        return text

    def new(name: NameField, scope: str, text: str) -> str:
        return names.new(name.kind, scope, text)

    rewrite(snapshot, note)
    names.assign()
    return RedactedSnapshot(rewrite(snapshot, new), names.replacements())


def _compared_keys(snapshot: pb.ClusterSnapshot) -> Iterator[str]:
    """Keys of labels whose values a shape compares as numbers."""
    for shape in snapshot.shapes:
        for term in shape.node_affinity:
            for requirement in term.requirements:
                if requirement.operator in _NUMERIC:
                    yield requirement.key

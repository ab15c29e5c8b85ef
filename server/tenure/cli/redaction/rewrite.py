"""Redaction: collect all names, give new ones in the same order, write the snapshot anew with them.

Columns of pods written anew: one text may be a name of several kinds, and then gets several names.

A snapshot written anew, field by field, with every name changed by a rule.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tenure.cli.redaction.name_fields import NAMES, NO_NAMES, NameField
from tenure.cli.redaction.name_map import NameMap
from tenure.codec.annotations import KEYS
from tenure.codec.decode import decode_snapshot
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns, PodGroup
from tenure.wire.columns import TEXT_COLUMNS, read_table, write_tables


def rewrite_columns(source: PodColumns, change: Callable[[NameField, str, str], str]) -> PodColumns:
    """The same rows with other names. Columns must be sound."""
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
"""What takes the place of a name: from its field, its scope and its text, which is not empty."""

_PACKAGE: Final = ClusterSnapshot.DESCRIPTOR.file.package
_COLUMNS: Final = PodColumns.DESCRIPTOR.full_name
_ANNOTATIONS: Final = PodGroup.DESCRIPTOR.fields_by_name["annotations"].full_name


def rewrite(snapshot: ClusterSnapshot, change: Change) -> ClusterSnapshot:
    """The snapshot with every name changed. Fields that this version does not know are left out."""
    result = ClusterSnapshot()
    _Rewriter(change).copy(snapshot, result, None)
    result.DiscardUnknownFields()
    return result


class _Use(NamedTuple):
    """What to do with one field."""

    name: str
    is_list: bool
    inner: str
    """Full name of a message of the contract; empty for all else."""
    is_other_message: bool
    key: NameField | None
    value: NameField | None
    """The text, or the text of a map's values."""
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
    """What the texts of a field are; None for what is no name. Raises KeyError for texts not classified."""
    if field.type != FieldDescriptor.TYPE_STRING:
        return None
    key = field.full_name.removeprefix(f"{_PACKAGE}.")
    return None if key in NO_NAMES else NAMES[key]


def _known(annotations: Mapping[str, str]) -> dict[str, str]:
    """Those that Tenure reads."""
    return {key: annotations[key] for key in KEYS if key in annotations}


class _Rewriter:
    def __init__(self, change: Change) -> None:
        self._change = change

    def copy(self, source: Any, target: Any, row: Message | None) -> None:
        """Fill the target; `row` is the element of a list of the snapshot that holds the source."""
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
    """A snapshot without names."""

    snapshot: pb.ClusterSnapshot
    names: Mapping[str, Mapping[str, str]]
    """New names, each with the one it took the place of, by kind."""


def redact(snapshot: pb.ClusterSnapshot) -> RedactedSnapshot:
    """The same cluster under other names, about which every decision is the same.

    Amounts, times, priorities and the order of the lists stay. Ids of decisions differ, for they are digests
    that names go into. Spellings of a sub group that differ in case alone become one.

    Raises SnapshotValidationError when no decision can be taken on the snapshot.
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

"""Classification of all text fields of a snapshot: kind of name, or reason why it is not a name.

Keys are field names within the package of the contract. Both tables come from the schema of the wire. A field
in neither is an error, so that new fields are classified.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.cli.redaction import name_kinds
from tenure.cli.redaction.name_kinds import NameKind
from tenure.v1.snapshot_pb2 import ClusterSnapshot, InFlightDecision, Pod, PodGroup
from tenure.wire import schema

Scope = Callable[[Message, Message], str]
"""Scope of a name, from the row of the snapshot and the message with the name."""


def _everywhere(row: Message, holder: Message) -> str:
    return ""


def _on_node(row: Message, holder: Message) -> str:
    assert isinstance(holder, Pod | InFlightDecision)
    return holder.node


def _in_pod_group(row: Message, holder: Message) -> str:
    if isinstance(holder, InFlightDecision):
        return holder.pod_group
    assert isinstance(row, Pod | PodGroup)
    return row.uid if isinstance(row, PodGroup) else row.pod_group


def _of_key(row: Message, holder: Message) -> str:
    key: str = getattr(holder, "key")  # noqa: B009 (of a requirement, a taint or a toleration)
    return key


class NameField(NamedTuple):
    """A field with names. For values of a map, the key is the scope and `scope` is ignored."""

    kind: NameKind
    scope: Scope = _everywhere
    declares: bool = False
    """Whether this field has the authoritative spelling."""


_SCOPES: Final[Mapping[schema.Scope, Scope]] = {
    schema.Scope.SNAPSHOT: _everywhere,
    schema.Scope.NODE: _on_node,
    schema.Scope.POD_GROUP: _in_pod_group,
    schema.Scope.KEY: _of_key,
}
_PACKAGE: Final = ClusterSnapshot.DESCRIPTOR.file.package
_DECLARED: Final = {
    field.full_name.removeprefix(f"{_PACKAGE}."): declared for field, declared in schema.declared_texts()
}

NAMES: Final[Mapping[str, NameField]] = {
    key: NameField(getattr(name_kinds, declared.kind.name), _SCOPES[declared.scope], declared.declares)
    for key, declared in _DECLARED.items()
    if declared.kind is not None
}
"""Fields with names."""

NO_NAMES: Final[Mapping[str, str]] = {
    key: declared.reason for key, declared in _DECLARED.items() if declared.kind is None
}
"""Text fields without names, and why."""

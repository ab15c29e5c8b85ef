"""What every text of a snapshot is: a name of some kind, or no name, and why not.

Keys are field names within the package of the contract. Both tables follow from the schema of the wire; a
field that is in neither is an error, so that no new one slips through.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.cli.redaction import name_kinds
from tenure.cli.redaction.name_kinds import NameKind
from tenure.v1.snapshot_pb2 import ClusterSnapshot, InFlightDecision, Pod, PodGroup
from tenure.wire import schema

Scope = Callable[[Message, Message], str]
"""Within what a name has its meaning, from the row of the snapshot and the message that holds the name."""


def _everywhere(row: Message, holder: Message) -> str:
    return ""


def _on_node(row: Message, holder: Message) -> str:
    assert isinstance(holder, Pod | InFlightDecision)
    return holder.node


def _in_pod_group(row: Message, holder: Message) -> str:
    assert isinstance(row, Pod | PodGroup)
    return row.uid if isinstance(row, PodGroup) else row.pod_group


def _of_key(row: Message, holder: Message) -> str:
    key: str = getattr(holder, "key")  # noqa: B009 (of a requirement, a taint or a toleration)
    return key


class NameField(NamedTuple):
    """A field that holds names. Values of a map have their keys as scope, whatever `scope` is."""

    kind: NameKind
    scope: Scope = _everywhere
    declares: bool = False
    """Whether its spelling is the one that counts."""


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
"""Fields that hold names."""

NO_NAMES: Final[Mapping[str, str]] = {
    key: declared.reason for key, declared in _DECLARED.items() if declared.kind is None
}
"""Fields with texts that are no names, and why."""

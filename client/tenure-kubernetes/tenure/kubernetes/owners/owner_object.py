"""What is read from an owner of pods. The rest of the object, which can be large, is not kept."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.names import WISHES
from tenure.kubernetes.owners.gangs import NO_GANG, Gang, gang_of
from tenure.kubernetes.owners.json_paths import ObjectPath
from tenure.kubernetes.owners.kinds import OwnerKind
from tenure.wire.limits import MAX_ANNOTATION

_MAX_TEXT: Final = 253
"""Longest text of a field that is read: no name of an object is longer."""
_MAX_PROBLEMS: Final = 5
_LONGEST: Final = MAX_ANNOTATION + 1
"""A server reads no longer annotation; it reports that one with this length is too long."""


class OwnerObject(NamedTuple):
    """An owner of pods, or of another owner."""

    metadata: ObjectMeta
    gang: Gang = NO_GANG
    queue: str = ""
    priority_class: str = ""
    preemptibility: str = ""
    problems: tuple[str, ...] = ()
    """Fields that cannot be read."""


class _Wishes(msgspec.Struct, rename="camel"):
    """Fields that some kinds have. In others they may be anything; only text counts."""

    preemptibility: Any = ""
    priority_class_name: Any = ""


class _Head(msgspec.Struct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: msgspec.Raw = msgspec.Raw(b"{}")


_HEADS: Final = msgspec.json.Decoder(_Head)
_WISHES: Final = msgspec.json.Decoder(_Wishes)


def read_owner(content: bytes | msgspec.Raw, kind: OwnerKind | None) -> OwnerObject | None:
    """An owner, with what counts only; None: it is not an object of Kubernetes.

    All owners of a kind are known, and users can make each as large as the API server accepts.
    `kind` is its row in the table; None: there is none.
    """
    try:
        head = _HEADS.decode(content)
        meta, wishes = kept_metadata(head.metadata), _wishes(head.spec)
        if kind is None or not _has_paths(kind):
            return OwnerObject(meta, preemptibility=wishes[0], priority_class=wishes[1])
        whole = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None
    problems: list[str] = []
    return OwnerObject(
        meta,
        gang_of(kind, whole, problems),
        _text(kind.queue, whole),
        _text(kind.priority_class, whole) or wishes[1],
        _text(kind.preemptibility, whole) or wishes[0],
        tuple(problems[:_MAX_PROBLEMS]),
    )


def kept_metadata(meta: ObjectMeta) -> ObjectMeta:
    """Name, owner and wishes of an owner."""
    kept = ObjectMeta(meta.name, meta.namespace, meta.uid, creation_timestamp=meta.creation_timestamp)
    kept.labels, kept.annotations = _kept(meta.labels), _kept(meta.annotations)
    kept.owner_references = [owner for owner in (meta.owner(),) if owner is not None]
    return kept


def _kept(values: Mapping[str, str]) -> dict[str, str]:
    return {key: values[key][:_LONGEST] for key in WISHES if key in values}


def _has_paths(kind: OwnerKind) -> bool:
    return any((kind.roles, kind.minimum, kind.queue, kind.priority_class, kind.preemptibility))


def _wishes(spec: msgspec.Raw) -> tuple[str, str]:
    try:
        found = _WISHES.decode(spec)
    except msgspec.DecodeError:
        return "", ""
    values = (found.preemptibility, found.priority_class_name)
    first, second = (value[:_MAX_TEXT] if isinstance(value, str) else "" for value in values)
    return first, second


def _text(paths: Iterable[ObjectPath], whole: object) -> str:
    found = (path.first(whole, whole) for path in paths)
    return next((value[:_MAX_TEXT] for value in found if isinstance(value, str) and value), "")

"""The patch writer of Kubernetes: patches of pod groups as annotations of their objects.

Server-side apply takes all fields of a manager at once, so all annotations of the adapter are applied
together with their signature, at the resource version of the cached object; of an outdated one, it is read.
Values of other writers are cleared, except for a requeue cooldown. A failed write is retried by the next
reconcile.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec
from tenure.integration.applier import CallPool
from tenure.kubernetes.api.api_errors import ApiError, Conflict
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import Transport, require_leadership
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import MANAGER
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import Object, ObjectMeta, ObjectReference
from tenure.kubernetes.objects.times import write_duration, write_time
from tenure.kubernetes.observe.annotations.holds import write_hold
from tenure.kubernetes.observe.pod_group_rows import write_counts, write_grant
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.terms.annotations import Annotation, ValueKind, Writer, written_by
from tenure.v1.decision_pb2 import Patch

_CLEAR: Final = "clear_"
_OBJECTS: Final = msgspec.json.Decoder(Object)
_KINDS: Final[Mapping[ValueKind, Callable[[Any], str]]] = {
    ValueKind.TIME: write_time,
    ValueKind.DURATION: write_duration,
    ValueKind.COUNT: str,
}
_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    names.HELD_BY: write_hold,
    names.BACKFILL_FOR: lambda owners: ",".join(owners.pod_groups),
    names.EVICTIONS: write_counts,
    names.GRANT: write_grant,
}
"""Texts of values with a form of their own."""
_WRITTEN: Final = {each.field: each for each in written_by(Writer.ADAPTER) if each.field}
"""Annotations by change of a patch. The change `clear_` and a field clears the field."""
ANNOTATIONS: Final = frozenset(each.key for each in _WRITTEN.values())
"""All annotations that the adapter writes."""


class AnnotationWriter:
    """Implements PatchWriter. Derived pod groups have no object."""

    def __init__(
        self,
        transport: Transport,
        caches: ObjectCaches,
        builder: SnapshotBuilder,
        ownership: Ownership,
        stored: StoredAnnotations,
        may_act: Callable[[], bool],
    ) -> None:
        self._transport, self._is_leader = transport, may_act
        self._caches, self._builder, self._ownership = caches, builder, ownership
        self._stored = stored
        self._call_pool = CallPool("tenure-annotate")
        self._last_written: dict[str, dict[str, str]] = {}
        """What was written last, by uid: not written again until the object caches catch up."""

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._call_pool.close()

    def has_object(self, pod_group: str) -> bool:
        """Whether the pod group is an object, not derived."""
        return self._builder.subject(pod_group) is not None

    def is_stored(self, pod_group: str, patches: Sequence[Patch]) -> bool:
        """Whether the cached object has the annotations, unchanged since."""
        item = self._caches.pod_group(pod_group)
        if item is None or not _annotations(patches).items() <= item.metadata.annotations.items():
            return False
        if not self._stored.is_signed(pod_group, item.metadata.annotations):
            return False
        self._last_written.pop(pod_group, None)
        return True

    def write(self, patches: Mapping[str, Sequence[Patch]]) -> list[str]:
        """Apply annotations to the adapter's own objects; other patches wait. Raises LeaseLost."""
        own = self._ownership.own_pod_groups(patches)
        subjects = ((self._builder.subject(uid), rows) for uid, rows in patches.items() if uid in own)
        due = [(subject, _annotations(rows)) for subject, rows in subjects if subject is not None]
        self._last_written = {uid: texts for uid, texts in self._last_written.items() if uid in patches}
        errors = self._call_pool.all(lambda one: self._write(*one), due)
        return [
            f"{subject.namespace}/{subject.name}: {error}"
            for (subject, _), error in zip(due, errors, strict=True)
            if error
        ]

    def _write(self, subject: ObjectReference, annotations: dict[str, str]) -> str:
        if self._last_written.get(subject.uid) == annotations:
            return ""
        cached = self._caches.pod_group(subject.uid)
        try:
            if cached is None or not self._is_written(subject, cached.metadata, annotations):
                there = _OBJECTS.decode(self._transport.get(path(subject))).metadata
                if there.uid == subject.uid:
                    self._replace(subject, there, annotations)
        except ApiError as failure:
            return str(failure)
        self._last_written[subject.uid] = annotations
        return ""

    def _is_written(
        self, subject: ObjectReference, cached: ObjectMeta, annotations: Mapping[str, str]
    ) -> bool:
        """Write to an object as cached. Returns False if that is outdated."""
        try:
            self._replace(subject, cached, annotations)
        except Conflict:
            return False
        return True

    def _replace(self, subject: ObjectReference, current: ObjectMeta, annotations: Mapping[str, str]) -> None:
        """Write all annotations of the adapter: these, and others that it signed before."""
        cleared = dict.fromkeys(ANNOTATIONS & current.annotations.keys(), "")
        signed = {**cleared, **self._stored.renew(subject.uid, current.annotations, annotations)}
        with require_leadership(self._is_leader):
            apply_fields(
                *(self._transport, path(subject), MANAGER, subject, current.resource_version),
                annotations=signed,
            )
        self._stored.on_written(subject.uid, signed)


def path(subject: ObjectReference) -> str:
    """API path of the object of a pod group."""
    namespace, name = quote(subject.namespace, safe=""), quote(subject.name, safe="")
    return f"/apis/{subject.api_version}/namespaces/{namespace}/podgroups/{name}"


def _annotations(patches: Iterable[Patch]) -> dict[str, str]:
    changes = ((patch, patch.WhichOneof("change") or "") for patch in patches)
    known = ((patch, change, _WRITTEN.get(change.removeprefix(_CLEAR))) for patch, change in changes)
    return {each.key: _text(each, patch, change) for patch, change, each in known if each is not None}


def _text(each: Annotation, patch: Patch, change: str) -> str:
    """Text of a change. An empty text clears the field."""
    if change.startswith(_CLEAR):
        return ""
    write = _FORMS.get(each.key) or _KINDS[each.kind]
    return write(getattr(patch, each.field))

"""What pod groups are to remember, written as annotations of their objects.

Server-side apply takes the whole set of what its manager says, so all of our annotations are applied
together, to the resource version that was read: a lost update would forget an eviction. What is in the way
stays noted and is tried again in the next round, so a crash before, between or after the two calls loses
nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import APPLY_PATCH, Transport, require_leadership
from tenure.kubernetes.apply.pod_writes import MANAGER
from tenure.kubernetes.apply.preconditions import CallPool
from tenure.kubernetes.objects.meta import Object
from tenure.kubernetes.observe.pod_group_table import TargetObject
from tenure.kubernetes.pending_annotations import ANNOTATIONS, PendingAnnotations

_OBJECTS: Final = msgspec.json.Decoder(Object)


class AnnotationWriter:
    """Writes notes to the objects of pod groups."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_leader = may_act
        self._call_pool = CallPool("tenure-annotate")
        self._last_written: dict[str, dict[str, str]] = {}
        """What was written last, by uid, so that nothing is written again while mirrors catch up."""

    def close(self) -> None:
        """Wait for calls that are under way; nothing is sent afterwards."""
        self._call_pool.close()

    def write(
        self, pending_annotations: Iterable[tuple[TargetObject, PendingAnnotations]]
    ) -> list[tuple[TargetObject, str]]:
        """Bring the annotations of objects up to date; where that failed, and why. Raises LeaseLost."""
        due = list(pending_annotations)
        problems = self._call_pool.all(lambda one: self._write(*one), due)
        return [(subject, said) for (subject, _), said in zip(due, problems, strict=True) if said]

    def _write(self, subject: TargetObject, pending: PendingAnnotations) -> str:
        if self._last_written.get(subject.uid) == pending.annotations:
            return ""
        try:
            there = _OBJECTS.decode(self._transport.get(path(subject))).metadata
            if there.uid == subject.uid:
                ours = {name: text for name, text in there.annotations.items() if name in ANNOTATIONS}
                self._apply(subject, {**ours, **pending.annotations}, there.resource_version)
        except ApiError as failure:
            return str(failure)
        self._last_written[subject.uid] = dict(pending.annotations)
        return ""

    def retain(self, uids: set[str]) -> None:
        """Only these have notes any more."""
        self._last_written = {uid: texts for uid, texts in self._last_written.items() if uid in uids}

    def _apply(self, subject: TargetObject, annotations: Mapping[str, str], version: str) -> None:
        body: dict[str, Any] = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "metadata": {
                "name": subject.name,
                "namespace": subject.namespace,
                "uid": subject.uid,
                "resourceVersion": version,
                "annotations": annotations,
            },
        }
        query = {"fieldManager": MANAGER, "force": "true"}
        with require_leadership(self._is_leader):
            self._transport.patch(path(subject), body, APPLY_PATCH, query)


def path(subject: TargetObject) -> str:
    """Where the API server has the object of a pod group."""
    namespace, name = quote(subject.namespace, safe=""), quote(subject.name, safe="")
    return f"/apis/{subject.api_version}/namespaces/{namespace}/podgroups/{name}"

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
from tenure.client.kubernetes.apply.calls import MANAGER
from tenure.client.kubernetes.apply.together import Together
from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.ledger.notes import ANNOTATIONS, Note
from tenure.client.kubernetes.objects.meta import Object
from tenure.client.kubernetes.observe.groups import Subject
from tenure.client.kubernetes.transport import APPLY_PATCH, Transport, while_leading

_OBJECTS: Final = msgspec.json.Decoder(Object)


class Annotations:
    """Writes notes to the objects of pod groups."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool]) -> None:
        self._transport = transport
        self._may_act = may_act
        self._together = Together("tenure-annotate")
        self._written: dict[str, dict[str, str]] = {}
        """What was written last, by uid, so that nothing is written again while mirrors catch up."""

    def close(self) -> None:
        """Wait for calls that are under way; nothing is sent afterwards."""
        self._together.close()

    def write(self, notes: Iterable[tuple[Subject, Note]]) -> list[tuple[Subject, str]]:
        """Bring the annotations of objects up to date; where that failed, and why. Raises LeaseLost."""
        due = list(notes)
        problems = self._together.all(lambda one: self._write(*one), due)
        return [(subject, said) for (subject, _), said in zip(due, problems, strict=True) if said]

    def _write(self, subject: Subject, note: Note) -> str:
        if self._written.get(subject.uid) == note.annotations:
            return ""
        try:
            there = _OBJECTS.decode(self._transport.get(path(subject))).metadata
            if there.uid == subject.uid:
                ours = {name: text for name, text in there.annotations.items() if name in ANNOTATIONS}
                self._apply(subject, {**ours, **note.annotations}, there.resource_version)
        except ApiFailure as failure:
            return str(failure)
        self._written[subject.uid] = dict(note.annotations)
        return ""

    def forget(self, uids: set[str]) -> None:
        """Only these have notes any more."""
        self._written = {uid: texts for uid, texts in self._written.items() if uid in uids}

    def _apply(self, subject: Subject, annotations: Mapping[str, str], version: str) -> None:
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
        with while_leading(self._may_act):
            self._transport.patch(path(subject), body, APPLY_PATCH, query)


def path(subject: Subject) -> str:
    """Where the API server has the object of a pod group."""
    namespace, name = quote(subject.namespace, safe=""), quote(subject.name, safe="")
    return f"/apis/{subject.api_version}/namespaces/{namespace}/podgroups/{name}"

"""Events about pods and pod groups (`events.k8s.io/v1`).

An applied decision has an event named after its id, so that an adapter writes no second one after a crash.
A pending pod group has one event for each reason, with a count that increases when the reason recurs.
"""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.kubernetes.api.api_errors import Conflict, NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH
from tenure.kubernetes.apply.preconditions import LeaderTransport

CONTROLLER: Final = "tenure.scheduler/adapter"
_MAX_NOTE_LENGTH: Final = 1000
_MAX_NAME_LENGTH: Final = 200


class ObjectReference(NamedTuple):
    """The object an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Series(msgspec.Struct):
    count: int = 1


class _Event(msgspec.Struct):
    series: _Series | None = None


_EVENTS: Final = msgspec.json.Decoder(_Event)


class EventRecorder:
    """Tells events; what cannot be told is not told. Raises LeaseLost as well as what is said below."""

    def __init__(self, transport: LeaderTransport, instance: str) -> None:
        self._transport = transport
        self._instance = instance

    def record(
        self, about: ObjectReference, key: str, reason: str, note: str, action: str, is_warning: bool = False
    ) -> None:
        """Write one event per key, or increase its count. Raises ApiError."""
        name = f"{about.name[:_MAX_NAME_LENGTH]}.{sha256(f'{about.uid} {key}'.encode()).hexdigest()[:16]}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{quote(about.namespace, safe='')}/events"
        try:
            self._transport.post(collection, self._event(name, about, reason, note, action, is_warning))
        except Conflict:
            self._count_up(f"{collection}/{name}")

    def record_once(self, about: ObjectReference, key: str, reason: str, note: str, action: str) -> None:
        """An event that nobody tells again. Raises ApiError."""
        name = f"{about.name[:_MAX_NAME_LENGTH]}.{key[:32]}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{quote(about.namespace, safe='')}/events"
        try:
            self._transport.post(collection, self._event(name, about, reason, note, action, False))
        except Conflict:
            return

    def _count_up(self, path: str) -> None:
        try:
            before = _EVENTS.decode(self._transport.get(path)).series
        except NotFound:
            return
        series = {"count": (before.count if before else 1) + 1, "lastObservedTime": _now()}
        self._transport.patch(path, {"series": series}, MERGE_PATCH)

    def _event(
        self, name: str, about: ObjectReference, reason: str, note: str, action: str, is_warning: bool
    ) -> dict[str, Any]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.namespace},
            "eventTime": _now(),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": action,
            "reason": reason,
            "type": "Warning" if is_warning else "Normal",
            "note": note[:_MAX_NOTE_LENGTH] or reason,
            "regarding": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
        }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

"""Events about pods and pod groups (`events.k8s.io/v1`).

An applied decision has an event named after its id, so that an adapter writes no second one after a crash.
A pending pod group has one event for each reason, with a count that increases when the reason recurs.

Users of a namespace read its events, so these name objects of the namespace only.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.client.public_messages import format_notice, format_public_message
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ownership import Refusal, pod_of
from tenure.kubernetes.api.api_errors import Conflict, NotFound
from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import MERGE_PATCH, LeaderTransport
from tenure.kubernetes.objects.meta import ObjectReference, pod_reference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.decide_pb2 import (
    WARNING_CODE_CANNOT_BE_SUSPENDED,
    WARNING_CODE_NOTICE_ABOVE_MAXIMUM,
    SnapshotWarning,
)
from tenure.v1.decision_pb2 import Decision
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED, DecisionResult

CONTROLLER: Final = "tenure.scheduler/adapter"
_MAX_NOTE_LENGTH: Final = 1000
_MAX_NAME_LENGTH: Final = 200


class AdapterIdentity(NamedTuple):
    """Which adapter writes a status."""

    node_pool: str
    instance: str
    """Name of the process in events."""
    lease: ObjectReference
    """The lease of the adapter, which events about refused decisions are on."""


class _Series(msgspec.Struct):
    count: int = 1


class _Event(msgspec.Struct):
    series: _Series | None = None


_EVENTS: Final = msgspec.json.Decoder(_Event)


class EventRecorder:
    """Writes events. Raises ApiError and LeaseLost."""

    def __init__(self, transport: LeaderTransport, instance: str) -> None:
        self._transport = transport
        self._instance = instance

    def record(
        self, about: ObjectReference, key: str, reason: str, note: str, action: str, is_warning: bool = False
    ) -> None:
        """Write one event per key, or increase its count."""
        name = f"{about.name[:_MAX_NAME_LENGTH]}.{sha256(f'{about.uid} {key}'.encode()).hexdigest()[:16]}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{quote(_namespace(about), safe='')}/events"
        try:
            self._transport.post(collection, self._event(name, about, reason, note, action, is_warning))
        except Conflict:
            self._count_up(f"{collection}/{name}")

    def record_once(self, about: ObjectReference, key: str, reason: str, note: str, action: str) -> None:
        """Write an event once."""
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
            "metadata": {"name": name, "namespace": _namespace(about)},
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


def _namespace(about: ObjectReference) -> str:
    """Namespace of events about an object; those about an object outside of namespaces are in `default`."""
    return about.namespace or "default"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


EVICTION_BLOCKED: Final = "EvictionBlocked"
BINDING_FAILED: Final = "BindingFailed"
VICTIM_LEFT: Final = "VictimLeft"
"""A victim that was to be deleted or suspended, and was not."""
NOTICE_WITHDRAWN: Final = "EvictionNoticeWithdrawn"
DECISION_REFUSED: Final = "DecisionRefused"


class PendingEvent(NamedTuple):
    """An event that is not written yet."""

    about: ObjectReference
    key: str
    reason: str
    note: str
    action: str
    is_counted: bool
    """Whether repeated reports increase the count of the event; otherwise it is written once."""
    is_warning: bool = True
    """Its type, if it is counted; others are normal."""
    tries: int = 1
    """Which attempt to write it is the next one."""


def refusal_events(refusals: Iterable[Refusal], lease: ObjectReference) -> Iterator[PendingEvent]:
    """Events about refused decisions, on the lease of the adapter: their objects are not its own."""
    for refusal in refusals:
        key = f"{DECISION_REFUSED} {refusal.subject}"
        yield PendingEvent(lease, key, DECISION_REFUSED, refusal.text, "Applying", is_counted=True)


_WARNED: Final = {
    WARNING_CODE_CANNOT_BE_SUSPENDED: "CannotBeSuspended",
    WARNING_CODE_NOTICE_ABOVE_MAXIMUM: "NoticeAboveMaximum",
}
"""Warnings about values that users of a pod group set, which only a later eviction would show them."""


class WarningEvents:
    """Derives events from warnings of a server about single pod groups, one for each. For one thread."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._pods = caches.pods
        self._seen: frozenset[tuple[str, str]] = frozenset()
        """Pod groups and sentences of the last response."""

    def pending_events(
        self, warnings: Iterable[SnapshotWarning], builder: SnapshotBuilder
    ) -> list[PendingEvent]:
        """Events of warnings that the last response did not have."""
        before, found, seen = self._seen, list[PendingEvent](), set[tuple[str, str]]()
        for warning in warnings:
            reason, uid = _WARNED.get(warning.code), next(iter(warning.pod_groups), "")
            subject = _owned_subject(uid, builder, self._pods) if reason else None
            if reason is None or subject is None:
                continue
            seen.add((uid, warning.detail))
            if (uid, warning.detail) not in before:
                note = f"{warning.detail[:1].upper()}{warning.detail[1:]}."
                found.append(PendingEvent(subject, reason, reason, note, "Observing", is_counted=True))
        self._seen = frozenset(seen)
        return found


class DecisionEvents:
    """Derives events from results. For one thread."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._pods = caches.pods
        self._seen: dict[str, DecisionResult] = {}
        """Results that have an event, by decision."""

    def pending_events(self, entries: Iterable[JournalEntry], builder: SnapshotBuilder) -> list[PendingEvent]:
        """Events of results that are new since the last call."""
        before, self._seen = self._seen, {}
        found: list[PendingEvent] = []
        for entry in entries:
            self._seen.update(entry.results)
            for decision in entry.group.decisions:
                step = entry.results.get(decision.id)
                if step is not None and step != before.get(decision.id):
                    found.extend(self._events_for(entry.group.beneficiary, decision, step, builder))
        return found

    def _events_for(
        self, beneficiary: str, decision: Decision, step: DecisionResult, builder: SnapshotBuilder
    ) -> Iterator[PendingEvent]:
        pod = self._pods.find(pod_of(decision))
        if pod is None:
            return
        row = builder.pod_group(beneficiary)
        is_near = row is not None and row.namespace == pod.metadata.namespace
        if step.status == APPLY_STATUS_APPLIED:
            yield _done(decision, pod, is_near)
            if step.detail and decision.HasField("evict"):
                note = f"Evicted, but {step.detail}"
                key = f"{VICTIM_LEFT} {decision.evict.pod_group}"
                yield PendingEvent(pod_reference(pod.metadata), key, VICTIM_LEFT, note, "Evicting", True)
        elif step.status == APPLY_STATUS_FAILED and decision.HasField("bind"):
            yield _failed_binding(decision, pod, step.detail)
        elif step.status == APPLY_STATUS_FAILED and decision.HasField("evict"):
            about = _owned_subject(beneficiary, builder, self._pods)
            yield from _blocked(pod, step.detail, about, is_near)


def _owned_subject(
    pod_group: str, builder: SnapshotBuilder, cache: ObjectCache[Pod]
) -> ObjectReference | None:
    """The pod group, or the first pod of a derived one; None: it is not the adapter's own."""
    subject = builder.subject(pod_group)
    if subject is not None:
        return subject if builder.owns(pod_group) else None
    pods = map(cache.find, builder.pods_of(pod_group))
    return next((pod_reference(pod.metadata) for pod in pods if pod is not None), None)


def _blocked(pod: Pod, detail: str, about: ObjectReference | None, is_near: bool) -> Iterator[PendingEvent]:
    """Events on who waits for an eviction, and on a victim of another namespace, whose objects cause it."""
    meta, which = pod.metadata, "Eviction of a pod of another namespace is blocked."
    key = f"{EVICTION_BLOCKED} {meta.uid}"
    if is_near:
        which = f"Eviction of pod {meta.namespace}/{meta.name} blocked: {detail}"
    else:
        note = f"Eviction blocked: {detail}"
        yield PendingEvent(pod_reference(meta), key, EVICTION_BLOCKED, note, "Evicting", is_counted=True)
    if about is not None:
        yield PendingEvent(about, key, EVICTION_BLOCKED, which, "Evicting", is_counted=True)


def _failed_binding(decision: Decision, pod: Pod, message: str) -> PendingEvent:
    """An event per pod and node. The pod waits for what the API server names, such as a policy."""
    node = decision.bind.node
    note = f"Binding to {node} failed: {message}"
    key = f"{BINDING_FAILED} {node}"
    return PendingEvent(pod_reference(pod.metadata), key, BINDING_FAILED, note, "Binding", is_counted=True)


_DONE: Final = {
    "notify": ("EvictionNotice", "Notifying"),
    "withdraw_notice": (NOTICE_WITHDRAWN, "Notifying"),
}
"""Reason and action of an event by kind of decision."""


def _done(decision: Decision, pod: Pod, is_near: bool) -> PendingEvent:
    """`is_near`: the pod group that it is for is in the namespace of the pod."""
    if decision.HasField("bind"):
        reason, action, note = "Scheduled", "Binding", f"Bound to {decision.bind.node}."
    else:
        reason, action = _DONE.get(decision.WhichOneof("kind") or "", ("Evicted", "Evicting"))
        note = decision.reason.message if is_near else format_public_message(decision.reason)
        if decision.HasField("notify"):
            notice = format_notice(decision.notify)
            note = f"{note} {notice}" if is_near else notice
    return PendingEvent(pod_reference(pod.metadata), decision.id, reason, note, action, is_counted=False)

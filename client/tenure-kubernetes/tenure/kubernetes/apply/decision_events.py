"""Events of decisions: applied decisions, and evictions that the API server blocks.

The event of a blocked eviction is about the pod group that waits for it. Its conditions only state that it
waits for victims; the event states why that takes long.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.apply.events import ObjectReference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.decision_pb2 import Decision
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED, DecisionResult

EVICTION_BLOCKED: Final = "EvictionBlocked"


class PendingEvent(NamedTuple):
    """An event that is not written yet."""

    about: ObjectReference
    key: str
    reason: str
    note: str
    action: str
    is_counted: bool
    """Whether repeated reports increase the count of the event; otherwise it is written once."""


class DecisionEvents:
    """For one thread."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._pods = caches.pods
        self._seen: dict[str, DecisionResult] = {}
        """What came of each step of groups under way, by decision."""

    def pending_events(self, entries: Iterable[JournalEntry], builder: SnapshotBuilder) -> list[PendingEvent]:
        """What is new of the groups that are under way; what was looked at once is not news."""
        before, self._seen = self._seen, {}
        found: list[PendingEvent | None] = []
        for entry in entries:
            self._seen.update(entry.results)
            for decision in entry.group.decisions:
                step = entry.results.get(decision.id)
                if step is not None and step != before.get(decision.id):
                    found.append(self._event_for(entry, decision, step, builder))
        return [one for one in found if one is not None]

    def _event_for(
        self, entry: JournalEntry, decision: Decision, step: DecisionResult, builder: SnapshotBuilder
    ) -> PendingEvent | None:
        pod = self._pods.find(decision.bind.pod or decision.evict.pod)
        if pod is None:
            return None
        if step.status == APPLY_STATUS_APPLIED:
            return _done(decision, pod)
        if step.status == APPLY_STATUS_FAILED and decision.HasField("evict"):
            about = self._beneficiary_name(entry.group.beneficiary, builder)
            note = f"Pod {pod.metadata.namespace}/{pod.metadata.name} is not evicted: {step.detail}"
            return about and PendingEvent(
                about, f"{EVICTION_BLOCKED} {pod.metadata.uid}", EVICTION_BLOCKED, note, "Evicting", True
            )
        return None

    def _beneficiary_name(self, pod_group: str, builder: SnapshotBuilder) -> ObjectReference | None:
        """The pod group, or the first pod of a derived one."""
        subject = builder.subject(pod_group)
        if subject is not None:
            return ObjectReference(*subject)
        pods = map(self._pods.find, builder.pods_of(pod_group))
        return next((_regarding(pod) for pod in pods if pod is not None), None)


def _done(decision: Decision, pod: Pod) -> PendingEvent:
    is_binding = decision.HasField("bind")
    reason, action = ("Scheduled", "Binding") if is_binding else ("Evicted", "Evicting")
    note = f"Bound to {decision.bind.node}." if is_binding else decision.reason.message
    return PendingEvent(_regarding(pod), decision.id, reason, note, action, is_counted=False)


def _regarding(pod: Pod) -> ObjectReference:
    meta = pod.metadata
    return ObjectReference("v1", "Pod", meta.namespace, meta.name, meta.uid)

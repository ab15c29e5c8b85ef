"""The status writer of Kubernetes: conditions and events, written by one thread in the background.

Only changes are written, per pod group at most every `QUIET_SECONDS`, with the outcome at that time. An
exhausted search budget does not replace an earlier outcome. A condition that cannot be written is retried,
unless a later outcome replaces it, and an event a few times. No decision waits for status.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from tenure.client.start_sentences import start_sentence, valid_until
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import LeaseLost
from tenure.kubernetes.api.api_errors import ApiError, NotFound, RequestRejected
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import LeaderTransport, Transport
from tenure.kubernetes.apply.conditions import (
    NOT_READY,
    UNSCHEDULABLE,
    WAITING_FOR_VOLUME,
    SchedulingCondition,
    build_condition,
    has_condition,
    pod_condition,
    set_aside_condition,
    volume_condition,
    volume_wait_conditions,
)
from tenure.kubernetes.apply.events import (
    AdapterIdentity,
    DecisionEvents,
    EventRecorder,
    PendingEvent,
    WarningEvents,
    refusal_events,
)
from tenure.kubernetes.apply.nominations import NominationWriter, NoticeCleaner
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pending_statuses import SET_ASIDE_REASONS, PendingStatus, PendingStatuses
from tenure.kubernetes.apply.pod_group_status import MANAGER, PodGroupStatusWriter
from tenure.kubernetes.apply.pod_writes import PodName
from tenure.kubernetes.apply.queue_status_writer import QueueStatusWriter
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.limits.set_aside import SetAsideObject
from tenure.kubernetes.objects.meta import POD_GROUP, ObjectReference, pod_reference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import OUTCOME_KIND_BUDGET_EXHAUSTED, REASON_CODE_BLOCKED

QUIET_SECONDS: Final = 5.0
"""Minimum time between two conditions of a pod group, or of another object that is set aside."""
_LOOK_SECONDS: Final = 0.2
_LOG: Final = logging.getLogger(__name__)


class StatusWriter:
    """Implements StatusWriter. Call `run` in a thread of its own."""

    def __init__(
        self,
        transport: Transport,
        caches: ObjectCaches,
        builder: SnapshotBuilder,
        ownership: Ownership,
        may_act: Callable[[], bool],
        adapter: AdapterIdentity,
    ) -> None:
        self._transport, self._caches = LeaderTransport(transport, may_act), caches
        self._builder, self._ownership = builder, ownership
        self._lease = adapter.lease
        self._events = EventRecorder(self._transport, adapter.instance)
        self._pending, self._stopped = PendingStatuses(), threading.Event()
        self._written: dict[str, tuple[SchedulingCondition, float]] = {}
        """The last condition of each pod group, and when it was written, by the monotonic clock."""
        self._retry_at: dict[str, float] = {}
        """When a failed write is retried."""
        self._binding: dict[str, SchedulingCondition] = {}
        """Conditions of pod groups whose pods are being bound, written when all of them are."""
        self._estimates: dict[str, tuple[str, float]] = {}
        """The last sentence about the start of each pod group that waits, and until when it holds."""
        self._decision_events, self._warning_events = DecisionEvents(caches), WarningEvents(caches)
        self._pod_groups = PodGroupStatusWriter(self._transport, adapter.node_pool)
        self._queues = QueueStatusWriter(self._transport)
        self._nominations = NominationWriter(self._transport, caches, ownership)
        self._notices = NoticeCleaner(self._transport, caches, ownership)

    def report(self, response: DecideResponse, entries: Iterable[JournalEntry]) -> None:
        """Queue conditions, nominated nodes, events and the status of queues. Returns at once."""
        builder, entries = self._builder, list(entries)
        wanted: dict[str, PendingStatus] = {}
        now = response.header.now.ToNanoseconds()
        if response.start_estimates:
            self._estimates = {
                e.pod_group: (start_sentence(e, now), valid_until(e)) for e in response.start_estimates
            }
        waits = volume_wait_conditions(self._caches.volume_waits.waits, builder.pod)
        for outcome in response.outcomes:
            uid, verdict = outcome.pod_group, build_condition(outcome)
            if verdict and not verdict.reason:
                self._binding[uid] = verdict
                continue
            if uid in waits:
                continue
            if (
                verdict
                and outcome.reason.code == REASON_CODE_BLOCKED
                and any(map(builder.volumes.problem, builder.pods_of(uid)))
            ):
                verdict = volume_condition(verdict.message, stands=True)
            if not builder.owns(uid) or builder.is_set_aside(uid):
                continue
            is_new = uid not in self._written and self._pending.find(uid) is None
            if verdict and (outcome.kind != OUTCOME_KIND_BUDGET_EXHAUSTED or is_new):
                self._binding.pop(uid, None)
                subject, pods = builder.subject(uid), builder.pods_of(uid)
                if subject is not None or pods:
                    sentence, until = self._estimates.get(uid, ("", now))
                    verdict = verdict.with_estimate(sentence if now <= until else "")
                    wanted[uid] = PendingStatus(verdict, subject, pods, self._not_before(uid, verdict))
        wanted |= self._bound()
        for uid, verdict in waits.items():
            wanted[uid] = PendingStatus(verdict, builder.subject(uid), builder.pods_of(uid), 0.0)
        events = self._decision_events.pending_events(entries, builder)
        events.extend(self._warning_events.pending_events(response.warnings, builder))
        events.extend(self._notices.report(entries))
        events.extend(refusal_events(self._ownership.take_refusals(), self._lease))
        self._pending.put(wanted, events)
        self._nominations.report(entries)
        self._queues.report(builder.queue_objects(), response.queues)
        aside = {found.target.uid for found in builder.set_aside.objects.values()}
        for uid in [uid for uid in list(self._written) if builder.pod_group(uid) is None]:
            if uid not in aside:
                self._written.pop(uid, None)
                self._retry_at.pop(uid, None)

    def _bound(self) -> dict[str, PendingStatus]:
        """Pod groups whose last pod is bound by now."""
        found: dict[str, PendingStatus] = {}
        for uid, condition in list(self._binding.items()):
            pods = self._builder.pods_of(uid)
            if all(map(self._is_bound, pods)):
                del self._binding[uid]
                if pods and self._builder.owns(uid) and not self._builder.is_set_aside(uid):
                    found[uid] = PendingStatus(condition, self._builder.subject(uid), pods, 0.0)
        return found

    def _is_bound(self, pod: str) -> bool:
        there = self._caches.pods.find(pod)
        return there is None or bool(there.spec.node_name) or pod in self._caches.bound_to

    def report_set_aside(self, objects: Iterable[SetAsideObject]) -> None:
        """Queue conditions and events of objects that are set aside. Returns at once.

        A pod group without own pods may belong to another scheduler.
        """
        wanted: dict[str, PendingStatus] = {}
        for found in objects:
            if found.target.kind == POD_GROUP and not found.pods:
                continue
            condition, uid = set_aside_condition(found.reason), found.target.uid
            wanted[uid] = PendingStatus(condition, found.target, [*found.pods], self._quiet_until(uid))
            self._written.pop(uid, None)
        self._pending.put(wanted)

    def _quiet_until(self, uid: str) -> float:
        """When the next condition may be written: a tenant can change the reason as often as it likes."""
        before, waiting = self._written.get(uid), self._pending.find(uid)
        if before is not None:
            return before[1] + QUIET_SECONDS
        return waiting.not_before if waiting is not None else 0.0

    def _not_before(self, uid: str, condition: SchedulingCondition) -> float:
        """Earliest time of a condition: pods of a new pod group are created one by one."""
        if condition.code != NOT_READY or uid in self._written:
            return 0.0
        before = self._pending.find(uid)
        if before is not None and before.condition.code == NOT_READY:
            return before.not_before
        return time.monotonic() + QUIET_SECONDS

    def run(self) -> None:
        """Write due conditions and events until stopped."""
        while not self._stopped.wait(_LOOK_SECONDS):
            self.write_due()

    def stop(self) -> None:
        """Return from `run` after the current write."""
        self._stopped.set()

    def write_due(self) -> None:
        """Write the conditions and events that are due."""
        events, due = self._pending.take_due(self._is_due)
        for one in events:
            self._write_event(one)
        for uid, wanted in due.items():
            if self._stopped.is_set():
                return
            before = self._written.get(uid)
            if before is None or before[0].key != wanted.condition.key:
                self._write_status(uid, wanted)
        self._nominations.write_due(self._try)
        self._notices.write_due(self._try)
        self._queues.write_due(self._try)

    def _is_due(self, uid: str, status: PendingStatus) -> bool:
        before, now = self._written.get(uid), time.monotonic()
        if now < max(status.not_before, self._retry_at.get(uid, now)):
            return False
        return before is None or not status.condition.reason or now >= before[1] + QUIET_SECONDS

    def _write_status(self, uid: str, status: PendingStatus) -> None:
        self._retry_at.pop(uid, None)
        before = self._written.get(uid)
        self._written[uid] = (status.condition, time.monotonic())
        subject = status.subject
        is_written = self._write_pods(status) if status.condition.reason else True
        if subject is not None and subject.kind == POD_GROUP:
            is_written &= self._try(lambda: self._put_subject(subject, status.condition))
        elif is_written and (about := subject or self._waiting_pod(status)) is not None:
            self._write_event(_pending_event(about, status.condition))
        if not is_written:
            self._postpone(uid, status, before)

    def _write_pods(self, status: PendingStatus) -> bool:
        """Write the condition to all pending pods. Returns whether none must be retried."""
        pods = filter(None, map(self._caches.pods.find, status.pods))
        outdated = [pod for pod in pods if _waits(pod) and not has_condition(pod, status.condition)]
        results = [self._try(lambda pod=pod: self._put_pod(pod, status.condition)) for pod in outdated]  # type: ignore[misc]
        return all(results)

    def _postpone(
        self, uid: str, status: PendingStatus, before: tuple[SchedulingCondition, float] | None
    ) -> None:
        """Retry a condition later."""
        if before is None:
            self._written.pop(uid, None)
        else:
            self._written[uid] = before
        self._retry_at[uid] = time.monotonic() + QUIET_SECONDS
        self._pending.put_back(uid, status)

    def _put_pod(self, pod: Pod, condition: SchedulingCondition) -> None:
        meta = pod.metadata
        where = f"{PodName(meta.namespace, meta.name, meta.uid).path}/status"
        status = {"conditions": [pod_condition(condition)]}
        apply_fields(self._transport, where, MANAGER, pod_reference(meta), status=status)

    def _put_subject(self, subject: ObjectReference, condition: SchedulingCondition) -> None:
        if self._pod_groups.write(subject, condition) and condition.reason:
            self._write_event(_pending_event(subject, condition))

    def _waiting_pod(self, status: PendingStatus) -> ObjectReference | None:
        """A pod for the event that a derived pod group waits for a volume, which has no object of its own."""
        pods = filter(None, map(self._caches.pods.find, status.pods))
        waiting = filter(_waits, pods) if status.condition.reason == WAITING_FOR_VOLUME else iter(())
        return next((pod_reference(pod.metadata) for pod in waiting), None)

    def _write_event(self, event: PendingEvent) -> None:
        """Write an event, now or later."""
        if not self._try(lambda: self._record_event(event)):
            self._pending.put_back_event(event, time.monotonic() + QUIET_SECONDS)

    def _record_event(self, event: PendingEvent) -> None:
        about, key, reason, note, action = event[:5]
        if event.is_counted:
            self._events.record(about, key, reason, note, action, event.is_warning)
        else:
            self._events.record_once(about, key, reason, note, action)

    def _try(self, write: Callable[[], None]) -> bool:
        """Whether it was written, or will never be possible."""
        try:
            write()
        except LeaseLost:
            return False
        except ApiError as failure:
            _LOG.info("Could not write status: %s", failure)
            return isinstance(failure, NotFound | RequestRejected)
        except Exception as odd:  # an object with invalid values must not block the others
            _LOG.warning("Could not write status: %r", odd)
        return True


def _pending_event(about: ObjectReference, condition: SchedulingCondition) -> PendingEvent:
    """Why a pod group is pending, with a count."""
    is_warning = condition.reason in (UNSCHEDULABLE, *SET_ASIDE_REASONS, "InvalidPodGroup")
    key, code = "".join(condition.key[1:]), condition.code
    return PendingEvent(about, key, code, condition.message, "Scheduling", True, is_warning)


def _waits(pod: Pod) -> bool:
    return (
        not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates
    )

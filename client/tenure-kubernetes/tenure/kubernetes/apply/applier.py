"""Takes the steps of decision groups: evictions group by group, then bindings, many at a time.

Before the first step of a group all its steps are looked at: if one must not be taken, none of a group that
needs all is. So they are before more of its evictions are sent in a later round. A step that was perhaps sent
before, by this process or one before it, is looked up first and sent only if it was not taken, so nothing
happens twice. What is refused for now is tried again in a later round, when the server still wants it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from opentelemetry.trace import Link
from tenure.integration.backoff import pause_after
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.kubernetes import telemetry
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.apply.pod_writes import (
    APPLIED,
    PodName,
    PodWriter,
    WriteResult,
    gpu_labels,
    precondition_failed,
)
from tenure.kubernetes.apply.preconditions import CallPool, PreconditionChecker
from tenure.kubernetes.telemetry import APPLY_ATTEMPTS, EvictionLinks, apply_span, span
from tenure.v1 import report_pb2 as pb
from tenure.v1.decision_pb2 import Decision

_FIRST_RETRY: Final = 10.0
_LONGEST_RETRY: Final = 300.0
"""Seconds after which a refused step is tried again when the API server does not say."""


class Applier:
    """Takes steps. `now` is the clock that snapshots carry."""

    def __init__(
        self, calls: PodWriter, caches: ObjectCaches, scheduler_name: str, now: Callable[[], Timestamp]
    ) -> None:
        self._writer = calls
        self._caches = caches
        self._scheduler_name = scheduler_name
        self._now = now
        self._eviction_links = EvictionLinks()
        self._call_pool = CallPool("tenure-apply")

    def close(self) -> None:
        """Wait for calls that are under way; nothing is sent afterwards."""
        self._call_pool.close()

    def check(self, entries: Iterable[JournalEntry]) -> None:
        """Note which steps must not be taken, before anything more of their groups is sent."""
        fences = PreconditionChecker(self._caches, self._scheduler_name)
        for entry in entries:
            check_first = entry.check_first
            for decision in entry.remaining_decisions(self._now()):
                if objection := fences.find_violation(decision):
                    known = self._find_applied(decision) if check_first else None
                    self._record_result(entry, decision, known or precondition_failed(objection))

    def _find_applied(self, decision: Decision) -> WriteResult | None:
        """Success, if the cluster shows the effect of a decision; None: it does not."""
        pod = self._caches.pods.find(decision.bind.pod or decision.evict.pod)
        if pod is None:
            return APPLIED if decision.HasField("evict") else None
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        if decision.HasField("bind"):
            known = self._writer.check_binding(name, decision.bind.node, None)
        else:
            known = self._writer.check_eviction(name, None)
        return known if known.status == pb.APPLY_STATUS_APPLIED else None

    def detect_applied(self, entries: Iterable[JournalEntry]) -> None:
        """Record decisions that are visible in the cluster, for groups that a predecessor may have sent.

        A server drops a group whose decisions are all visible, so its results are reported before.
        """
        for entry in entries:
            if entry.check_first:
                for decision in entry.unfinished_decisions():
                    if self._is_observed(decision):
                        self._record_result(entry, decision, APPLIED)

    def _is_observed(self, decision: Decision) -> bool:
        pod = self._caches.pods.find(decision.bind.pod or decision.evict.pod)
        if decision.HasField("bind"):
            return pod is not None and pod.spec.node_name == decision.bind.node
        return pod is None or pod.metadata.deletion_timestamp is not None

    def apply(self, entries: Sequence[JournalEntry]) -> None:
        """Take all steps that are left, and note what came of them. Raises LeaseLost."""
        now = self._now()
        try:
            evicting = [entry for entry in entries if any(_evictions(entry, now))]
            self.check(entry for entry in evicting if entry.check_first)
            with span(telemetry.EVICT, groups=len(evicting)):
                self._call_pool.all(lambda entry: self._evict(entry, now), evicting)
            self._apply_bindings(entries, now)
        finally:
            for entry in entries:
                entry.handle(EntryEvent.SENT)

    def _apply_bindings(self, entries: Sequence[JournalEntry], now: Timestamp) -> None:
        fences = PreconditionChecker(self._caches, self._scheduler_name)
        bindings = [
            (entry, decision, entry.check_first)
            for entry in entries
            for decision in entry.remaining_decisions(now)
            if decision.HasField("bind")
        ]
        winners = {entry.group.beneficiary for entry, *_ in bindings}
        links = {winner: self._eviction_links.take_links(winner) for winner in winners}
        with span(telemetry.BIND, pods=len(bindings)):
            self._call_pool.all(lambda binding: self._bind(*binding, fences, links), bindings)

    def _evict(self, entry: JournalEntry, now: Timestamp) -> None:
        """Evict one after the other, and stop a group that needs all at the first that is refused."""
        check_first = entry.check_first
        for decision in list(_evictions(entry, now)):
            with apply_span("evict", entry.id) as current:
                result = self._evict_pod(decision, check_first)
                if result.status == pb.APPLY_STATUS_APPLIED:
                    self._eviction_links.add(decision.evict)
                current.set_attribute(telemetry.RESULT, result.metric_label)
            self._record_result(entry, decision, result)
            if entry.needs_all and result.status != pb.APPLY_STATUS_APPLIED:
                return

    def _evict_pod(self, decision: Decision, check_first: bool) -> WriteResult:
        pod = self._caches.pods.find(decision.evict.pod)
        if pod is None:
            return APPLIED
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        known = self._find_applied(decision) if check_first else None
        return known or self._writer.evict(name)

    def _bind(
        self,
        entry: JournalEntry,
        decision: Decision,
        check_first: bool,
        fences: PreconditionChecker,
        links: Mapping[str, list[Link]],
    ) -> None:
        if entry.is_stopped or (entry.needs_all and _is_blocked(entry)):
            return
        with apply_span("bind", entry.id, links[entry.group.beneficiary]) as current:
            result = self._bind_pod(decision, check_first, fences)
            current.set_attribute(telemetry.RESULT, result.metric_label)
        self._record_result(entry, decision, result)

    def _bind_pod(self, decision: Decision, check_first: bool, fences: PreconditionChecker) -> WriteResult:
        bind = decision.bind
        pod = self._caches.pods.find(bind.pod)
        if pod is None:
            return precondition_failed("the pod is gone")
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        if check_first:
            known = self._writer.check_binding(name, bind.node, None)
            if not known.is_retryable:
                return known
            if objection := fences.find_violation(decision):
                return precondition_failed(objection)
        labels = gpu_labels(bind.gpu_groups, bind.node, pod.metadata.labels)
        return self._writer.bind(name, bind.node, labels)

    def _record_result(self, entry: JournalEntry, decision: Decision, result: WriteResult) -> None:
        APPLY_ATTEMPTS.add(1, {"kind": decision.WhichOneof("kind") or "other", "result": result.metric_label})
        report = pb.DecisionResult(decision_id=decision.id, status=result.status, detail=result.detail)
        if result.is_retryable:
            tries = entry.attempts.get(decision.id, 0)
            entry.attempts[decision.id] = tries + 1
            wait = result.retry_after
            if wait is None:
                wait = pause_after(tries + 1, _FIRST_RETRY, _LONGEST_RETRY)
            report.retryable = True
            report.retry_time.FromNanoseconds(self._now().ToNanoseconds() + int(wait * 1e9))
        entry.add_result(report)


def _evictions(entry: JournalEntry, now: Timestamp) -> Iterator[Decision]:
    return (decision for decision in entry.remaining_decisions(now) if decision.HasField("evict"))


def _is_blocked(entry: JournalEntry) -> bool:
    """Whether an eviction of the group is refused for now: its bindings rest on it."""
    return any(
        decision.HasField("evict") and not entry.is_applied(decision) for decision in entry.group.decisions
    )

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
from tenure.client.kubernetes import spans
from tenure.client.kubernetes.apply.calls import (
    APPLIED,
    Calls,
    PodName,
    Result,
    gpu_labels,
    rejected,
)
from tenure.client.kubernetes.apply.fences import Fences
from tenure.client.kubernetes.apply.together import Together
from tenure.client.kubernetes.evictions import Evictions
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.metrics import STEPS
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.spans import span, step_span
from tenure.v1 import outcome_pb2 as pb
from tenure.v1.decision_pb2 import Decision

_FIRST_RETRY: Final = 10.0
_LONGEST_RETRY: Final = 300.0
"""Seconds after which a refused step is tried again when the API server does not say."""


class Applier:
    """Takes steps. `now` is the clock that snapshots carry."""

    def __init__(
        self, calls: Calls, mirrors: Mirrors, scheduler_name: str, now: Callable[[], Timestamp]
    ) -> None:
        self._calls = calls
        self._mirrors = mirrors
        self._scheduler_name = scheduler_name
        self._now = now
        self._evictions = Evictions()
        self._together = Together("tenure-apply")

    def close(self) -> None:
        """Wait for calls that are under way; nothing is sent afterwards."""
        self._together.close()

    def check(self, entries: Iterable[Entry]) -> None:
        """Note which steps must not be taken, before anything more of their groups is sent."""
        fences = Fences(self._mirrors, self._scheduler_name)
        for entry in entries:
            for decision in entry.left(self._now()):
                if objection := fences.objection(decision):
                    self._note(entry, decision, self._taken_before(entry, decision) or rejected(objection))

    def _taken_before(self, entry: Entry, decision: Decision) -> Result | None:
        """That a step was taken already, if it was perhaps sent and the cluster says so."""
        if entry.is_fresh:
            return None
        pod = self._mirrors.pods.find(decision.bind.pod or decision.evict.pod)
        if pod is None:
            return APPLIED if decision.HasField("evict") else None
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        if decision.HasField("bind"):
            known = self._calls.look_at_binding(name, decision.bind.node, None)
        else:
            known = self._calls.look_at_eviction(name, None)
        return known if known.result == pb.STEP_RESULT_APPLIED else None

    def recognise(self, entries: Iterable[Entry]) -> None:
        """Note steps that are seen done, of groups of which it is not known what was sent.

        A server lets go of a group that it sees done: what is to be stored of it has to be asked for before.
        """
        for entry in entries:
            if not entry.is_fresh:
                for decision in entry.open():
                    if self._is_seen_done(decision):
                        self._note(entry, decision, APPLIED)

    def _is_seen_done(self, decision: Decision) -> bool:
        pod = self._mirrors.pods.find(decision.bind.pod or decision.evict.pod)
        if decision.HasField("bind"):
            return pod is not None and pod.spec.node_name == decision.bind.node
        return pod is None or pod.metadata.deletion_timestamp is not None

    def apply(self, entries: Sequence[Entry]) -> None:
        """Take all steps that are left, and note what came of them. Raises LeaseLost."""
        now = self._now()
        try:
            evicting = [entry for entry in entries if any(_evictions(entry, now))]
            self.check(entry for entry in evicting if not entry.is_fresh)
            with span(spans.EVICT, groups=len(evicting)):
                self._together.all(lambda entry: self._evict(entry, now), evicting)
            self._apply_bindings(entries, now)
        finally:
            for entry in entries:
                entry.is_fresh = False

    def _apply_bindings(self, entries: Sequence[Entry], now: Timestamp) -> None:
        fences = Fences(self._mirrors, self._scheduler_name)
        bindings = [
            (entry, decision)
            for entry in entries
            for decision in entry.left(now)
            if decision.HasField("bind")
        ]
        winners = {entry.group.beneficiary for entry, _ in bindings}
        links = {winner: self._evictions.take_links(winner) for winner in winners}
        with span(spans.BIND, pods=len(bindings)):
            self._together.all(lambda binding: self._bind(*binding, fences, links), bindings)

    def _evict(self, entry: Entry, now: Timestamp) -> None:
        """Evict one after the other, and stop a group that needs all at the first that is refused."""
        for decision in list(_evictions(entry, now)):
            with step_span("evict", entry.id) as current:
                result = self._evicted(entry, decision)
                if result.result == pb.STEP_RESULT_APPLIED:
                    self._evictions.remember(decision.evict)
                current.set_attribute(spans.RESULT, result.word)
            self._note(entry, decision, result)
            if entry.needs_all and result.result != pb.STEP_RESULT_APPLIED:
                return

    def _evicted(self, entry: Entry, decision: Decision) -> Result:
        pod = self._mirrors.pods.find(decision.evict.pod)
        if pod is None:
            return APPLIED
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        return self._taken_before(entry, decision) or self._calls.evict(name)

    def _bind(
        self, entry: Entry, decision: Decision, fences: Fences, links: Mapping[str, list[Link]]
    ) -> None:
        if entry.is_lost() or (entry.needs_all and _is_held_up(entry)):
            return
        with step_span("bind", entry.id, links[entry.group.beneficiary]) as current:
            result = self._bound(entry, decision, fences)
            current.set_attribute(spans.RESULT, result.word)
        self._note(entry, decision, result)

    def _bound(self, entry: Entry, decision: Decision, fences: Fences) -> Result:
        bind = decision.bind
        pod = self._mirrors.pods.find(bind.pod)
        if pod is None:
            return rejected("the pod is gone")
        name = PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        if not entry.is_fresh:
            known = self._calls.look_at_binding(name, bind.node, None)
            if not known.is_retryable:
                return known
            if objection := fences.objection(decision):
                return rejected(objection)
        labels = gpu_labels(bind.gpu_groups, bind.node, pod.metadata.labels)
        return self._calls.bind(name, bind.node, labels)

    def _note(self, entry: Entry, decision: Decision, result: Result) -> None:
        STEPS.add(1, {"step": decision.WhichOneof("step") or "other", "result": result.word})
        report = pb.StepReport(decision_id=decision.id, result=result.result, detail=result.detail)
        if result.is_retryable:
            tries = entry.tries.get(decision.id, 0)
            entry.tries[decision.id] = tries + 1
            wait = result.retry_after
            if wait is None:
                wait = min(_FIRST_RETRY * 2**tries, _LONGEST_RETRY)
            report.retryable = True
            report.retry_time.FromNanoseconds(self._now().ToNanoseconds() + int(wait * 1e9))
        entry.note(report)


def _evictions(entry: Entry, now: Timestamp) -> Iterator[Decision]:
    return (decision for decision in entry.left(now) if decision.HasField("evict"))


def _is_held_up(entry: Entry) -> bool:
    """Whether an eviction of the group is refused for now: its bindings rest on it."""
    return any(
        decision.HasField("evict") and not entry.is_applied(decision) for decision in entry.group.decisions
    )

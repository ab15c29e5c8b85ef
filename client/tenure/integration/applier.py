"""Apply passes over decision groups: notices, then evictions, then bindings in parallel.

Bindings that take preparation, such as volumes, wait for it; those of an all-or-nothing group wait together.

All decisions of a group are checked before the first of them is sent; if one fails its precondition, nothing
of an all-or-nothing group is sent. The check repeats before evictions are sent in a later pass. A decision
that may have been sent before is looked up first, so that it is not applied twice. A decision that the
cluster rejects for now is retried in a later pass, while the server still requests it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from opentelemetry.trace import Link
from tenure.integration import telemetry
from tenure.integration.evictions import GroupEvictions, Lane, share_lanes
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.integration.ports import (
    APPLIED,
    ApplyResult,
    BindingPreparer,
    DecisionApplier,
    LeaseLost,
    precondition_failed,
    retry,
)
from tenure.integration.telemetry import APPLY_ATTEMPTS, EvictionLinks, apply_span, span
from tenure.integration.timing import pause_after
from tenure.v1 import report_pb2 as pb
from tenure.v1.decision_pb2 import Decision

MAX_PARALLEL_CALLS: Final = 16
"""Parallel cluster calls: 500 calls take about 0.3 s without overloading an API server."""
_FIRST_RETRY_SECONDS: Final = 10.0
_LONGEST_RETRY_SECONDS: Final = 300.0
"""Pauses before a retry if the cluster does not request one."""
_Item = TypeVar("_Item")
_Found = TypeVar("_Found")
_Check = Callable[[Decision], str]


class CallPool:
    """A thread pool for one caller at a time. Its calls belong to the trace of the caller."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(MAX_PARALLEL_CALLS, name)

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._pool.shutdown(cancel_futures=True)

    def all(self, call: Callable[[_Item], _Found], items: Iterable[_Item]) -> list[_Found]:
        """Results for all items, in order.

        Raises an error of one of the calls, LeaseLost before any other, when all have ended.
        """
        futures = [self._pool.submit(copy_context().run, call, item) for item in items]
        lost = [future for future in futures if isinstance(future.exception(), LeaseLost)]
        return [future.result() for future in (*lost, *futures)]


class GroupApplier:
    """Applies the decisions of journal entries, and adds the results to them.

    `now` is the clock of snapshots.
    """

    def __init__(
        self,
        applier: DecisionApplier,
        now: Callable[[], Timestamp],
        preparer: BindingPreparer | None = None,
    ) -> None:
        self._applier, self._preparer = applier, preparer
        self._now = now
        self._eviction_links = EvictionLinks()
        self._call_pool = CallPool("tenure-apply")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._call_pool.close()
        if self._preparer is not None:
            self._preparer.close()

    def check(self, entries: Iterable[JournalEntry]) -> None:
        """Add a failed precondition for every decision that must not be applied."""
        find_violation = self._applier.preconditions()
        for entry in entries:
            check_first = entry.check_first
            for decision in entry.remaining_decisions(self._now()):
                if violation := find_violation(decision):
                    found = self._applier.look_up(decision) if check_first else None
                    self._add_result(entry, decision, found or precondition_failed(violation))

    def refuse(self, entry: JournalEntry, why: str) -> None:
        """Add a failed precondition for every decision that is left of a group."""
        for decision in list(entry.remaining_decisions(self._now())):
            self._add_result(entry, decision, precondition_failed(why))

    def detect_applied(self, entries: Iterable[JournalEntry]) -> None:
        """Add results of visible decisions of groups that may have been sent before.

        A server drops a group whose decisions are all visible, so its results are reported before.
        """
        for entry in entries:
            if entry.check_first:
                for decision in entry.unfinished_decisions():
                    if self._applier.is_visible(decision):
                        self._add_result(entry, decision, APPLIED)

    def apply(self, entries: Sequence[JournalEntry]) -> None:
        """Apply all decisions that are left. Raises LeaseLost."""
        now = self._now()
        try:
            self._apply_notices(entries, now)
            evicting = [entry for entry in entries if any(_evictions(entry, now))]
            self.check(entry for entry in evicting if entry.check_first)
            with span(telemetry.EVICT, groups=len(evicting)):
                self._apply_evictions(evicting, now)
            self._apply_bindings(entries, now)
        finally:
            for entry in entries:
                entry.handle(EntryEvent.SENT)

    def _apply_notices(self, entries: Sequence[JournalEntry], now: Timestamp) -> None:
        """Tell pods of their evictions, or that they are not evicted. Sent again, both change nothing."""
        left = [(each, one) for each in entries for one in each.remaining_decisions(now) if _is_notice(one)]
        for (entry, decision), result in zip(
            left, self._call_pool.all(lambda one: self._applier.apply(one[1]), left), strict=True
        ):
            self._add_result(entry, decision, result)

    def _apply_evictions(self, entries: Sequence[JournalEntry], now: Timestamp) -> None:
        if not entries:
            return
        budgets_of = self._applier.budgets()
        groups = [GroupEvictions(entry, _evictions(entry, now), budgets_of) for entry in entries]
        taken = Counter[str]()
        for group in groups:
            if (why := group.reserve(taken)) and group.entry.needs_all:
                group.has_ended = True
                for eviction in (eviction for stage in group.stages for eviction in stage):
                    self._add_result(group.entry, eviction.decision, retry(why))
        for stage in zip(*(group.stages for group in groups), strict=True):
            lanes = share_lanes(eviction for evictions in stage for eviction in evictions)
            self._call_pool.all(self._evict_lane, lanes)

    def _evict_lane(self, lane: Lane) -> None:
        """Send what is left of a lane. Several threads may share it."""
        while (eviction := lane.next()) is not None:
            try:
                self._evict(eviction.group, eviction.decision)
            finally:
                lane.end(eviction)

    def _apply_bindings(self, entries: Sequence[JournalEntry], now: Timestamp) -> None:
        find_violation = self._applier.preconditions()
        bindings = [
            (entry, decision, entry.check_first)
            for entry, decisions in self._prepare(entries, now)
            for decision in decisions
        ]
        beneficiaries = {entry.group.beneficiary for entry, *_ in bindings}
        links = {pod_group: self._eviction_links.take_links(pod_group) for pod_group in beneficiaries}
        with span(telemetry.BIND, pods=len(bindings)):
            self._call_pool.all(lambda binding: self._bind(*binding, find_violation, links), bindings)

    def _prepare(
        self, entries: Sequence[JournalEntry], now: Timestamp
    ) -> list[tuple[JournalEntry, list[Decision]]]:
        """Bindings that can be sent."""
        left = [
            (entry, [one for one in entry.remaining_decisions(now) if one.HasField("bind")])
            for entry in entries
            if not (entry.needs_all and _has_unapplied_eviction(entry))
        ]
        if self._preparer is None:
            return left
        held = self._preparer.prepare([decisions for _, decisions in left if decisions])
        ready: list[tuple[JournalEntry, list[Decision]]] = []
        for entry, decisions in left:
            for decision in decisions:
                if (result := held.get(decision.id)) is not None:
                    self._add_result(entry, decision, result)
            if entry.needs_all and any(decision.id in held for decision in decisions):
                continue
            ready.append((entry, [decision for decision in decisions if decision.id not in held]))
        return ready

    def _evict(self, group: GroupEvictions, decision: Decision) -> None:
        if group.has_ended:
            return
        with apply_span("evict", group.entry.id) as current:
            found = self._applier.look_up(decision) if group.check_first else None
            result = found or self._applier.apply(decision)
            if result.status == pb.APPLY_STATUS_APPLIED:
                self._eviction_links.add(decision.evict)
            elif group.entry.needs_all:
                group.has_ended = True
            current.set_attribute(telemetry.RESULT, result.metric_label)
        self._add_result(group.entry, decision, result)

    def _bind(
        self,
        entry: JournalEntry,
        decision: Decision,
        check_first: bool,
        find_violation: _Check,
        links: Mapping[str, list[Link]],
    ) -> None:
        if entry.is_stopped or (entry.needs_all and _has_unapplied_eviction(entry)):
            return
        with apply_span("bind", entry.id, links[entry.group.beneficiary]) as current:
            found = self._find_result(decision, find_violation) if check_first else None
            result = found or self._applier.apply(decision)
            current.set_attribute(telemetry.RESULT, result.metric_label)
        self._add_result(entry, decision, result)

    def _find_result(self, decision: Decision, find_violation: _Check) -> ApplyResult | None:
        """Result of a binding that may have been sent before; None: send it."""
        if found := self._applier.look_up(decision):
            return found
        violation = find_violation(decision)
        return precondition_failed(violation) if violation else None

    def _add_result(self, entry: JournalEntry, decision: Decision, result: ApplyResult) -> None:
        APPLY_ATTEMPTS.add(1, {"kind": decision.WhichOneof("kind") or "other", "result": result.metric_label})
        report = pb.DecisionResult(decision_id=decision.id, status=result.status, detail=result.detail)
        if result.is_retryable:
            wait = result.retry_after
            if wait is None:
                attempts = entry.attempts[decision.id] = entry.attempts.get(decision.id, 0) + 1
                wait = pause_after(attempts, _FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS)
            report.retryable = True
            report.retry_time.FromNanoseconds(self._now().ToNanoseconds() + int(wait * 1e9))
        entry.add_result(report)


def _evictions(entry: JournalEntry, now: Timestamp) -> Iterator[Decision]:
    return (decision for decision in entry.remaining_decisions(now) if decision.HasField("evict"))


def _is_notice(decision: Decision) -> bool:
    return decision.WhichOneof("kind") in ("notify", "withdraw_notice")


def _has_unapplied_eviction(entry: JournalEntry) -> bool:
    """Whether an eviction of the group is not applied: its bindings depend on it."""
    return any(
        decision.HasField("evict") and not entry.is_applied(decision) for decision in entry.group.decisions
    )

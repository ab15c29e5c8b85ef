"""One group of decisions under way: what became of its steps, and what is kept of it in flight."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.in_flight import track_group
from tenure.v1.decision_pb2 import ATOMICITY_BEST_EFFORT, Decision, DecisionGroup
from tenure.v1.report_pb2 import (
    APPLY_STATUS_APPLIED,
    APPLY_STATUS_FAILED,
    DecisionResult,
    GroupReport,
    PatchToStore,
)
from tenure.v1.snapshot_pb2 import InFlightGroup

_APPLICABLE = ("evict", "bind")
"""Steps that are taken by calls."""


@dataclass(slots=True)
class JournalEntry:
    """A group that was accepted. What is not known of a step is not in `steps`."""

    group: DecisionGroup
    results: dict[str, DecisionResult] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    """How often a step was refused for now."""
    stored_patches: list[PatchToStore] = field(default_factory=list)
    """Patches that were noted already."""
    is_fresh: bool = True
    """Nothing of it can have been sent yet. False of every entry that was read back after a start."""
    is_cancelled: bool = False
    """No further step of it is to be taken."""
    is_complete: bool = False
    """The server has let go of it: nothing of it goes with the next snapshot."""
    is_reported: bool = False
    """The server knows all of `steps`."""

    @property
    def id(self) -> str:
        """DecisionGroup.id."""
        return self.group.id

    @property
    def needs_all(self) -> bool:
        """Whether its steps are of no use without each other."""
        return self.group.atomicity != ATOMICITY_BEST_EFFORT

    def add_result(self, report: DecisionResult) -> None:
        """What became of a step; a step that was done stays done."""
        known = self.results.get(report.decision_id)
        if known is not None and known.status == APPLY_STATUS_APPLIED:
            return
        self.results[report.decision_id] = report
        self.is_reported = False

    def cancel(self) -> None:
        """Take no further step. What was taken is kept until it is seen."""
        self.is_cancelled = True

    def end(self, has_expired: bool) -> None:
        """Let go of it, too. That its time was over is still to be told: it may be to be remembered."""
        self.is_cancelled = self.is_complete = True
        self.is_reported = self.is_reported and not has_expired

    @property
    def is_disposable(self) -> bool:
        """Whether nobody needs it any more."""
        return self.is_reported and self.row() is None and self.retry_seconds() is None

    def is_applied(self, decision: Decision) -> bool:
        """Whether the cluster took the step."""
        step = self.results.get(decision.id)
        return step is not None and step.status == APPLY_STATUS_APPLIED

    def has_failed(self) -> bool:
        """Whether a step was refused for good, and with it a group that needs all of its steps."""
        return self.needs_all and any(map(self._is_failed, self._applicable_decisions()))

    def remaining_decisions(self, now: Timestamp) -> Iterator[Decision]:
        """Steps that are to be taken now, in order: none after an eviction that the group has to wait for."""
        if self.is_cancelled or self.has_failed() or self.is_expired(now):
            return
        for decision in self._applicable_decisions():
            step = self.results.get(decision.id)
            if step is None or (_is_retryable(step) and _is_due(step, now)):
                yield decision
            elif self._waits_for(decision):
                return

    def unfinished_decisions(self) -> list[Decision]:
        """Steps of which it is not known that they were done or refused for good."""
        steps = ((decision, self.results.get(decision.id)) for decision in self._applicable_decisions())
        return [decision for decision, step in steps if step is None or _is_retryable(step)]

    def is_expired(self, now: Timestamp) -> bool:
        """Whether its time is over."""
        return self.group.expire_time.ToNanoseconds() <= now.ToNanoseconds()

    def retry_seconds(self) -> float | None:
        """When a step is to be tried again, in seconds since 1970; None: none is."""
        if self.is_cancelled or self.has_failed():
            return None
        first = next(filter(self._waits_for, self._applicable_decisions()), None)
        steps = self.results.values() if first is None else [self.results[first.id]]
        waiting = [step for step in steps if _is_retryable(step)]
        return min((step.retry_time.ToNanoseconds() / 1e9 for step in waiting), default=None)

    def row(self) -> InFlightGroup | None:
        """What goes with the next snapshot; None: nothing of it is under way."""
        if self.is_complete:
            return None
        is_stopped = self.is_cancelled or self.has_failed()
        refused = {one.id for one in self.group.decisions if self._is_excluded(one, is_stopped)}
        row = track_group(self.group, refused)
        return row if row.evictions or row.reservations or row.bindings else None

    def report(self) -> GroupReport:
        """What became of it so far."""
        return GroupReport(group=self.group, results=self.results.values())

    def _applicable_decisions(self) -> Iterator[Decision]:
        return (decision for decision in self.group.decisions if decision.WhichOneof("kind") in _APPLICABLE)

    def _waits_for(self, decision: Decision) -> bool:
        """Whether it is an eviction that is refused for now, without which the others are in vain."""
        step = self.results.get(decision.id)
        return self.needs_all and decision.HasField("evict") and step is not None and _is_retryable(step)

    def _is_excluded(self, decision: Decision, is_stopped: bool) -> bool:
        """Steps that are not under way: refused, or of a group of which no more are taken."""
        if is_stopped:
            return not self.is_applied(decision)
        return self._is_failed(decision)

    def _is_failed(self, decision: Decision) -> bool:
        step = self.results.get(decision.id)
        return step is not None and step.status != APPLY_STATUS_APPLIED and not _is_retryable(step)


def _is_retryable(step: DecisionResult) -> bool:
    return step.status == APPLY_STATUS_FAILED and step.retryable


def _is_due(step: DecisionResult, now: Timestamp) -> bool:
    return step.retry_time.ToNanoseconds() <= now.ToNanoseconds()

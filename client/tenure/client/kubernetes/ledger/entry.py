"""One group of decisions under way: what became of its steps, and what is kept of it in flight."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.in_flight import in_flight
from tenure.v1.decision_pb2 import ATOMICITY_BEST_EFFORT, Decision, DecisionGroup
from tenure.v1.outcome_pb2 import (
    STEP_RESULT_APPLIED,
    STEP_RESULT_FAILED,
    DuePatch,
    GroupReport,
    StepReport,
)
from tenure.v1.snapshot_pb2 import InFlightGroup

_TAKEN = ("evict", "bind")
"""Steps that are taken by calls."""


@dataclass(slots=True)
class Entry:
    """A group that was accepted. What is not known of a step is not in `steps`."""

    group: DecisionGroup
    steps: dict[str, StepReport] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    """How often a step was refused for now."""
    stored: list[DuePatch] = field(default_factory=list)
    """Patches that were noted already."""
    is_fresh: bool = True
    """Nothing of it can have been sent yet. False of every entry that was read back after a start."""
    is_cancelled: bool = False
    """No further step of it is to be taken."""
    is_done: bool = False
    """The server has let go of it: nothing of it goes with the next snapshot."""
    is_told: bool = False
    """The server knows all of `steps`."""

    @property
    def id(self) -> str:
        """DecisionGroup.id."""
        return self.group.id

    @property
    def needs_all(self) -> bool:
        """Whether its steps are of no use without each other."""
        return self.group.atomicity != ATOMICITY_BEST_EFFORT

    def note(self, report: StepReport) -> None:
        """What became of a step; a step that was done stays done."""
        known = self.steps.get(report.decision_id)
        if known is not None and known.result == STEP_RESULT_APPLIED:
            return
        self.steps[report.decision_id] = report
        self.is_told = False

    def cancel(self) -> None:
        """Take no further step. What was taken is kept until it is seen."""
        self.is_cancelled = True

    def end(self, has_lapsed: bool) -> None:
        """Let go of it, too. That its time was over is still to be told: it may be to be remembered."""
        self.is_cancelled = self.is_done = True
        self.is_told = self.is_told and not has_lapsed

    @property
    def is_to_be_dropped(self) -> bool:
        """Whether nobody needs it any more."""
        return self.is_told and self.row() is None and self.retry_seconds() is None

    def is_applied(self, decision: Decision) -> bool:
        """Whether the cluster took the step."""
        step = self.steps.get(decision.id)
        return step is not None and step.result == STEP_RESULT_APPLIED

    def is_lost(self) -> bool:
        """Whether a step was refused for good, and with it a group that needs all of its steps."""
        return self.needs_all and any(map(self._is_refused, self._taken()))

    def left(self, now: Timestamp) -> Iterator[Decision]:
        """Steps that are to be taken now, in order: none after an eviction that the group has to wait for."""
        if self.is_cancelled or self.is_lost() or self.is_over(now):
            return
        for decision in self._taken():
            step = self.steps.get(decision.id)
            if step is None or (_is_retryable(step) and _is_due(step, now)):
                yield decision
            elif self._waits_for(decision):
                return

    def open(self) -> list[Decision]:
        """Steps of which it is not known that they were done or refused for good."""
        steps = ((decision, self.steps.get(decision.id)) for decision in self._taken())
        return [decision for decision, step in steps if step is None or _is_retryable(step)]

    def is_over(self, now: Timestamp) -> bool:
        """Whether its time is over."""
        return self.group.expire_time.ToNanoseconds() <= now.ToNanoseconds()

    def retry_seconds(self) -> float | None:
        """When a step is to be tried again, in seconds since 1970; None: none is."""
        if self.is_cancelled or self.is_lost():
            return None
        first = next(filter(self._waits_for, self._taken()), None)
        steps = self.steps.values() if first is None else [self.steps[first.id]]
        waiting = [step for step in steps if _is_retryable(step)]
        return min((step.retry_time.ToNanoseconds() / 1e9 for step in waiting), default=None)

    def row(self) -> InFlightGroup | None:
        """What goes with the next snapshot; None: nothing of it is under way."""
        if self.is_done:
            return None
        is_stopped = self.is_cancelled or self.is_lost()
        refused = {one.id for one in self.group.decisions if self._is_left_out(one, is_stopped)}
        row = in_flight(self.group, refused)
        return row if row.evictions or row.holds or row.bindings else None

    def report(self) -> GroupReport:
        """What became of it so far."""
        return GroupReport(group=self.group, steps=self.steps.values())

    def _taken(self) -> Iterator[Decision]:
        return (decision for decision in self.group.decisions if decision.WhichOneof("step") in _TAKEN)

    def _waits_for(self, decision: Decision) -> bool:
        """Whether it is an eviction that is refused for now, without which the others are in vain."""
        step = self.steps.get(decision.id)
        return self.needs_all and decision.HasField("evict") and step is not None and _is_retryable(step)

    def _is_left_out(self, decision: Decision, is_stopped: bool) -> bool:
        """Steps that are not under way: refused, or of a group of which no more are taken."""
        if is_stopped:
            return not self.is_applied(decision)
        return self._is_refused(decision)

    def _is_refused(self, decision: Decision) -> bool:
        step = self.steps.get(decision.id)
        return step is not None and step.result != STEP_RESULT_APPLIED and not _is_retryable(step)


def _is_retryable(step: StepReport) -> bool:
    return step.result == STEP_RESULT_FAILED and step.retryable


def _is_due(step: StepReport, now: Timestamp) -> bool:
    return step.retry_time.ToNanoseconds() <= now.ToNanoseconds()

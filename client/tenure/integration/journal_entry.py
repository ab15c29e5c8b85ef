"""A decision group in the journal: its state, the results of its decisions, and its in-flight row.

The state is what may have been sent and what the server knows. It changes by events, as in TRANSITIONS.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1.decision_pb2 import ATOMICITY_BEST_EFFORT, Decision, DecisionGroup
from tenure.v1.report_pb2 import (
    APPLY_STATUS_APPLIED,
    APPLY_STATUS_FAILED,
    DecisionResult,
    GroupReport,
    PatchToStore,
)
from tenure.v1.snapshot_pb2 import InFlightGroup
from tenure.wire.in_flight_rows import in_flight_row, is_empty, is_final_failure


class EntryState(Enum):
    """The state of an entry. The journal stores its name."""

    ACCEPTED = "ACCEPTED"
    """In the journal; nothing was sent."""
    UNREPORTED = "UNREPORTED"
    """Something may have been sent; the server lacks results."""
    REPORTED = "REPORTED"
    """The server knows all results; decisions are left, or their effects are not visible yet."""
    STOPPING = "STOPPING"
    """No further decision is applied; the server lacks results."""
    STOPPED = "STOPPED"
    """No further decision is applied; applied ones stay in flight until their effects are visible."""
    CLOSING = "CLOSING"
    """The server dropped the group and lacks the last results."""
    CLOSED = "CLOSED"
    """The journal no longer needs the entry."""


class EntryEvent(Enum):
    """What changes the state of an entry."""

    SENT = "SENT"
    """An apply pass over the entry ended."""
    RESULT = "RESULT"
    """The result of one decision arrived."""
    BLOCKED = "BLOCKED"
    """A decision of an all-or-nothing group failed for good. Follows the RESULT of that decision."""
    REPORTED = "REPORTED"
    """The server accepted the results."""
    CANCELLED = "CANCELLED"
    """The server accepted the results and cancelled the rest of the group."""
    DROPPED = "DROPPED"
    """The server dropped the group: it is superseded, completed or cancelled."""
    EXPIRED = "EXPIRED"
    """The server dropped the group after its expire time. The results count as a failed attempt."""


def _transitions() -> dict[tuple[EntryState, EntryEvent], EntryState]:
    """One row per state, one column per event in the order of EntryEvent; `-`: the event is an error."""
    table = """
        ACCEPTED    UNREPORTED  ACCEPTED    STOPPING  -         -        -        -
        UNREPORTED  UNREPORTED  UNREPORTED  STOPPING  REPORTED  STOPPED  CLOSING  CLOSING
        REPORTED    REPORTED    UNREPORTED  STOPPING  REPORTED  STOPPED  CLOSED   CLOSING
        STOPPING    STOPPING    STOPPING    STOPPING  STOPPED   STOPPED  CLOSING  CLOSING
        STOPPED     STOPPED     STOPPING    STOPPING  STOPPED   STOPPED  CLOSED   CLOSING
        CLOSING     CLOSING     CLOSING     CLOSING   CLOSED    CLOSED   CLOSING  CLOSING
        CLOSED      -           -           -         -         -        -        -
    """
    rows = (line.split() for line in table.strip().splitlines())
    return {
        (EntryState(state), event): EntryState(cell)
        for state, *cells in rows
        for event, cell in zip(EntryEvent, cells, strict=True)
        if cell != "-"
    }


TRANSITIONS: Final[Mapping[tuple[EntryState, EntryEvent], EntryState]] = _transitions()
"""The state after an event. A missing pair is an error."""
_UNREPORTED: Final = (EntryState.UNREPORTED, EntryState.STOPPING, EntryState.CLOSING)
_STOPPED: Final = (EntryState.STOPPING, EntryState.STOPPED, EntryState.CLOSING, EntryState.CLOSED)
_REPORTED: Final = (EntryState.REPORTED, EntryState.STOPPED)
_DROPPED: Final = (EntryState.CLOSING, EntryState.CLOSED)
_APPLICABLE: Final = ("evict", "bind", "notify", "withdraw_notice")
"""Kinds of decisions that are applied by calls."""


class InvalidTransition(Exception):
    """The event is an error in the state of the entry."""


@dataclass(slots=True)
class JournalEntry:
    """An accepted group. A decision without a known result is not in `results`.

    Several threads may add results; everything else is for one thread.
    """

    group: DecisionGroup
    results: dict[str, DecisionResult] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    """Number of retryable failures for which the cluster requested no pause, by decision."""
    stored_patches: list[PatchToStore] = field(default_factory=list)
    """Patches that the journal already contains."""
    state: EntryState = EntryState.ACCEPTED
    replaced: dict[str, str] = field(default_factory=dict)
    """Pods that no longer exist, and those that have their reservations since. Not stored: after a restart,
    the server finds them again.
    """
    _changing: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def id(self) -> str:
        """DecisionGroup.id."""
        return self.group.id

    @property
    def needs_all(self) -> bool:
        """Whether the group is all-or-nothing."""
        return self.group.atomicity != ATOMICITY_BEST_EFFORT

    @property
    def check_first(self) -> bool:
        """Whether a decision may have been sent before: its effect is looked up before it is sent."""
        return self.state is not EntryState.ACCEPTED

    @property
    def is_unreported(self) -> bool:
        """Whether the server lacks results."""
        return self.state in _UNREPORTED

    @property
    def is_stopped(self) -> bool:
        """Whether no further decision is applied."""
        return self.state in _STOPPED

    @property
    def is_closed(self) -> bool:
        """Whether the journal no longer needs it: also if it is reported, not in flight, and has no retry."""
        if self.state in _REPORTED:
            return self.row() is None and self.retry_seconds() is None
        return self.state is EntryState.CLOSED

    def handle(self, event: EntryEvent) -> None:
        """Change the state. Raises InvalidTransition."""
        with self._changing:
            self._handle(event)

    def _handle(self, event: EntryEvent) -> None:
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            raise InvalidTransition(f"group {self.id}: {event.name} in state {self.state.name}")
        self.state = following

    def add_result(self, report: DecisionResult) -> None:
        """Add the result of a decision; an applied decision stays applied."""
        with self._changing:
            known = self.results.get(report.decision_id)
            if known is not None and known.status == APPLY_STATUS_APPLIED:
                return
            self.results[report.decision_id] = report
            self._handle(EntryEvent.RESULT)
            if self.needs_all and is_final_failure(report):
                self._handle(EntryEvent.BLOCKED)

    def give_up_late_notices(self, now: Timestamp) -> None:
        """Fail the notices that were not given before the time of the eviction: no pod is evicted without."""
        if self.is_stopped:
            return
        for decision in self.unfinished_decisions():
            evict_time = decision.notify.evict_time
            if decision.HasField("notify") and evict_time.ToNanoseconds() <= now.ToNanoseconds():
                detail = "the notice could not be given before the time of the eviction"
                self.add_result(
                    DecisionResult(decision_id=decision.id, status=APPLY_STATUS_FAILED, detail=detail)
                )

    def is_applied(self, decision: Decision) -> bool:
        """Whether the decision is applied."""
        step = self.results.get(decision.id)
        return step is not None and step.status == APPLY_STATUS_APPLIED

    def remaining_decisions(self, now: Timestamp) -> Iterator[Decision]:
        """Decisions to apply now, in order; none after an eviction that the group waits for."""
        if self.is_stopped or self.is_expired(now):
            return
        for decision in self._applicable_decisions():
            step = self.results.get(decision.id)
            if step is None or (_is_retryable(step) and _is_due(step, now)):
                yield decision
            elif self._waits_for(decision):
                return

    def unfinished_decisions(self) -> list[Decision]:
        """Decisions without a final result."""
        steps = ((decision, self.results.get(decision.id)) for decision in self._applicable_decisions())
        return [decision for decision, step in steps if step is None or _is_retryable(step)]

    def failed_decisions(self) -> Iterator[str]:
        """Ids of the decisions that failed for good: only another decision can replace them."""
        return (name for name, step in self.results.items() if is_final_failure(step))

    def is_expired(self, now: Timestamp) -> bool:
        """Whether the group has expired."""
        return self.group.expire_time.ToNanoseconds() <= now.ToNanoseconds()

    def retry_seconds(self) -> float | None:
        """Time of the next retry, in seconds since 1970. None: none."""
        if self.is_stopped:
            return None
        first = next(filter(self._waits_for, self._applicable_decisions()), None)
        steps = self.results.values() if first is None else [self.results[first.id]]
        waiting = [step for step in steps if _is_retryable(step)]
        return min((step.retry_time.ToNanoseconds() / 1e9 for step in waiting), default=None)

    def row(self) -> InFlightGroup | None:
        """In-flight row for the next snapshot. None: nothing is in flight."""
        if self.state in _DROPPED:
            return None
        refused = {one.id for one in self.group.decisions if self._is_excluded(one)}
        row = in_flight_row(self.group, refused)
        for hold in row.reservations:
            while hold.pod in self.replaced:
                hold.pod = self.replaced[hold.pod]
        return None if is_empty(row) else row

    def report(self) -> GroupReport:
        """Report the known results."""
        return GroupReport(group=self.group, results=self.results.values())

    def _applicable_decisions(self) -> Iterator[Decision]:
        return (decision for decision in self.group.decisions if decision.WhichOneof("kind") in _APPLICABLE)

    def _waits_for(self, decision: Decision) -> bool:
        """Whether it is a retryable eviction that the other decisions depend on."""
        step = self.results.get(decision.id)
        return self.needs_all and decision.HasField("evict") and step is not None and _is_retryable(step)

    def _is_excluded(self, decision: Decision) -> bool:
        """Whether a decision is not in flight: failed, or not applied in a stopped group."""
        if self.is_stopped:
            return not self.is_applied(decision)
        step = self.results.get(decision.id)
        return step is not None and is_final_failure(step)


def _is_retryable(step: DecisionResult) -> bool:
    return step.status == APPLY_STATUS_FAILED and step.retryable


def _is_due(step: DecisionResult, now: Timestamp) -> bool:
    return step.retry_time.ToNanoseconds() <= now.ToNanoseconds()

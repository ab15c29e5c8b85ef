"""One pod group as programs show it: its row, its status, and what a response says about it.

Nothing is derived from fields or annotations here: `PodGroupStatus` has their meaning.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tenure.terms.preemptibility import SPELLINGS, PreemptibilitySource
from tenure.v1 import decision_pb2 as pb
from tenure.v1.pod_group_status_pb2 import PodGroupStatus
from tenure.v1.snapshot_pb2 import Certainty, HoldReason, Pod, PodGroup, PodStatus

ALLOCATED: Final = (
    PodStatus.POD_STATUS_BINDING,
    PodStatus.POD_STATUS_BOUND,
    PodStatus.POD_STATUS_RUNNING,
)
_LEAVING: Final = (PodStatus.POD_STATUS_RELEASING, PodStatus.POD_STATUS_STUCK_IN_RELEASING)
_WAITING: Final = (
    PodStatus.POD_STATUS_PENDING,
    PodStatus.POD_STATUS_GATED,
    PodStatus.POD_STATUS_PIPELINED,
)
SOON: Final = (pb.OUTCOME_KIND_WAITING_FOR_RELEASE, pb.OUTCOME_KIND_WAITING_FOR_VICTIMS)
"""Outcomes of pod groups that start when pods have terminated."""
_NEVER: Final = (pb.OUTCOME_KIND_INFEASIBLE, pb.OUTCOME_KIND_INVALID_POD_GROUP)
_HOLDS: Final = {
    HoldReason.HOLD_REASON_USER: "its owner",
    HoldReason.HOLD_REASON_ADMIN: "an operator",
    HoldReason.HOLD_REASON_DEPENDENCY: "another workload that it waits for",
    HoldReason.HOLD_REASON_EVICTION_LIMIT: "its eviction limit, until it is released",
    HoldReason.HOLD_REASON_EVICTED: "its eviction, until it is released",
    HoldReason.HOLD_REASON_TIME_LIMIT: "its time limit, until it is released",
    HoldReason.HOLD_REASON_NOT_BEFORE: "the time before which it may not start",
}
_LABELS: Final = {int(mode): label for mode, label in SPELLINGS.items()}
_SOURCES: Final = {int(source): source.name.lower() for source in PreemptibilitySource if source}
_CERTAINTIES: Final = {
    Certainty.CERTAINTY_BOUNDED: "by its time limit",
    Certainty.CERTAINTY_EXPECTED: "by its expected runtime",
    Certainty.CERTAINTY_ASSUMED: "assumed",
}


class State(StrEnum):
    """Where a pod group is in its life."""

    RUNNING = "running"
    STARTING = "starting"
    LEAVING = "leaving"
    SOON = "starts soon"
    WAITING = "waiting"
    HELD = "held"
    DELAYED = "delayed"
    """Nothing but the time before which it may not start holds it."""
    BLOCKED = "cannot start"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One pod group. Times are in nanoseconds since the Unix epoch."""

    group: PodGroup
    status: PodGroupStatus
    state: State
    running: int
    """Binding, bound and running pods."""
    waiting: int
    """Pending, gated and pipelined pods."""

    @property
    def name(self) -> str:
        """Its name, else its uid."""
        return self.group.name or self.group.uid

    @property
    def preemptibility(self) -> str:
        """Effective preemptibility as a value of the annotation; empty: it is not known."""
        return mode_label(self.status.preemptibility)

    @property
    def request_text(self) -> str:
        """What its owner wants beyond that, and why it does not count; empty: all counts."""
        status = self.status
        if not status.not_in_force:
            return ""
        return f"not in force: {status.not_in_force}"

    @property
    def preemptibility_source(self) -> str:
        """`field`, `annotation` or `priority`; empty: it is not known."""
        return _SOURCES.get(self.status.preemptibility_source, "")

    @property
    def minimum(self) -> int:
        """Pods that must run together."""
        return self.status.min_pods

    @property
    def hold_text(self) -> str:
        """What holds it; empty: nothing."""
        return _HOLDS.get(self.status.held_by, "another reason") if self.status.held_by else ""

    @property
    def expected_end(self) -> int | None:
        """When it is expected to end; None: it does not run, or nothing says."""
        status = self.status
        return status.expected_end.ToNanoseconds() if status.HasField("expected_end") else None

    @property
    def certainty_text(self) -> str:
        """How certain its expected end is; empty: it has none."""
        return _CERTAINTIES.get(self.status.expected_end_certainty, "")


def mode_label(mode: int) -> str:
    """A preemptibility in the spelling of the annotation; empty: unset or of a later version."""
    return _LABELS.get(mode, "")


def count_pods(pods: Sequence[Pod]) -> tuple[int, int]:
    """Numbers of pods that run, and of those that wait."""
    statuses = Counter(pod.status for pod in pods)
    return sum(statuses[each] for each in ALLOCATED), sum(statuses[each] for each in _WAITING)


def state_of(
    status: PodGroupStatus,
    pods: Sequence[Pod],
    outcome: pb.PodGroupOutcome | None,
    leaving: Collection[str] = (),
) -> State:
    """State of a pod group; `leaving` are uids of pods that the response evicts."""
    allocated = [pod for pod in pods if pod.status in ALLOCATED]
    if status.held_by and not allocated:
        return State.DELAYED if status.held_by == HoldReason.HOLD_REASON_NOT_BEFORE else State.HELD
    statuses = {pod.status for pod in pods}
    if allocated and all(pod.uid in leaving for pod in allocated):
        return State.LEAVING
    if PodStatus.POD_STATUS_RUNNING in statuses:
        return State.RUNNING
    if allocated:
        return State.STARTING
    if not statuses.isdisjoint(_LEAVING):
        return State.LEAVING
    if statuses.isdisjoint(_WAITING):
        return State.FINISHED
    kind = pb.OUTCOME_KIND_UNSPECIFIED if outcome is None else outcome.kind
    if kind == pb.OUTCOME_KIND_BOUND:
        return State.STARTING
    return State.SOON if kind in SOON else State.BLOCKED if kind in _NEVER else State.WAITING

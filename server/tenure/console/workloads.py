"""Rows of the page Workloads, one for each pod group."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from tenure.console.view import View
from tenure.render.protected import preemptor_text, relevant_protections
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import HoldReason, Pod, PodGroup, PodStatus
from tenure.wire.enum_labels import PREEMPTIBILITY

LEGACY_LIMIT: Final = 100
"""Priority from which a pod group without preemptibility is non-preemptible."""
_ALLOCATED: Final = (
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
_SOON: Final = (pb.OUTCOME_KIND_WAITING_FOR_RELEASE, pb.OUTCOME_KIND_WAITING_FOR_VICTIMS)
_NEVER: Final = (pb.OUTCOME_KIND_INFEASIBLE, pb.OUTCOME_KIND_INVALID_POD_GROUP)


_UNTIL_RELEASED: Final = (
    HoldReason.HOLD_REASON_EVICTION_LIMIT,
    HoldReason.HOLD_REASON_EVICTED,
    HoldReason.HOLD_REASON_TIME_LIMIT,
)
"""Holds that a release after the eviction ends."""


class State(StrEnum):
    """Where a pod group is in its life."""

    RUNNING = "running"
    STARTING = "starting"
    LEAVING = "leaving"
    SOON = "starts soon"
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "cannot start"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Protected:
    """One protection of a pod group."""

    guard: str
    until: int | None
    """In nanoseconds. None: while it runs."""
    is_minimum_only: bool
    against: str
    source: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Facts about one pod group. Times are in nanoseconds, GPUs in thousandths."""

    group: PodGroup
    name: str
    state: State
    preemptibility: str
    preemptibility_source: str
    """`field`, `annotation` or `priority`."""
    running: int
    waiting: int
    minimum: int
    gpus: int
    """Of its allocated pods; if there are none, of all."""
    since: int
    """Of its start if it runs, else of its last eviction or creation; 0: unknown."""
    protections: tuple[Protected, ...]
    """Against many before those against one preemptor, then by end."""
    expected_end: int | None
    expected_source: str
    cooldown_until: int | None
    """Until when it is not requeued again; None: no cooldown."""
    code: str
    """Reason code of a pending pod group, such as `OVER_LIMIT`."""
    reason: pb.Reason | None

    @property
    def protected_until(self) -> float:
        """End of the protection that ends first, for sorting; while it runs is infinite, none is 0."""
        if not self.protections:
            return 0.0
        until = self.protections[0].until
        return float("inf") if until is None else float(until)


def workloads(view: View) -> Sequence[Workload]:
    """All rows of a view, made once for it."""
    cached = view.caches.get("workloads")
    if cached is None:
        leaving = {decision.evict.pod for _, decision in view.names.decisions("evict")}
        cached = view.caches["workloads"] = [_row(view, group, leaving) for group in view.snapshot.pod_groups]
    return cached  # type: ignore[return-value]


def workload(view: View, uid: str) -> Workload | None:
    """The row of a pod group."""
    rows = view.caches.get("workloads by uid")
    if rows is None:
        rows = view.caches["workloads by uid"] = {row.group.uid: row for row in workloads(view)}
    return rows.get(uid)  # type: ignore[attr-defined,no-any-return]


def _row(view: View, group: PodGroup, leaving: set[str]) -> Workload:
    pods = view.pods_of.get(group.uid, ())
    statuses = Counter(pod.status for pod in pods)
    running = sum(statuses[status] for status in _ALLOCATED)
    waiting = sum(statuses[status] for status in _WAITING)
    allocated = [pod for pod in pods if pod.status in _ALLOCATED]
    outcome = view.outcomes.get(group.uid)
    expected_end, source = _expected(view, group)
    mode, mode_source = preemptibility(group)
    is_pending = outcome is not None and outcome.kind != pb.OUTCOME_KIND_BOUND
    return Workload(
        group=group,
        name=group.name or group.uid,
        state=State.HELD if is_held(group) and not running else _state(statuses, pods, outcome, leaving),
        preemptibility=mode,
        preemptibility_source=mode_source,
        running=running,
        waiting=waiting,
        minimum=minimum(group),
        gpus=sum(map(view.pod_gpus, allocated or pods)),
        since=_since(group, bool(running)),
        protections=_protections(view, group.uid) if running else (),
        expected_end=expected_end if running else None,
        expected_source=source,
        cooldown_until=_cooldown(view, group),
        code=pb.ReasonCode.Name(outcome.reason.code).removeprefix("REASON_CODE_")
        if outcome and is_pending and waiting
        else "",
        reason=outcome.reason if outcome and is_pending and waiting else None,
    )


def _state(
    statuses: Mapping[PodStatus, int],
    pods: Sequence[Pod],
    outcome: pb.PodGroupOutcome | None,
    leaving: set[str],
) -> State:
    allocated = [pod for pod in pods if pod.status in _ALLOCATED]
    if allocated and all(pod.uid in leaving for pod in allocated):
        return State.LEAVING
    if statuses[PodStatus.POD_STATUS_RUNNING]:
        return State.RUNNING
    if allocated:
        return State.STARTING
    if any(statuses[status] for status in _LEAVING):
        return State.LEAVING
    if not any(statuses[status] for status in _WAITING):
        return State.FINISHED
    kind = pb.OUTCOME_KIND_UNSPECIFIED if outcome is None else outcome.kind
    if kind == pb.OUTCOME_KIND_BOUND:
        return State.STARTING
    return State.SOON if kind in _SOON else State.BLOCKED if kind in _NEVER else State.WAITING


def is_held(group: PodGroup) -> bool:
    """Whether it waits without competing (semantics R16)."""
    ends = group.release_time.ToNanoseconds() > group.last_eviction_time.ToNanoseconds()
    return bool(group.held_by) and not (ends and group.held_by in _UNTIL_RELEASED)


def preemptibility(group: PodGroup) -> tuple[str, str]:
    """Preemptibility in the spelling of the annotation, and where it is from (semantics R3.1)."""
    if group.preemptibility:
        return PREEMPTIBILITY[group.preemptibility], "field"
    written = group.annotations.get("kai.scheduler/preemptibility")
    if written is not None:
        plain = written.strip().lower().replace("-", "")
        known = {text.lower().replace("-", ""): text for text in PREEMPTIBILITY.values()}
        return known.get(plain, "Non-Preemptible"), "annotation"
    return ("Non-Preemptible" if group.priority >= LEGACY_LIMIT else "Preemptible"), "priority"


def minimum(group: PodGroup) -> int:
    """Pods that must run together."""
    if not group.sub_groups:
        return group.min_member if group.HasField("min_member") else 1
    children: defaultdict[str, list[str]] = defaultdict(list)
    parts = {part.name.lower(): part for part in group.sub_groups}
    for name, part in parts.items():
        children[part.parent.lower()].append(name)

    def least(name: str, required: int | None, depth: int) -> int:
        below = sorted(
            least(child, _required(parts[child]), depth + 1) if depth < len(parts) else 0
            for child in children[name]
        )
        if not below:
            return parts[name].min_member if name in parts else 0
        return sum(below[:required])

    return least("", group.min_sub_group if group.HasField("min_sub_group") else None, 0)


def _required(part: Any) -> int | None:
    return part.min_sub_group if part.HasField("min_sub_group") else None


def _since(group: PodGroup, is_running: bool) -> int:
    times = (group.last_start_time,) if is_running else (group.last_eviction_time, group.creation_time)
    return max(each.ToNanoseconds() for each in times)


def _protections(view: View, uid: str) -> tuple[Protected, ...]:
    return tuple(
        Protected(
            guard=each.guard,
            until=each.until.ToNanoseconds() if each.HasField("until") else None,
            is_minimum_only=each.scope == pb.PROTECTION_SCOPE_CORE,
            against=preemptor_text(view.names, each),
            source=each.source,
        )
        for each in sorted(
            relevant_protections(view.protections.get(uid, ())), key=lambda each: bool(each.against_pod_group)
        )
    )


def _expected(view: View, group: PodGroup) -> tuple[int | None, str]:
    nomination = view.nominations.get(group.uid)
    if nomination is None:
        return None, ""
    if nomination.HasField("overrun"):
        end: int | None = view.response.header.now.ToNanoseconds() - nomination.overrun.ToNanoseconds()
    elif nomination.result == pb.NOMINATION_RESULT_NOT_DUE and nomination.reason.HasField("until"):
        end = nomination.reason.until.ToNanoseconds()
    else:
        return None, ""
    if group.HasField("expected_runtime"):
        return end, "its own"
    if "kai.scheduler/expected-runtime" in group.annotations:
        return end, "annotation"
    path = (name for name in view.path_of(group.queue) if view.queues[name].HasField("expected_runtime"))
    return end, f"queue {next(path, group.queue)}"


def _cooldown(view: View, group: PodGroup) -> int | None:
    until = group.requeue_not_before.ToNanoseconds()
    written = group.annotations.get("kai.scheduler/requeue-not-before", "")
    if not until and written:
        try:
            until = int(datetime.fromisoformat(written).timestamp()) * 10**9
        except ValueError:
            return None
    return until if until > view.now else None

"""Rows of the page Workloads, one for each pod group."""

from collections.abc import Sequence
from dataclasses import dataclass

from tenure.console.view import View
from tenure.render.protected import preemptor_text, relevant_protections
from tenure.render.workload import ALLOCATED, State, Workload, count_pods, state_of
from tenure.terms.custom_reason import qualified
from tenure.v1 import decision_pb2 as pb
from tenure.v1.pod_group_status_pb2 import PodGroupStatus
from tenure.v1.snapshot_pb2 import CERTAINTY_BOUNDED, PodGroup

__all__ = ["Protected", "State", "WorkloadRow", "workload", "workloads"]


@dataclass(frozen=True, slots=True)
class Protected:
    """One protection of a pod group."""

    guard: str
    until: int | None
    """In nanoseconds. None: while it runs."""
    is_minimum_only: bool
    against: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow(Workload):
    """One row. Times are in nanoseconds, GPUs in thousandths."""

    gpus: int
    """Of its allocated pods; if there are none, of all."""
    since: int
    """Of its start if it runs, else of its last eviction or creation; 0: unknown."""
    protections: tuple[Protected, ...]
    """Against many before those against one preemptor, then by end."""
    due: int | None
    """Its expected end; in the past if it runs longer than expected and can be requeued. None: unknown, or
    its pods are being evicted.
    """
    due_source: str
    """Where its expected runtime is set, or that its time limit ends it."""
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


def workloads(view: View) -> Sequence[WorkloadRow]:
    """All rows of a view, made once for it."""
    cached = view.caches.get("workloads")
    if cached is None:
        leaving = {decision.evict.pod for _, decision in view.names.decisions("evict")}
        cached = view.caches["workloads"] = [_row(view, group, leaving) for group in view.snapshot.pod_groups]
    return cached  # type: ignore[return-value]


def workload(view: View, uid: str) -> WorkloadRow | None:
    """The row of a pod group."""
    rows = view.caches.get("workloads by uid")
    if rows is None:
        rows = view.caches["workloads by uid"] = {row.group.uid: row for row in workloads(view)}
    return rows.get(uid)  # type: ignore[attr-defined,no-any-return]


def _row(view: View, group: PodGroup, leaving: set[str]) -> WorkloadRow:
    pods = view.pods_of.get(group.uid, ())
    status = view.statuses.get(group.uid, PodGroupStatus())
    running, waiting = count_pods(pods)
    allocated = [pod for pod in pods if pod.status in ALLOCATED]
    outcome = view.outcomes.get(group.uid)
    is_pending = outcome is not None and outcome.kind != pb.OUTCOME_KIND_BOUND
    is_bounded = status.expected_end_certainty == CERTAINTY_BOUNDED
    state = state_of(status, pods, outcome, leaving)
    return WorkloadRow(
        group=group,
        status=status,
        state=state,
        running=running,
        waiting=waiting,
        gpus=sum(map(view.pod_gpus, allocated or pods)),
        since=_since(group, bool(running)),
        protections=_protections(view, group.uid) if running else (),
        due=_due(view, status) if running and state is not State.LEAVING else None,
        due_source="time limit" if is_bounded else status.expected_runtime_source,
        cooldown_until=_cooldown(view, status),
        code=_code(outcome.reason) if outcome and is_pending and waiting else "",
        reason=outcome.reason if outcome and is_pending and waiting else None,
    )


def _code(reason: pb.Reason) -> str:
    """The code of a reason; that of a plugin or action of another package with its name."""
    if reason.custom.code:
        return qualified(reason.custom.domain, reason.custom.code)
    return pb.ReasonCode.Name(reason.code).removeprefix("REASON_CODE_")


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


def _due(view: View, status: PodGroupStatus) -> int | None:
    nomination = view.nominations.get(status.pod_group)
    if nomination is not None and nomination.HasField("overrun"):
        return view.response.header.now.ToNanoseconds() - nomination.overrun.ToNanoseconds()
    return status.expected_end.ToNanoseconds() if status.HasField("expected_end") else None


def _cooldown(view: View, status: PodGroupStatus) -> int | None:
    until = status.requeue_not_before.ToNanoseconds()
    return until if until > view.now else None

"""Rows of `tenure workloads`: the status of each pod group, and what the response says about it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tenure.render.notices import StandingNotice, standing_notices
from tenure.render.protected import relevant_protections
from tenure.render.response_view import ResponseView
from tenure.render.workload import Workload, count_pods, state_of
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import VictimRank
from tenure.v1.pod_group_status_pb2 import PodGroupStatus
from tenure.v1.snapshot_pb2 import Pod, PodGroup, PodStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow(Workload):
    """One row. Times and durations are in nanoseconds."""

    runs_for: int | None
    """Time since the last start. None: not running, or the start time is missing. Negative: clock skew."""
    protections: tuple[pb.Protection, ...]
    """Protections that no other one covers, by end."""
    nomination: pb.Nomination | None
    budgets: Mapping[str, int]
    """Disruption budgets of its running pods, with the pods that they still allow to disrupt."""
    rank: VictimRank | None
    """Its rank as a victim; None: not running, or not known."""
    notices: Mapping[StandingNotice, int]
    """Notices of eviction that stand, the earliest first, with their numbers of pods."""

    @property
    def expected_runtime(self) -> int | None:
        """Its expected runtime; None: not set, or invalid."""
        status = self.status
        return status.expected_runtime.ToNanoseconds() if status.HasField("expected_runtime") else None


def workload_rows(
    view: ResponseView, queue: str | None = None, ranks: Iterable[VictimRank] = ()
) -> list[WorkloadRow]:
    """All pod groups, or those of a queue and its descendants, by queue, falling priority and name.

    The response of the view includes statuses; `ranks` are those that are known.
    """
    return sorted(_rows(view, queue, ranks), key=_by_queue)


def queues_of(view: ResponseView, name: str) -> list[str]:
    """A queue and its ancestors."""
    path = [name]
    while (parent := view.queues[path[-1]].parent if path[-1] in view.queues else "") and parent not in path:
        path.append(parent)
    return path


def _rows(view: ResponseView, queue: str | None, ranks: Iterable[VictimRank]) -> Iterator[WorkloadRow]:
    rank_of = {rank.pod_group: rank for rank in ranks}
    outcomes = {outcome.pod_group: outcome for outcome in view.response.outcomes}
    nominations = {nomination.pod_group: nomination for nomination in view.response.nominations}
    protections: defaultdict[str, list[pb.Protection]] = defaultdict(list)
    for protection in view.response.protections:
        protections[protection.pod_group].append(protection)
    pods: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in view.pods.values():
        pods[pod.pod_group].append(pod)
    notices: defaultdict[str, dict[StandingNotice, int]] = defaultdict(dict)
    for notice, number in sorted(standing_notices(view).items(), key=lambda item: item[0].evict_time):
        notices[notice.victim][notice] = number
    left = {budget.name: budget.allowed for budget in view.snapshot.disruption_budgets}
    left.update((status.name, status.left) for status in view.response.disruption_budgets)
    leaving = {decision.evict.pod for _, decision in view.decisions("evict")}
    for group in view.snapshot.pod_groups:
        if queue is not None and queue not in queues_of(view, group.queue):
            continue
        status = view.statuses.get(group.uid, PodGroupStatus())
        running, waiting = count_pods(pods[group.uid])
        yield WorkloadRow(
            group=group,
            status=status,
            state=state_of(status, pods[group.uid], outcomes.get(group.uid), leaving),
            running=running,
            waiting=waiting,
            runs_for=_runs_for(view, group) if running else None,
            protections=tuple(relevant_protections(protections[group.uid])) if running else (),
            nomination=nominations.get(group.uid),
            budgets={name: left.get(name, 0) for name in _budgets(pods[group.uid])},
            rank=rank_of.get(group.uid),
            notices=notices[group.uid],
        )


def _runs_for(view: ResponseView, group: PodGroup) -> int | None:
    start = group.last_start_time.ToNanoseconds()
    return view.now - start if start else None


def _budgets(pods: Iterable[Pod]) -> list[str]:
    running = (pod for pod in pods if pod.status == PodStatus.POD_STATUS_RUNNING)
    return sorted({name for pod in running for name in pod.disruption_budgets})


def _by_queue(row: WorkloadRow) -> tuple[str, int, str, str]:
    return row.group.queue, -row.group.priority, row.name, row.group.uid

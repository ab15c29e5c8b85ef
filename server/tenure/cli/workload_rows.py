"""Rows of `tenure workloads`: facts about each pod group from its snapshot and the response."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tenure.render.notices import StandingNotice, standing_notices
from tenure.render.protected import relevant_protections
from tenure.render.response_view import ResponseView
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet
from tenure.solver.model.workload_parts import Preemptibility as Mode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import VictimRank
from tenure.v1.snapshot_pb2 import PodGroup as PodGroupMessage
from tenure.wire.enum_labels import PREEMPTIBILITY

EXPLICIT: Final = "explicit"
ANNOTATION: Final = "annotation"
LEGACY: Final = "legacy"

_WAITING: Final = (TaskStatus.PENDING, TaskStatus.GATED)


@dataclass(frozen=True, slots=True)
class Workload:
    """Facts about one pod group. Times and durations are in nanoseconds."""

    group: PodGroup
    preemptibility_source: str
    """Source of its preemptibility: `explicit` (a field), `annotation` or `legacy` (its priority)."""
    running: int
    """Binding, bound and running pods."""
    pending: int
    """Pending and gated pods."""
    minimum: int
    """Pods that must start together."""
    runs_for: int | None
    """Time since the last start. None: not running, or the start time is missing. Negative: clock skew."""
    protections: tuple[pb.Protection, ...]
    """Protections that no other one covers, by end."""
    expected: ParsedValue
    expected_source: str
    nomination: pb.Nomination | None
    budgets: Mapping[str, int]
    """Disruption budgets of its running pods, with the pods that they still allow to disrupt."""
    rank: VictimRank | None
    """Its rank as a victim; None: not running, or not known."""
    notices: Mapping[StandingNotice, int]
    """Notices of eviction that stand, the earliest first, with their numbers of pods."""

    @property
    def preemptibility(self) -> str:
        """Preemptibility as a value of the annotation."""
        if self.group.facts.preemptibility:
            return PREEMPTIBILITY[self.group.facts.preemptibility]
        return PREEMPTIBILITY[Mode.PREEMPTIBLE if self.group.is_preemptible else Mode.NON_PREEMPTIBLE]


def workloads(
    cluster: Cluster, view: ResponseView, queue: str | None = None, ranks: Iterable[VictimRank] = ()
) -> list[Workload]:
    """All pod groups, or those of a queue and its descendants, by queue, falling priority and name.

    The cluster is the decoded snapshot of the view; `ranks` are those that are known.
    """
    rank_of = {rank.pod_group: rank for rank in ranks}
    nominations = {nomination.pod_group: nomination for nomination in view.response.nominations}
    protections: defaultdict[str, list[pb.Protection]] = defaultdict(list)
    for protection in view.response.protections:
        protections[protection.pod_group].append(protection)
    left = {budget.name: budget.left for budget in cluster.disruption_budgets}
    notices: defaultdict[str, dict[StandingNotice, int]] = defaultdict(dict)
    for notice, pods in sorted(standing_notices(view).items(), key=lambda item: item[0].evict_time):
        notices[notice.victim][notice] = pods
    left.update((status.name, status.left) for status in view.response.disruption_budgets)
    found = [
        replace(
            _workload(
                cluster, view, group, protections[group.facts.uid], nominations.get(group.facts.uid), left
            ),
            rank=rank_of.get(group.facts.uid),
            notices=notices[group.facts.uid],
        )
        for group in cluster.pod_groups
        if queue is None or queue in queues_of(cluster, group)
    ]
    return sorted(found, key=_by_queue)


def queues_of(cluster: Cluster, group: PodGroup) -> tuple[str, ...]:
    """Queue of a pod group and its ancestors."""
    above = () if group.queue is None else cluster.queues[group.queue].path
    return (group.facts.queue_name, *(cluster.queues[index].name for index in above))


def _workload(
    cluster: Cluster,
    view: ResponseView,
    group: PodGroup,
    protections: list[pb.Protection],
    nomination: pb.Nomination | None,
    left: Mapping[str, int],
) -> Workload:
    statuses = Counter(cluster.tasks[task].placement.status for task in group.tasks)
    running = sum(number for status, number in statuses.items() if status.is_allocated)
    running_tasks = (t for t in group.tasks if cluster.tasks[t].placement.status is TaskStatus.RUNNING)
    budgets = {name for task in running_tasks for name in cluster.tasks[task].facts.disruption_budgets}
    expected, source = expected_runtime(group, cluster.queues)
    return Workload(
        group=group,
        preemptibility_source=_source(view, group),
        running=running,
        pending=sum(statuses[status] for status in _WAITING),
        minimum=_minimum(group.root),
        runs_for=cluster.now - group.facts.last_start if running and group.facts.last_start else None,
        protections=tuple(relevant_protections(protections)) if running else (),
        expected=expected,
        expected_source=source,
        nomination=nomination,
        rank=None,
        notices={},
        budgets={name: left.get(name, 0) for name in sorted(budgets)},
    )


def _source(view: ResponseView, group: PodGroup) -> str:
    if not group.facts.preemptibility:
        return LEGACY
    message = view.pod_groups.get(group.facts.uid)
    return EXPLICIT if isinstance(message, PodGroupMessage) and message.preemptibility else ANNOTATION


def _minimum(part: SubGroupSet | PodSet) -> int:
    """Number of pods with which a subgroup is complete (semantics R1.55)."""
    if isinstance(part, PodSet):
        return part.min_available
    return sum(sorted(map(_minimum, part.members))[: part.required])


def _by_queue(workload: Workload) -> tuple[str, int, str, str]:
    group = workload.group
    return group.facts.queue_name, -group.facts.priority, group.facts.name, group.facts.uid

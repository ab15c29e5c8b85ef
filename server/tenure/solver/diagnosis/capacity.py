"""Why a pod group gets no GPUs: who uses those of the nodes it may use, and who came before it."""

from collections import defaultdict
from enum import IntEnum
from typing import NamedTuple

from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.diagnosis.eviction_obstacle import EXPLAINED, EvictionObstacle, EvictionObstacles
from tenure.solver.diagnosis.free_gpus import FreeGpus, kept_by_planned_starts
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import Task
from tenure.solver.plugin_api.action import Relation
from tenure.solver.search.node_order import bits
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import REASONS, ReasonCode


class GpuUse(IntEnum):
    """What GPUs are used by, as seen from the pending pod group; in the order of the text. Numbers as on the
    wire.
    """

    OWN = 1
    """Its own pods."""
    TERMINATING = 2
    """Pods that leave, and whose capacity nothing else has been given."""
    SCHEDULED_NOW = 3
    """Pods that start, or move here, in this cycle."""
    RESERVED = 4
    """Pods that earlier cycles reserved capacity for, and planned starts."""
    NEVER_EVICTED = 5
    """Non-preemptible pod groups, and protections without an end."""
    PROTECTED = 6
    """Protections with an end."""
    NOT_LOWER = 7
    """Pod groups of its queue with no lower priority."""
    WITHIN_SHARE = 8
    """Other queues that do not exceed their share."""
    NOT_RECLAIMABLE = 9
    """Other queues, while its own may not reclaim."""
    EVICTABLE = 10
    """Could be evicted by themselves."""
    OTHER = 11
    """Everything else: pods that are no tasks, and parts of devices that nothing can use."""


class GpuAccount(NamedTuple):
    """GPUs of the nodes that the pods of a pending pod group may use, in thousandths.

    What is free and what is used are the total (semantics R13.51).
    """

    total: int
    free: int
    largest_free: int
    """On one node."""
    per_pod: int
    pods: int
    """Pods to place next."""
    fitting_pods: int
    """Pods for which a node has enough free GPUs."""
    used: dict[GpuUse, int]
    protected_until: int | None
    """The first end of those protections."""
    obstacle: EvictionObstacle
    """Why those that could be evicted are not."""


def account_gpus(replay: CycleReplay, pod_group: int) -> GpuAccount | None:
    """Account at the end of the cycle; None if its next pods do not request equal numbers of GPUs."""
    context, cluster = replay.end, replay.cluster
    ledger = context.session.ledger
    shapes = {cluster.tasks[task].shape.index: cluster.tasks[task].shape for task in _next(replay, pod_group)}
    if len(shapes) != 1:
        return None
    (shape,) = shapes.values()
    per_pod = ledger.request_share(shape)[GPU]
    if per_pod == 0:
        return None
    nodes = set(bits(context.components.allowed_nodes.of(shape)))
    uses = _Uses(replay, pod_group, nodes)
    free = [uses.free(node) for node in sorted(nodes)]
    total = sum([cluster.nodes[node].allocatable[GPU] for node in nodes])
    rest = total - sum(free) - sum(uses.amounts.values())
    uses.amounts[GpuUse.OTHER] += max(0, rest)
    evictions = EvictionObstacles(context, replay.result.queues, EXPLAINED)
    return GpuAccount(
        total=total,
        free=sum(free) + min(0, rest),
        largest_free=max(free, default=0),
        per_pod=per_pod,
        pods=len(_next(replay, pod_group)),
        fitting_pods=sum(each // per_pod for each in free),
        used={use: amount for use, amount in sorted(uses.amounts.items()) if amount},
        protected_until=uses.until,
        obstacle=evictions.find(pod_group, _next(replay, pod_group)).kind,
    )


class _Uses:
    """Who uses GPUs of some nodes."""

    def __init__(self, replay: CycleReplay, pod_group: int, nodes: set[int]) -> None:
        self._replay, self._own, self._nodes = replay, pod_group, nodes
        self._ledger = replay.end.session.ledger
        self._reasons = _rejections(replay, pod_group)
        self._free = FreeGpus(self._ledger)
        self.amounts: defaultdict[GpuUse, int] = defaultdict(int)
        self.until: int | None = None
        for task in replay.cluster.tasks:
            self._add(task)
        self._kept = kept_by_planned_starts(replay.end.session, pod_group)
        for node in nodes:
            self.amounts[GpuUse.TERMINATING] += self._free.leaving(node)
            self.amounts[GpuUse.RESERVED] += self._free.on(node) - self.free(node)

    def free(self, node: int) -> int:
        """What is idle on a node, given to no pod, and kept for no planned start of another pod group."""
        return self._free.on(node, self._kept)

    def _add(self, task: Task) -> None:
        placement = self._ledger.placements[task.index]
        if placement.node not in self._nodes or not placement.status.is_active_used:
            return
        if placement.status is not TaskStatus.RELEASING:
            self.amounts[self._use(task, placement)] += self._ledger.freed_gpu_milli(task.index)

    def _use(self, task: Task, placement: Placement) -> GpuUse:
        if task.pod_group == self._own:
            return GpuUse.OWN
        if placement != task.placement:
            return GpuUse.SCHEDULED_NOW
        if placement.status in (TaskStatus.PIPELINED, TaskStatus.BINDING):
            return GpuUse.RESERVED
        use = _use_by(self._reasons, task.pod_group)
        rejection = self._reasons.get(task.pod_group)
        if use is GpuUse.PROTECTED and rejection is not None and rejection.until is not None:
            self.until = rejection.until if self.until is None else min(self.until, rejection.until)
        return use


def earlier_in_order(replay: CycleReplay, pod_group: int) -> list[int]:
    """Pod groups that took the free capacity before it in this cycle; empty if it would not have fitted.

    It is placed on the state at the beginning of the cycle, after reservations were fulfilled.
    """
    commits = replay.end.session.commits
    start = next((n for n, commit in enumerate(commits) if not commit.in_flight), len(commits))
    others = [commit.beneficiary for commit in commits[start:] if not commit.action.is_guarded]
    if not others:
        return []
    context = replay.before(start)
    tasks = context.gangs.tasks_to_allocate(pod_group)
    with context.session.statement() as trial:
        if not tasks or context.placer.place(
            trial, pod_group, tasks, context.components.node_order.all_nodes
        ):
            return []
    return [index for index in dict.fromkeys(others) if index != pod_group]


def line(replay: CycleReplay, pod_group: int) -> tuple[int, int]:
    """Position among the pending pod groups of its queue, from 1, and their number."""
    queue = replay.cluster.pod_groups[pod_group].queue
    order = [] if queue is None else [index for _, index in replay.end.pod_groups.pending(queue)]
    return (order.index(pod_group) + 1, len(order)) if pod_group in order else (1, 1)


def _next(replay: CycleReplay, pod_group: int) -> list[int]:
    return replay.end.gangs.tasks_to_allocate(pod_group)


def _rejections(replay: CycleReplay, pod_group: int) -> dict[int, Rejection | None]:
    """Why each running pod group is not evicted, by preempt in its queue and by reclaim in others."""
    found: dict[int, Rejection | None] = {}
    for action in replay.searches():
        if action.victims_from not in (Relation.SAME_QUEUE, Relation.OTHER_QUEUES):
            continue
        query = VictimQuery(replay.end, action, pod_group)
        entry = query.entry()
        for victim, rejection in query.candidates():
            found[victim] = rejection or entry
    return found


def _use_by(reasons: dict[int, Rejection | None], pod_group: int) -> GpuUse:
    if pod_group not in reasons:
        return GpuUse.OTHER
    rejection = reasons[pod_group]
    if rejection is None:
        return GpuUse.EVICTABLE
    by_code = {
        ReasonCode.PRIORITY_NOT_LOWER: GpuUse.NOT_LOWER,
        ReasonCode.WITHIN_FAIR_SHARE: GpuUse.WITHIN_SHARE,
        ReasonCode.OVER_FAIR_SHARE: GpuUse.NOT_RECLAIMABLE,
    }
    if rejection.code in by_code:
        return by_code[rejection.code]
    if REASONS[rejection.code].reason_class is ReasonClass.PROTECTION:
        return GpuUse.NEVER_EVICTED if rejection.until is None else GpuUse.PROTECTED
    return GpuUse.OTHER

"""Usage and requests of queues at the start of a cycle, without shared device claims."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.node_sizes import NODE_SIZES, NodeSizes
from tenure.solver.resolution.slot_map import SlotChange


class ShareSum:
    """A sum of shares that changes in place; a tuple would be allocated for each change."""

    __slots__ = ("cpu", "gpu", "memory")

    def __init__(self, share: Share) -> None:
        self.cpu, self.memory, self.gpu = share

    def add(self, share: Share) -> None:
        """Add a share."""
        self.cpu += share[0]
        self.memory += share[1]
        self.gpu += share[2]

    def include(self, other: "ShareSum") -> None:
        """Add another sum."""
        self.cpu += other.cpu
        self.memory += other.memory
        self.gpu += other.gpu

    def subtract(self, share: Share) -> None:
        """Subtract a share."""
        self.cpu -= share[0]
        self.memory -= share[1]
        self.gpu -= share[2]

    def share(self) -> Share:
        """The sum as a tuple."""
        return (self.cpu, self.memory, self.gpu)


PREEMPTIBLE: Final = 0
"""Part of a pod group that is non-preemptible: nothing."""
FIRM: Final = 1
"""Everything."""
FIRM_CORE: Final = 2
"""Its core."""


class InitialUsage:
    """Sums by leaf queue, and the facts that they follow from."""

    def __init__(self, fair_share_actions: AbstractSet[str]) -> None:
        """`fair_share_actions`: names of the actions by which other queues reclaim resources."""
        self.fair_share_actions = fair_share_actions
        self.allocated: list[ShareSum] = []
        self.firm: list[ShareSum] = []
        """The non-preemptible part, without cores of semi-preemptible pod groups."""
        self.request: list[ShareSum] = []
        """Usage and pending requests (semantics R4.2)."""
        self.impossible: set[int] = set()
        """Pending tasks that no node could hold: they request nothing."""
        self.paths: list[tuple[int, ...]] = []
        """By pod group: its queue and the ancestors of the queue."""
        self.kinds: list[int] = []
        self.firm_cores: set[int] = set()
        self._tasks: PersistentVector[Task] = PersistentVector()

    @classmethod
    def of(
        cls, cluster: Cluster, ledger: LedgerView, sizes: NodeSizes, fair_share_actions: AbstractSet[str]
    ) -> "InitialUsage":
        """Usage of all tasks of a cluster."""
        made = cls(fair_share_actions)
        made.allocated = [ShareSum(NO_SHARE) for _ in cluster.queues]
        made.firm, made.request = _copies(made.allocated), _copies(made.allocated)
        upwards = [queue.path[::-1] for queue in cluster.queues]
        for group in cluster.pod_groups:
            kind, queue = _kind(group, fair_share_actions), group.queue
            made.paths.append(() if queue is None else upwards[queue])
            made.kinds.append(kind)
            if kind == FIRM_CORE:
                made.firm_cores.add(group.index)
        made._tasks = cluster.tasks
        made._count_all(cluster, ledger, sizes)
        for request, allocated in zip(made.request, made.allocated, strict=True):
            request.include(allocated)
        return made

    def copy(self) -> "InitialUsage":
        """Independent copy."""
        other = InitialUsage(self.fair_share_actions)
        other.allocated, other.firm = _copies(self.allocated), _copies(self.firm)
        other.request, other.firm_cores = _copies(self.request), self.firm_cores.copy()
        other.paths, other.kinds, other._tasks = self.paths.copy(), self.kinds.copy(), self._tasks
        other.impossible = self.impossible.copy()
        return other

    def follow(self, cluster: Cluster, ledger: LedgerView, sizes: NodeSizes, change: SlotChange) -> None:
        """Update for a cluster with changes; `ledger` is of either."""
        for index in change.tasks:
            if index < len(self._tasks):
                self._count(self._tasks[index], ledger, sizes, is_there=False)
        more = len(cluster.pod_groups) - len(self.kinds)
        self.paths.extend([()] * more)
        self.kinds.extend([PREEMPTIBLE] * more)
        for index in change.pod_groups:
            group = cluster.pod_groups[index]
            self.paths[index] = () if group.queue is None else cluster.queues[group.queue].path[::-1]
            kind = self.kinds[index] = _kind(group, self.fair_share_actions)
            (self.firm_cores.add if kind == FIRM_CORE else self.firm_cores.discard)(index)
        self._tasks = cluster.tasks
        for index in change.tasks:
            self._count(cluster.tasks[index], ledger, sizes, is_there=True)

    def _count_all(self, cluster: Cluster, ledger: LedgerView, sizes: NodeSizes) -> None:
        """Count all tasks; their usage is added to the requests in the end.

        A task uses what its shape requests, except where GPUs are sized by memory: there its node counts.
        """
        requests = [ShareSum(ledger.unplaced_share(shape)) for shape in cluster.shapes]
        by_memory = [shape.gpu.memory_mib > 0 for shape in cluster.shapes]
        possible = dict[int, bool]()
        for task in cluster.tasks:
            path, placement = self.paths[task.pod_group], task.placement
            if not path:
                continue
            queue = path[0]
            if placement.is_allocated:
                shape = task.shape.index
                share = ShareSum(ledger.share(task, placement.node)) if by_memory[shape] else requests[shape]
                self.allocated[queue].include(share)
                if self.kinds[task.pod_group] == FIRM:
                    self.firm[queue].include(share)
            elif placement.status is TaskStatus.PENDING and task.pod_set is not None:
                shape = task.shape.index
                if shape not in possible:
                    possible[shape] = sizes.could_hold(task.shape)
                if possible[shape]:
                    self.request[queue].include(requests[shape])
                else:
                    self.impossible.add(task.index)

    def _count(self, task: Task, ledger: LedgerView, sizes: NodeSizes, is_there: bool) -> None:
        """Add the usage or request of a task, or subtract it if the task is gone."""
        path, placement = self.paths[task.pod_group], task.placement
        if not path:
            return
        if placement.is_allocated:
            share, queue = ledger.share(task, task.placement.node), path[0]
            _change(self.allocated[queue], share, is_there)
            if self.kinds[task.pod_group] == FIRM:
                _change(self.firm[queue], share, is_there)
            _change(self.request[queue], share, is_there)
        elif placement.status is TaskStatus.PENDING and task.pod_set is not None:
            if sizes.could_hold(task.shape):
                _change(self.request[path[0]], ledger.unplaced_share(task.shape), is_there)
            elif is_there:
                self.impossible.add(task.index)
            else:
                self.impossible.discard(task.index)

    def requests_in_vain(self, cluster: Cluster, ledger: LedgerView) -> Iterator[tuple[int, Share]]:
        """Queue and request of pods that count in `request` but wait for an impossible one (semantics R4.2).

        Their pod group, or their subgroup, cannot have its minimum without it.
        """
        for pod_group in sorted({self._tasks[task].pod_group for task in self.impossible}):
            group, queue = cluster.pod_groups[pod_group], cluster.pod_groups[pod_group].queue
            usable = dict[int, int]()
            waiting = list[Task]()
            for pod_set in group.pod_sets:
                left = [cluster.tasks[task] for task in pod_set.tasks if task not in self.impossible]
                usable[pod_set.index] = sum(task.placement.status.is_alive for task in left)
                waiting.extend(task for task in left if task.placement.status is TaskStatus.PENDING)
            below = {pod_set.index for pod_set in group.root.below_minimum(usable)}
            in_vain = [task for task in waiting if task.pod_set in below]
            if queue is not None:
                yield from ((queue, ledger.unplaced_share(task.shape)) for task in in_vain)


def _copies(totals: Sequence[ShareSum]) -> list[ShareSum]:
    return [ShareSum(total.share()) for total in totals]


def _change(total: ShareSum, share: Share, is_there: bool) -> None:
    if is_there:
        total.add(share)
    else:
        total.subtract(share)


def _kind(group: PodGroup, fair_share_actions: AbstractSet[str]) -> int:
    if group.is_firm(fair_share_actions):
        return FIRM
    return FIRM_CORE if group.is_semi_preemptible else PREEMPTIBLE


def _build(context: PluginContext) -> InitialUsage:
    sizes = context.derived(NODE_SIZES)
    return InitialUsage.of(context.cluster, context.ledger, sizes, context.guarded_actions.fair_share_names)


def _follow(usage: InitialUsage, context: PluginContext, change: SlotChange) -> None:
    usage.follow(context.cluster, context.ledger, context.derived(NODE_SIZES), change)


INITIAL_USAGE: Final = Derived(_build, _follow, InitialUsage.copy)

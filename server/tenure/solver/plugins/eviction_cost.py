"""What an eviction costs, and the order of victims by it (semantics R14.10-R14.17).

    cost = lost work + restart + declared cost, in thousandths of a GPU-second

Lost is the work of all pods since the last checkpoint, if the minimum of a pod group is taken. Who says
nothing about checkpoints is believed to lose little, so that silence does not protect.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.fate import Fate
from tenure.solver.model.inherited_settings import fate_on_evict
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.verdict import NO_COST, EvictionCost
from tenure.solver.model.workload import Counts, PodGroup
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import EvictionCosts, PriorityBands, VictimOrder
from tenure.solver.plugin_api.profile import Parsers
from tenure.terms.durations import SECOND, parse_duration

NAME: Final = "evictioncost"
_DEFAULTS: Final[Mapping[str, str]] = {"maxLoss": "24h", "undeclaredLoss": "1h", "priorityBand": "1"}
_CLASS_SIZE: Final = 900
"""GPU-seconds of the first cost class; each later one is twice as wide."""
_MAX_CLASSES: Final = 128
"""More than there are classes."""
_CPUS_OF_A_GPU: Final = 16


def priority_band(text: str) -> int:
    """Width of a band of priorities. Raises ValueError."""
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:10]) <= 2**31 or len(text) > 10:
        raise ValueError(f"{text!r} is not a number of priorities from 1 to {2**31}")
    return int(text)


def cost_class(cost: int) -> int:
    """Class of a cost in thousandths of a GPU-second: 0 below 900 GPU-seconds, then one per doubling
    (semantics R14.15).
    """
    return (1 + cost // (1000 * _CLASS_SIZE)).bit_length() - 1


class EvictionCostPlugin(VictimOrder, EvictionCosts, PriorityBands):
    """Among victims of a queue with equal priority and surplus, those that cost less yield first.

    With a band of priorities, pod groups with priorities from the same multiple of its width to the next one
    are ordered by cost before priority.
    """

    ARGUMENTS: ClassVar[Parsers] = {
        "maxLoss": parse_duration,
        "undeclaredLoss": parse_duration,
        "priorityBand": priority_band,
    }
    DEFAULTS: ClassVar[Mapping[str, str]] = _DEFAULTS

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        values = {**_DEFAULTS, **arguments}
        self._now = context.now
        self._ledger = context.ledger
        self._groups, self._queues = context.cluster.pod_groups, context.cluster.queues
        self._tasks = context.cluster.tasks
        self._weights: dict[int, int] = {}
        """By shape, of shapes that weigh the same on every node."""
        self._max_loss = parse_duration(values["maxLoss"])
        self._undeclared_loss = parse_duration(values["undeclaredLoss"])
        self._band = priority_band(values["priorityBand"])

    def victim_keys(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, int]:
        """The cost class, behind priority and surplus; with a band of priorities before them."""
        found = cost_class(self._cost(pod_group, active, tasks)[0])
        if self._band == 1:
            return (0, found)
        return (self._groups[pod_group].facts.priority // self._band * _MAX_CLASSES + found, 0)

    def priority_band(self, priority: int) -> int:
        """By the width of a band."""
        return priority // self._band

    def eviction_cost(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> EvictionCost:
        """In all, and of lost work."""
        cost, lost = self._cost(pod_group, active, tasks)
        return EvictionCost(cost, lost) if cost else NO_COST

    def _cost(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, int]:
        """Taking surplus costs no work, unless the pod group says so (semantics R14.11)."""
        if not tasks:
            return 0, 0
        group = self._groups[pod_group]
        taken = self._weight(tasks[0]) if len(tasks) == 1 else sum([self._weight(task) for task in tasks])
        losing, restarting = taken, taken
        if not self._takes_core(group, active, tasks):
            losing = self._running_weight(group, tasks) if group.facts.victim.shrink_loses_work else 0
        elif group.facts.victim.restart_cost and fate_on_evict(group, self._queues) is Fate.DELETE:
            restarting = 0
        lost = losing * (self._loss(group) // SECOND) if losing else 0
        restart = restarting * (group.facts.victim.restart_cost // SECOND)
        return lost + restart + 1000 * group.facts.victim.eviction_cost, lost

    def _takes_core(self, group: PodGroup, active: Counts, tasks: Sequence[int]) -> bool:
        """Whether the pod group is left without its minimum, or without any pod."""
        only, root = group.pod_sets[0], group.root
        if root.members[0] is only and len(root.members) == 1 and root.min_sub_groups is None:
            rest = active[only.index] - len(tasks)
            return rest <= 0 or rest < only.min_available
        left = {pod_set.index: active[pod_set.index] for pod_set in group.pod_sets}
        for task in tasks:
            pod_set = self._tasks[task].pod_set
            if pod_set in left:
                left[pod_set] -= 1
        return not any(left.values()) or not group.root.is_met(left)

    def _running_weight(self, group: PodGroup, taken: Sequence[int]) -> int:
        """Of the pods that run before these are taken."""
        running = {task for task in group.tasks if self._ledger.placement(task).is_allocated}
        return sum([self._weight(task) for task in running.union(taken)])

    def _weight(self, task: int) -> int:
        """Thousandths of a device. CPUs count as a fraction of one for a pod without (semantics R14.10)."""
        facts = self._tasks[task]
        shape = facts.shape
        known = self._weights.get(shape.index)
        if known is not None:
            return known
        node = facts.placement.node
        cpu, _, gpu = (
            self._ledger.unplaced_share(shape) if node == NOWHERE else self._ledger.share(facts, node)
        )
        weight = (gpu + shape.shared_gpu_milli) or max(cpu // _CPUS_OF_A_GPU, 1)
        if not shape.gpu.memory_mib:
            self._weights[shape.index] = weight
        return weight

    def _loss(self, group: PodGroup) -> int:
        """Nanoseconds of work since the last checkpoint (semantics R14.11 to R14.13)."""
        facts, now = group.facts, self._now
        start, saved = facts.last_start, facts.victim.last_checkpoint
        if saved is not None and saved > now:
            return min(self._undeclared_loss, self._max_loss)
        if start is None or start > now:
            since = self._undeclared_loss if saved is None else now - saved
        elif saved is not None:
            since = now - max(start, saved)
        elif facts.victim.checkpoint_interval:
            since = (now - start) % facts.victim.checkpoint_interval
        else:
            since = min(now - start, self._undeclared_loss)
        return min(since, self._max_loss)

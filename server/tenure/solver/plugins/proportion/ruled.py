"""Proportion for clusters in which queues have more bounds than quota and limit (semantics R19)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import Placement
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import Share
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Traits
from tenure.solver.plugins.proportion.class_limits import ClassGate
from tenure.solver.plugins.proportion.initial_usage import INITIAL_USAGE
from tenure.solver.plugins.proportion.lending import LendingGate
from tenure.solver.plugins.proportion.plugin import Proportion
from tenure.solver.plugins.proportion.queue_rules import has_rules
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode


@final
class RunningGate:
    """Pod groups with running pods, by queue (semantics R19.10); follows every move.

    Terminating pods do not count.
    """

    def __init__(self, cluster: Cluster, paths: Sequence[Sequence[int]]) -> None:
        self._tasks, self._paths = cluster.tasks, paths
        self._names = [queue.facts.name for queue in cluster.queues]
        self._most = {q.index: q.facts.max_running for q in cluster.queues if q.facts.max_running is not None}
        self.is_idle = not self._most
        """Whether no queue has a maximum."""
        self._active: dict[int, int] = {}
        """Running pods by pod group."""
        self._running: dict[int, int] = dict.fromkeys(self._most, 0)
        for task in cluster.tasks if self._most else ():
            if task.placement.is_active_allocated:
                self._add(task.pod_group, 1)

    def on_move(self, index: int, before: Placement, after: Placement) -> None:
        """Count the pod group of the task while it has running pods."""
        change = after.is_active_allocated - before.is_active_allocated
        if change:
            self._add(self._tasks[index].pod_group, change)

    def find_rejection(self, pod_group: int) -> Rejection | None:
        """Rejection by the first queue, from the leaf up, in which it would be one too many."""
        if self._active.get(pod_group):
            return None
        for queue in self._paths[pod_group]:
            most = self._most.get(queue)
            if most is not None and self._running[queue] >= most:
                number = format_count(most, "running pod group")
                detail = f"queue {self._names[queue]} would exceed its limit of {number}"
                return Rejection(ReasonCode.OVER_LIMIT, detail, for_owner=True)
        return None

    def _add(self, pod_group: int, change: int) -> None:
        before = self._active.get(pod_group, 0)
        after = self._active[pod_group] = before + change
        if bool(before) != bool(after):
            for queue in self._paths[pod_group]:
                if queue in self._running:
                    self._running[queue] += 1 if after else -1


class RuledProportion(Proportion):
    """With lending limits and maximum numbers of running pod groups."""

    TRAITS: ClassVar = Traits(queue_keys_grow=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments)
        paths = context.derived(INITIAL_USAGE).paths
        self._rule_paths = paths
        self._lending = LendingGate(self._queues, self._usage, self._total)
        self._running = RunningGate(context.cluster, paths)
        self._classes = ClassGate(context, self._usage, paths)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Update everything that is counted."""
        super().on_move(task, before, after)
        if not self._lending.is_idle:
            moved = self._context.cluster.tasks[task]
            if moved.shape.shared_claims:  # claims are charged to the queues of their labels
                self._lending.follow_all()
            else:
                self._lending.follow(self._rule_paths[moved.pod_group])
        if not self._running.is_idle:
            self._running.on_move(task, before, after)
        if not self._classes.is_idle:
            self._classes.on_move(task, before, after)

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Limits and quotas first, then the other bounds."""
        rejection = super().has_capacity(pod_group, tasks, demand)
        if rejection is None and not self._running.is_idle:
            rejection = self._running.find_rejection(pod_group)
        if rejection is None and not self._classes.is_idle:
            rejection = self._classes.find_rejection(pod_group, tasks)
        if rejection is None and not self._lending.is_idle:
            rejection = self._lending.find_rejection(self._rule_paths[pod_group], demand)
        return rejection

    def queue_status(self) -> Iterator[QueueStatus]:
        """With what is kept of the quota of each queue, and its use of classes of nodes."""
        for status in super().queue_status():
            kept = None if self._lending.is_idle else self._lending.kept(status.queue)
            yield status._replace(kept=kept, by_class=self._classes.used(status.queue))


class ClassedProportion(RuledProportion, points.PlacementFilter):
    """With class limits as well."""

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check of the class of a node."""
        return self._classes.allows_placement(task)


def _kind(context: PluginContext) -> type[Proportion]:
    queues = context.cluster.queues
    if not has_rules(queues):
        return Proportion
    has_classes = any(queue.facts.class_limits for queue in queues)
    return ClassedProportion if has_classes else RuledProportion


_KIND: Final = Derived(_kind)


class ProportionFactory:
    """Fair share, quotas and limits of queues: order, gates, victims, and fairness of reclaim.

    Constructs the plugin with what the queues of the cluster need.
    """

    ARGUMENTS: ClassVar[Parsers] = Proportion.ARGUMENTS
    DEFAULTS: ClassVar[Mapping[str, str]] = Proportion.DEFAULTS

    def __call__(self, context: PluginContext, arguments: Mapping[str, str]) -> object:
        """The plugin of one session."""
        return context.derived(_KIND)(context, arguments)


PROPORTION: Final = ProportionFactory()

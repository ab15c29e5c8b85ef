"""Every extension point of the solver, in the order of a cycle. This module is the manual for plugin authors.

The framework constructs a plugin once per session as `Plugin(context, arguments)`, with a `PluginContext`. A
plugin implements the method of any of the protocols below; the framework finds the methods by name, so that a
plugin of another package subclasses nothing. Each protocol states when its method is called and how the
results of several plugins combine, in profile order.

A plugin reads no clock and keeps no state beyond the session. It rejects with a `Rejection`, never with an
exception; the framework adds the name of the plugin. Results that may be reused are declared in `traits`.

A pushed state can contain empty slots: pod groups without a uid, a queue or tasks, and tasks without a
placement (`resolution.slot_map`). A plugin that iterates over all of them must tolerate these.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from tenure.solver.model.carried import CarriedChange
from tenure.solver.model.fate import EvictionTally
from tenure.solver.model.node import Node
from tenure.solver.model.placement import Placement, Zones
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.verdict import EvictionCost, GuardVerdict, Protection
from tenure.solver.model.workload import Counts
from tenure.solver.model.workload_parts import TaskShape, TopologyConstraint
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.ledger_view import FreeDevice
from tenure.solver.plugin_api.scenario import Scenario, ScenarioBuilder


class Idle:
    """What a factory returns for a session in which the plugin has nothing to do."""


class TaskPreFilter(Protocol):
    """Tasks that cannot be placed, whatever is evicted. The first reason per task wins."""

    def blocked_tasks(self) -> Iterable[tuple[int, str]]:
        """Pending tasks with the reason. Called once, when the session opens."""


class Gate(Protocol):
    """Whether a pod group may take part in an action. The first rejection wins."""

    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """Called by evicting actions, once per pod group, with the tasks to place, before any search."""


class CapacityGate(Protocol):
    """Limits and quotas. The first rejection wins."""

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Called before tasks of a pod group are placed, also in simulations. `demand` sums the requests."""


class QueueOrder(Protocol):
    """Order of sibling queues, lexicographic over plugins."""

    def queue_key(self, queue: int, request: Share, popped: Share) -> Any:
        """A sortable key; smaller first.

        `request` is the request of the queue's next pod group. `popped` is what its next victim and the
        victims already taken hold, and zero unless victims are ordered. Called again when these change, or
        when a task below the queue moves. A larger request must not give a smaller key.
        """


class ReservedRequests(Protocol):
    """Free capacity that counts as requested by a queue in the order of queues. Summed over plugins."""

    def reserved_request(self, queue: int) -> Share:
        """Added to the request of the queue's next pod group, in every `QueueOrder`."""


class PodGroupOrder(Protocol):
    """Order of the pod groups of a queue, lexicographic over plugins; reversed for victims."""

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """An integer; smaller first. `active[pod_set]` counts the active allocated tasks of a pod set."""


class VictimOrder(Protocol):
    """Order of the victims of a queue, beside `PodGroupOrder`, which is reversed for them. No other order
    depends on it.
    """

    def victim_keys(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, int]:
        """Two integers; the pod group with the smaller one yields first. The first precedes the orders of pod
        groups, the second comes after them, before the age; 0 leaves it to the others.

        `active` is as for `PodGroupOrder`; `tasks` are those that the pod group would give next.
        """


class TaskOrder(Protocol):
    """Order of the tasks of a pod set, lexicographic over plugins."""

    def task_key(self, task: int) -> Any:
        """A sortable key; smaller first. Called once per task and session."""


class SubGroupOrder(Protocol):
    """Order of the members of a subgroup, lexicographic over plugins; reversed for evictions."""

    def sub_group_key(self, name: str, count: int, threshold: int) -> Any:
        """A sortable key; smaller first. `count` is the number of satisfied members, or of active tasks of a
        pod set; `threshold` is the number that is required.
        """


class NodeFilter(Protocol):
    """Whether tasks of a shape can run on a node, regardless of amounts. The first rejection wins."""

    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        """Called once per shape, node and session. Must depend on facts of the snapshot only."""


class PlacementFilter(Protocol):
    """Whether a task may join the tasks that are or will be on a node. Others win over `NOT_YET`."""

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check of single nodes for one attempt to place the task, or None if every node passes. Called
        with every attempt.
        """


class NumaZoneSelector(Protocol):
    """NUMA zones for a task on a node. Only the first plugin is called."""

    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        """Zones and amounts. Empty: the node does not align the task. None: the node would reject it.

        `soon` includes what terminating tasks release.
        """


class NodeSubsetProvider(Protocol):
    """Sets of nodes for a subgroup with a topology constraint. Only the first plugin is called."""

    def node_sets(self, constraint: TopologyConstraint, tasks: Sequence[int], nodes: int) -> Iterable[int]:
        """Bit sets of node indices, preferred sets first; each a subset of `nodes`."""


class NodeScore(Protocol):
    """Preferred nodes. Scores of plugins are added; nodes with equal sums are ordered by name."""

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """One score per node; higher is better."""


class NodePreference(Protocol):
    """Preferences of a task among nodes that take it. Scores of plugins are added.

    They precede the order by `NodeScore`, apart from a nominated node. They only choose: they count neither
    in simulations nor between a node where the task starts now and one where it waits, and tasks that cannot
    be placed together with them are placed without.
    """

    def preference(self, task: int) -> Callable[[Sequence[int]], Sequence[int]] | None:
        """Scores of nodes for one attempt to place the task, higher is better; None: it has no preference.
        The scores are asked for all nodes that take the task. `equal_scores`: at present all nodes are equal
        to it, so that nodes are looked at only until one takes the task.
        """


def equal_scores(nodes: Sequence[int]) -> Sequence[int]:
    """The scores of a task whose preferences make no difference at present."""
    return [0] * len(nodes)


class DeviceScore(Protocol):
    """Preferred device of a node for a share of a GPU, before `GpuScore`. Scores of plugins are added."""

    def device_score(self, task: int, node_index: int, device: FreeDevice) -> int:
        """Score of a device of the node that has enough left for the task; higher is better. Any integer:
        the sum precedes every `GpuScore`. Devices that nothing uses get one call, without a name.
        """


class GpuScore(Protocol):
    """Preferred device of a node for a share of a GPU. Scores of plugins are added."""

    def gpu_score(self, used: float) -> float:
        """Score of a device of which the part `used` (0 to 1) is in use; 0 is a free device."""


class SearchListener(Protocol):
    """Notification that a search for victims starts. All plugins are called."""

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Called once per pod group and action, with the tasks to place, before any victim is considered.
        Filters and validators refer to what queues use at this time.
        """


class PodDependency(Protocol):
    """Pods that others need where they are. What all plugins return is joined."""

    def needed(self, tasks: Sequence[int], others: Sequence[int], *, near: bool) -> Collection[int]:
        """Which of the others any of these tasks needs on its own node or domain. `near`: only those that a
        task must be near. Otherwise also those whose number elsewhere decides where a task may be.
        """


class PodBlocking(Protocol):
    """Pods that keep others away from more than their own node. What all plugins return is joined."""

    def blocking(self, tasks: Sequence[int], others: Sequence[int]) -> Collection[int]:
        """Which of the others do so for any of these tasks."""


class ReservedPods(Protocol):
    """Whether reserved pods can all start where they are. All plugins must agree."""

    def can_stay(self, tasks: Sequence[int], returned: Sequence[int]) -> bool:
        """Whether these tasks, which have reservations, can start beside all others, in some order.

        So must the victims `returned`, which were placed again; and they leave no pod that needs them.
        Without any, only the tasks themselves are judged.
        """


class VictimQueueFilter(Protocol):
    """Whether a leaf queue may contain victims of a pod group. The first rejection wins."""

    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        """Called once per leaf queue and search, before any of its pod groups is considered."""


class VictimFilter(Protocol):
    """Whether a pod group may be a victim of another one. The first rejection wins."""

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """Called on demand, at most once per pair and search."""


class Guard(Protocol):
    """Protection of a pod group from eviction. All guards are called; the strictest scope wins."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """The verdict, whether it protects or not; None: the guard does not apply to the action.

        May be called several times per pair, and less often with the trait `verdicts`. Must depend on facts
        of the snapshot only.
        """


class EvictionCosts(Protocol):
    """What evictions cost, for responses and to compare sets of victims. Only the first plugin is called."""

    def eviction_cost(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> EvictionCost:
        """Cost of evicting these tasks at once from a pod group that has these counts of active tasks."""


class PriorityBands(Protocol):
    """Priorities that count as equal where sets of victims are compared. Only the first plugin is called;
    without one, none do.
    """

    def priority_band(self, priority: int) -> int:
        """Number of the band of a priority; larger for higher ones."""


class QueueGuarantees(Protocol):
    """What queues are guaranteed, to compare sets of victims. Only the first plugin is called; without one,
    no queue has a guarantee.
    """

    def gpus_above_guarantees(self, queue: int, beneficiary: int) -> Sequence[tuple[int, int]]:
        """A leaf queue and those above it that are not above the beneficiary's, each with the GPUs, in
        thousandths, that it has above its guarantee; negative if it has less. As of the start of the search.
        """


class VictimRight(Protocol):
    """By what pod groups of a queue may be evicted, in place of the usual rule of the action. It is asked for
    explanations only; the first plugin that says something is used.
    """

    def victim_right(self, action: Action, preemptor: int, queue: int) -> tuple[str, str] | None:
        """A clause without names, and what operators read behind it; None: the usual rule. As of the start of
        the search; `queue` is the leaf queue of the victim.
        """


class EvictionCounter(Protocol):
    """Evictions of a pod group that count against its next one. Only the first plugin is called; without one,
    nothing is counted.
    """

    def evictions_without_progress(self, pod_group: int) -> int:
        """The number to store for a pod group that a commit evicts, this eviction included: 0 to 2**30. Must
        depend on facts of the snapshot only.
        """


class EvictionTallies(Protocol):
    """Counters of evictions by cause. Only the first plugin is called; without one, nothing is counted."""

    def eviction_tally(self, pod_group: int, causes: Sequence[str]) -> EvictionTally:
        """Counters of a pod group that is evicted in this cycle for these causes, in their order, and whether
        the last of these evictions is to hold it.
        """


class RequeueNominator(Protocol):
    """Running pod groups to requeue for pod groups of higher priority. Union over plugins."""

    def nominate(self, action: Action) -> Iterable[Nomination]:
        """Pod groups that are nominated, and pod groups that are not, with the reason; each at most once.
        Called once, by the action that requeues.
        """


class ScenarioGenerator(Protocol):
    """Sets of victims to simulate. Generators are tried one after the other."""

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """Scenarios in the order of their simulation; the first that is accepted is used."""


class ScenarioValidator(Protocol):
    """Whether a simulated scenario is acceptable. The first rejection wins."""

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Called after a simulation that placed the preemptor, while its moves are in place."""


class VictimLimit(Protocol):
    """Which victims may be disrupted together, for sets that are put together by need. The first rejection
    wins.
    """

    def limits_victims(self, action: Action) -> bool:
        """Whether the plugin limits victims of this action at all."""

    def allows_victims(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Called while the victims of a scenario are evicted and nothing is placed.

        Rejects what `allows_scenario` would reject for the victims alone. More victims of the same queues
        must not make it permitted.
        """


class MoveListener(Protocol):
    """Totals that follow every move of a task. All plugins are called."""

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Called by the ledger for every move and for every move that is undone."""


class ProtectionReporter(Protocol):
    """Protections of running pod groups, for the response. Union over plugins."""

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """Current protections of these running pod groups, in their order. Called once, at the end."""


class QueueReporter(Protocol):
    """Fair share and allocation of every queue, for the response. Only the first plugin is called."""

    def queue_status(self) -> Iterable[QueueStatus]:
        """One status for each queue, in their order. Called once, at the end."""


class CarriedReporter(Protocol):
    """Rows for the caller to store until the next cycle, such as past use of queues. Union over plugins."""

    def carried_changes(
        self, queues: Sequence[QueueStatus], has_pending: bool
    ) -> tuple[Sequence[CarriedChange], int | None]:
        """What changed, and when more changes by time alone, in nanoseconds; None: never. Called once, at the
        end, with the status of all queues, and whether any pod group is pending.
        """


class UsageFollower(Protocol):
    """Whether decisions depend on the past use of queues. One such plugin is enough."""

    def follows_past_use(self) -> bool:
        """Called once, at the end, for a warning."""


class WarningReporter(Protocol):
    """Warnings about dubious input that the plugin reads, for the response. Union over plugins."""

    def warnings(self, odd: Sequence[int]) -> Iterable[SnapshotWarning]:
        """Called once, at the end, with the pod groups whose own values may be invalid or not permitted."""

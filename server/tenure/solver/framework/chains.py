"""Chains: the plugins of a session by extension point, and how their results combine.

Only this module, `guards`, `preferred_order` and the search over scenario generators loop over plugins.
Plugins are matched by the names of their methods, because plugins of other packages subclass nothing. A
rejection receives the name of its plugin here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from tenure.solver.model.node import Node
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share
from tenure.solver.model.verdict import Protection
from tenure.solver.model.workload import Counts
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import Ranking, ReclaimCap, ScoreConcerns, Traits, Validity, traits_of

POINTS: Final[Mapping[str, str]] = {
    "task_pre_filters": "blocked_tasks",
    "gates": "admits",
    "capacity_gates": "has_capacity",
    "queue_orders": "queue_key",
    "pod_group_orders": "pod_group_key",
    "victim_orders": "victim_keys",
    "task_orders": "task_key",
    "sub_group_orders": "sub_group_key",
    "node_filters": "fits",
    "placement_filters": "allows_placement",
    "numa_zone_selectors": "zones",
    "node_subset_providers": "node_sets",
    "node_scores": "scores",
    "node_preferences": "preference",
    "gpu_scores": "gpu_score",
    "search_listeners": "on_search_start",
    "victim_queue_filters": "allows_victim_queue",
    "victim_filters": "allows_victim",
    "guards": "guard",
    "reclaim_caps": "reclaimable_gpu",
    "scenario_generators": "scenarios",
    "scenario_validators": "allows_scenario",
    "move_listeners": "on_move",
    "protection_reporters": "protections",
    "eviction_costs": "eviction_cost",
    "eviction_counters": "evictions_without_progress",
    "eviction_tallies": "eviction_tally",
    "requeue_nominators": "nominate",
    "queue_reporters": "queue_status",
}
"""Method of each extension point, by the chain that holds its plugins."""


@final
class Chains:
    """One tuple of plugins per extension point, in profile order; filled once per session."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all plugins."""
        self.task_pre_filters: tuple[points.TaskPreFilter, ...] = ()
        self.gates: tuple[points.Gate, ...] = ()
        self.capacity_gates: tuple[points.CapacityGate, ...] = ()
        self.queue_orders: tuple[points.QueueOrder, ...] = ()
        self.pod_group_orders: tuple[points.PodGroupOrder, ...] = ()
        self.victim_orders: tuple[points.VictimOrder, ...] = ()
        self.task_orders: tuple[points.TaskOrder, ...] = ()
        self.sub_group_orders: tuple[points.SubGroupOrder, ...] = ()
        self.node_filters: tuple[points.NodeFilter, ...] = ()
        self.placement_filters: tuple[points.PlacementFilter, ...] = ()
        self.numa_zone_selectors: tuple[points.NumaZoneSelector, ...] = ()
        self.node_subset_providers: tuple[points.NodeSubsetProvider, ...] = ()
        self.node_scores: tuple[points.NodeScore, ...] = ()
        self.node_preferences: tuple[points.NodePreference, ...] = ()
        self.gpu_scores: tuple[points.GpuScore, ...] = ()
        self.search_listeners: tuple[points.SearchListener, ...] = ()
        self.victim_queue_filters: tuple[points.VictimQueueFilter, ...] = ()
        self.victim_filters: tuple[points.VictimFilter, ...] = ()
        self.guards: tuple[points.Guard, ...] = ()
        self.reclaim_caps: tuple[ReclaimCap, ...] = ()
        self.scenario_generators: tuple[points.ScenarioGenerator, ...] = ()
        self.scenario_validators: tuple[points.ScenarioValidator, ...] = ()
        self.move_listeners: tuple[points.MoveListener, ...] = ()
        self.protection_reporters: tuple[points.ProtectionReporter, ...] = ()
        self.eviction_costs: tuple[points.EvictionCosts, ...] = ()
        self.eviction_counters: tuple[points.EvictionCounter, ...] = ()
        self.eviction_tallies: tuple[points.EvictionTallies, ...] = ()
        self.requeue_nominators: tuple[points.RequeueNominator, ...] = ()
        self.queue_reporters: tuple[points.QueueReporter, ...] = ()
        self.unranked_scores: tuple[ScoreConcerns, ...] | None = None
        """Node scores beside the four standard rankings; None: the node index cannot be used."""
        self.has_lasting_order = self.has_lasting_fits = False
        """Whether keys of all pod group orders, and results of all node filters, follow from facts."""
        self.gates_by_request = self.protections_only_end = False
        """Whether gates treat pod groups of equal requests alike; whether all protections only end."""
        self.starts_with_first_victim = False
        """Whether the first scenario of the first generator is the first victim."""
        self._names: dict[int, str] = {}
        """Names of plugins by the identity of the object."""

    def fill(self, plugins: Iterable[tuple[str, object]]) -> None:
        """Sort plugins, given with their names, into the chains of the methods that they implement."""
        found: dict[str, list[Any]] = {}
        traits: dict[int, Traits] = {}
        for name, plugin in plugins:
            self._names[id(plugin)] = name
            traits[id(plugin)] = traits_of(plugin)
            for chain in _chains_of(type(plugin)):
                found.setdefault(chain, []).append(plugin)
        for chain, members in found.items():
            setattr(self, chain, tuple(members))
        self._read(traits)

    def _read(self, traits: Mapping[int, Traits]) -> None:
        """Derive from the traits what the framework and the search may reuse."""
        self.unranked_scores = _unranked(self.node_scores, traits)
        orders, filters, gates = self.pod_group_orders, self.node_filters, (*self.gates, *self.capacity_gates)
        is_lasting = all(traits[id(each)].order_keys is Validity.FACTS for each in orders)
        self.has_lasting_order = is_lasting and not self.victim_orders
        self.has_lasting_fits = all(traits[id(each)].node_fits is Validity.FACTS for each in filters)
        self.gates_by_request = all(traits[id(each)].gates_by_request for each in gates)
        generators = self.scenario_generators
        self.protections_only_end = all(traits[id(r)].protections_only_end for r in self.protection_reporters)
        self.starts_with_first_victim = bool(generators) and (
            traits[id(generators[0])].first_scenario_is_first_victim
        )

    def name(self, plugin: object) -> str:
        """Name of a plugin in the profile."""
        return self._names[id(plugin)]

    def rename(self, plugin: object, name: str) -> None:
        """Name an object that stands in for a plugin."""
        self._names[id(plugin)] = name

    def blocked_tasks(self) -> Iterator[tuple[int, str, str]]:
        """Tasks that cannot be placed, with the reason and the plugin's name."""
        for plugin in self.task_pre_filters:
            for task, reason in plugin.blocked_tasks():
                yield task, reason, self.name(plugin)

    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """The first rejection of a gate."""
        for gate in self.gates:
            rejection = gate.admits(action, pod_group, tasks)
            if rejection is not None:
                return self._stamped(rejection, gate)
        return None

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """The first rejection of a capacity gate."""
        for gate in self.capacity_gates:
            rejection = gate.has_capacity(pod_group, tasks, demand)
            if rejection is not None:
                return self._stamped(rejection, gate)
        return None

    def queue_key(self, queue: int, request: Share, popped: Share) -> Any:
        """Key of a queue among its siblings; smaller first."""
        orders = self.queue_orders
        if len(orders) == 1:
            return orders[0].queue_key(queue, request, popped)
        return tuple([order.queue_key(queue, request, popped) for order in orders])

    def pod_group_key(self, pod_group: int, active: Counts, rank: int) -> tuple[int, ...]:
        """Key of a pod group in its queue; smaller first, then by rank. Two orders need no list."""
        if len(each := self.pod_group_orders) == 2:
            return each[0].pod_group_key(pod_group, active), each[1].pod_group_key(pod_group, active), rank
        return (*[order.pod_group_key(pod_group, active) for order in each], rank)

    def task_key(self, task: int) -> list[Any]:
        """Key of a task in its pod set; smaller first."""
        return [order.task_key(task) for order in self.task_orders]

    def sub_group_key(self, name: str, count: int, threshold: int) -> list[Any]:
        """Key of a member of a subgroup; smaller first."""
        return [order.sub_group_key(name, count, threshold) for order in self.sub_group_orders]

    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        """The first rejection of a node filter."""
        for node_filter in self.node_filters:
            rejection = node_filter.fits(shape, node)
            if rejection is not None:
                return self._stamped(rejection, node_filter)
        return None

    def placement_checks(self, task: int) -> list[Callable[[int], Rejection | None]]:
        """Checks of single nodes for one attempt to place the task."""
        checks: list[Callable[[int], Rejection | None]] = []
        for placement_filter in self.placement_filters:
            check = placement_filter.allows_placement(task)
            if check is not None:
                checks.append(check)
        return checks

    def scores(self, task: int, nodes: Sequence[int]) -> list[float]:
        """Sums of the node scores."""
        totals = [0.0] * len(nodes)
        for score in self.node_scores:
            totals = [a + b for a, b in zip(totals, score.scores(task, nodes), strict=True)]
        return totals

    def gpu_score(self, used: float) -> float:
        """Sum of the device scores."""
        total = 0.0
        for score in self.gpu_scores:
            total += score.gpu_score(used)
        return total

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Notify all search listeners."""
        for listener in self.search_listeners:
            listener.on_search_start(pod_group, tasks)

    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        """The first rejection of a victim queue filter."""
        for queue_filter in self.victim_queue_filters:
            rejection = queue_filter.allows_victim_queue(action, preemptor, queue)
            if rejection is not None:
                return self._stamped(rejection, queue_filter)
        return None

    def rejects_victim_queue(self, action: Action, preemptor: int, queue: int) -> bool:
        """Whether a victim queue filter rejects it: what searches ask, for which no reason is made."""
        return any(each.allows_victim_queue(action, preemptor, queue) for each in self.victim_queue_filters)

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """The first rejection of a victim filter."""
        for victim_filter in self.victim_filters:
            rejection = victim_filter.allows_victim(action, preemptor, victim)
            if rejection is not None:
                return self._stamped(rejection, victim_filter)
        return None

    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        """The bound of the last reclaim cap that has one."""
        bound = None
        for cap in self.reclaim_caps:
            bound = cap.reclaimable_gpu(action, preemptor, queue) or bound
        return bound

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """The first rejection of a scenario validator."""
        for validator in self.scenario_validators:
            rejection = validator.allows_scenario(action, scenario)
            if rejection is not None:
                return self._stamped(rejection, validator)
        return None

    def protections(self, pod_groups: Sequence[int]) -> list[Protection]:
        """Protections of running pod groups, from all reporters."""
        return [each for reporter in self.protection_reporters for each in reporter.protections(pod_groups)]

    def nominations(self, action: Action) -> list[Nomination]:
        """One nomination per pod group, with all nominators that agree (semantics R12.6, R12.64, R12.65)."""
        found: dict[int, Nomination] = {}
        for nominator in self.requeue_nominators:
            name = self.name(nominator)
            for nomination in nominator.nominate(action):
                nomination.nominated_by = (name,)
                earlier = found.get(nomination.pod_group)
                if earlier is None or nomination.is_candidate > earlier.is_candidate:
                    found[nomination.pod_group] = nomination
                elif nomination.is_candidate == earlier.is_candidate:
                    earlier.nominated_by += (name,)
                    earlier.overrun = max(earlier.overrun, nomination.overrun)
        return list(found.values())

    def queue_status(self) -> tuple[QueueStatus, ...]:
        """Status of every queue, from the first reporter."""
        return tuple(self.queue_reporters[0].queue_status()) if self.queue_reporters else ()

    def _stamped(self, rejection: Rejection, plugin: object) -> Rejection:
        return Rejection(rejection.code, rejection.detail, rejection.until, self._names[id(plugin)])


_RANKINGS: Final = tuple(Ranking)
_CHAINS: Final[dict[type, tuple[str, ...]]] = {}


def _chains_of(kind: type) -> tuple[str, ...]:
    """Chains of the methods of a class. Looked up once per class, because it is slow."""
    if kind not in _CHAINS:
        _CHAINS[kind] = tuple([chain for chain, name in POINTS.items() if hasattr(kind, name)])
    return _CHAINS[kind]


def _unranked(scores: Sequence[Any], traits: Mapping[int, Traits]) -> tuple[ScoreConcerns, ...] | None:
    """Scores beside the standard rankings, if each ranking occurs once and all others have `concerns`."""
    rankings = [traits[id(score)].ranks_by for score in scores]
    if any(rankings.count(ranking) != 1 for ranking in _RANKINGS):
        return None
    others = [score for score, ranking in zip(scores, rankings, strict=True) if ranking is None]
    return tuple(others) if all(hasattr(score, "concerns") for score in others) else None

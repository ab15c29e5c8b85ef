"""Chains: the plugins of a session by extension point, and how their results combine.

Only this module, `guards`, `preferred_order` and the search over scenario generators loop over plugins.
Plugins are matched by the names of their methods, because plugins of other packages subclass nothing. A
rejection receives the name of its plugin here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from tenure.solver.model.carried import CarriedChange
from tenure.solver.model.node import Node
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination, Nominations, NominationSkip
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.verdict import Protection
from tenure.solver.model.workload import Counts, add_shares
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.ledger_view import FreeDevice
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import (
    Ranking,
    ReclaimCap,
    ScoreConcerns,
    StateRank,
    Traits,
    Validity,
    traits_of,
)

POINTS: Final[Mapping[str, str]] = {
    "task_pre_filters": "blocked_tasks",
    "gates": "admits",
    "capacity_gates": "has_capacity",
    "queue_orders": "queue_key",
    "reserved_requests": "reserved_request",
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
    "device_scores": "device_score",
    "gpu_scores": "gpu_score",
    "search_listeners": "on_search_start",
    "pod_dependencies": "needed",
    "pod_blockings": "blocking",
    "reserved_pods": "can_stay",
    "victim_queue_filters": "allows_victim_queue",
    "victim_filters": "allows_victim",
    "guards": "guard",
    "reclaim_caps": "reclaimable_gpu",
    "scenario_generators": "scenarios",
    "scenario_validators": "allows_scenario",
    "victim_limits": "allows_victims",
    "move_listeners": "on_move",
    "protection_reporters": "protections",
    "eviction_costs": "eviction_cost",
    "priority_bands": "priority_band",
    "queue_guarantees": "gpus_above_guarantees",
    "victim_rights": "victim_right",
    "eviction_counters": "evictions_without_progress",
    "eviction_tallies": "eviction_tally",
    "requeue_nominators": "nominate",
    "queue_reporters": "queue_status",
    "carried_reporters": "carried_changes",
    "usage_followers": "follows_past_use",
    "warning_reporters": "warnings",
}
"""Method of each extension point, by the chain that holds its plugins."""


class PluginError(Exception):
    """A plugin returned what its extension point does not permit."""

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(problem)
        self.plugin: Final = plugin
        """Its name in the profile."""


Wrapper = Callable[[str, str, Any], object]
"""From a chain, a name and a plugin to what is called in its place."""


@final
class Chains:
    """One tuple of plugins per extension point, in profile order. Immutable, as are the plugins in them."""

    def __init__(self, plugins: Iterable[tuple[str, object]] = (), wrap: Wrapper | None = None) -> None:
        """Sort plugins, given with their names, into the chains of the methods that they implement.

        With `wrap`, what it returns is called in place of a plugin; traits are those of the plugin.
        """
        self.plugins: Final = tuple(plugins)
        """All plugins with their names."""
        self._by_name: Final = dict(reversed(self.plugins))
        self._wrapper: Final = wrap
        self._names: Final[dict[int, str]] = {}
        """Names of plugins by the identity of the object."""
        self._wrapped: Final[dict[int, object]] = {}
        """Plugins by the identity of what is called in their place."""
        found: dict[str, list[Any]] = {chain: [] for chain in POINTS}
        for name, plugin in self.plugins:
            self._names[id(plugin)] = name
            for chain in _chains_of(type(plugin)):
                found[chain].append(plugin if wrap is None else self._wrap(wrap, chain, name, plugin))
        self.task_pre_filters: Final[tuple[points.TaskPreFilter, ...]] = tuple(found["task_pre_filters"])
        self.gates: Final[tuple[points.Gate, ...]] = tuple(found["gates"])
        self.capacity_gates: Final[tuple[points.CapacityGate, ...]] = tuple(found["capacity_gates"])
        self.queue_orders: Final[tuple[points.QueueOrder, ...]] = tuple(found["queue_orders"])
        self.reserved_requests: Final[tuple[points.ReservedRequests, ...]] = tuple(found["reserved_requests"])
        self.pod_group_orders: Final[tuple[points.PodGroupOrder, ...]] = tuple(found["pod_group_orders"])
        self.victim_orders: Final[tuple[points.VictimOrder, ...]] = tuple(found["victim_orders"])
        self.task_orders: Final[tuple[points.TaskOrder, ...]] = tuple(found["task_orders"])
        self.sub_group_orders: Final[tuple[points.SubGroupOrder, ...]] = tuple(found["sub_group_orders"])
        self.node_filters: Final[tuple[points.NodeFilter, ...]] = tuple(found["node_filters"])
        self.placement_filters: Final[tuple[points.PlacementFilter, ...]] = tuple(found["placement_filters"])
        self.numa_zone_selectors: Final[tuple[points.NumaZoneSelector, ...]] = tuple(
            found["numa_zone_selectors"]
        )
        self.node_subset_providers: Final[tuple[points.NodeSubsetProvider, ...]] = tuple(
            found["node_subset_providers"]
        )
        self.node_scores: Final[tuple[points.NodeScore, ...]] = tuple(found["node_scores"])
        self.node_preferences: Final[tuple[points.NodePreference, ...]] = tuple(found["node_preferences"])
        self.device_scores: Final[tuple[points.DeviceScore, ...]] = tuple(found["device_scores"])
        self.gpu_scores: Final[tuple[points.GpuScore, ...]] = tuple(found["gpu_scores"])
        self.search_listeners: Final[tuple[points.SearchListener, ...]] = tuple(found["search_listeners"])
        self.pod_dependencies: Final[tuple[points.PodDependency, ...]] = tuple(found["pod_dependencies"])
        self.pod_blockings: Final[tuple[points.PodBlocking, ...]] = tuple(found["pod_blockings"])
        self.reserved_pods: Final[tuple[points.ReservedPods, ...]] = tuple(found["reserved_pods"])
        self.victim_queue_filters: Final[tuple[points.VictimQueueFilter, ...]] = tuple(
            found["victim_queue_filters"]
        )
        self.victim_filters: Final[tuple[points.VictimFilter, ...]] = tuple(found["victim_filters"])
        self.guards: Final[tuple[points.Guard, ...]] = tuple(found["guards"])
        self.reclaim_caps: Final[tuple[ReclaimCap, ...]] = tuple(found["reclaim_caps"])
        self.scenario_generators: Final[tuple[points.ScenarioGenerator, ...]] = tuple(
            found["scenario_generators"]
        )
        self.scenario_validators: Final[tuple[points.ScenarioValidator, ...]] = tuple(
            found["scenario_validators"]
        )
        self.victim_limits: Final[tuple[points.VictimLimit, ...]] = tuple(found["victim_limits"])
        self.move_listeners: Final[tuple[points.MoveListener, ...]] = tuple(found["move_listeners"])
        self.protection_reporters: Final[tuple[points.ProtectionReporter, ...]] = tuple(
            found["protection_reporters"]
        )
        self.eviction_costs: Final[tuple[points.EvictionCosts, ...]] = tuple(found["eviction_costs"])
        self.priority_bands: Final[tuple[points.PriorityBands, ...]] = tuple(found["priority_bands"])
        self.queue_guarantees: Final[tuple[points.QueueGuarantees, ...]] = tuple(found["queue_guarantees"])
        self.victim_rights: Final[tuple[points.VictimRight, ...]] = tuple(found["victim_rights"])
        self.eviction_counters: Final[tuple[points.EvictionCounter, ...]] = tuple(found["eviction_counters"])
        self.eviction_tallies: Final[tuple[points.EvictionTallies, ...]] = tuple(found["eviction_tallies"])
        self.requeue_nominators: Final[tuple[points.RequeueNominator, ...]] = tuple(
            found["requeue_nominators"]
        )
        self.queue_reporters: Final[tuple[points.QueueReporter, ...]] = tuple(found["queue_reporters"])
        self.carried_reporters: Final[tuple[points.CarriedReporter, ...]] = tuple(found["carried_reporters"])
        self.usage_followers: Final[tuple[points.UsageFollower, ...]] = tuple(found["usage_followers"])
        self.warning_reporters: Final[tuple[points.WarningReporter, ...]] = tuple(found["warning_reporters"])
        traits = {id(plugin): traits_of(plugin) for _, plugin in self.plugins}
        for replacement, plugin in self._wrapped.items():
            traits[replacement] = traits[id(plugin)]
        orders, filters, gates = self.pod_group_orders, self.node_filters, (*self.gates, *self.capacity_gates)
        self.unranked_scores: Final = _unranked(self.node_scores, traits)
        """Node scores beside the standard rankings; None: the node index cannot be used."""
        self.state_rank: Final = _state_rank(self.node_scores, traits)
        """The node score by the states of nodes."""
        is_lasting = all(traits[id(each)].order_keys is Validity.FACTS for each in orders)
        self.has_lasting_order: Final = is_lasting and not self.victim_orders
        """Whether keys of all pod group orders follow from facts."""
        self.has_lasting_fits: Final = all(traits[id(each)].node_fits is Validity.FACTS for each in filters)
        """Whether results of all node filters follow from facts."""
        self.gates_by_request: Final = all(traits[id(each)].gates_by_request for each in gates)
        """Whether gates treat pod groups of equal requests alike."""
        self.takes_victims_in_order: Final = any(
            traits[id(each)].victims_in_order for each in self.victim_orders
        )
        """Whether an order of victims decides, so that no other sets of them are looked for by need."""
        reporters, generators = self.protection_reporters, self.scenario_generators
        self.protections_only_end: Final = all(traits[id(each)].protections_only_end for each in reporters)
        """Whether all protections only end."""
        self.starts_with_first_victim: Final = bool(generators) and (
            traits[id(generators[0])].first_scenario_is_first_victim
        )
        """Whether the first scenario of the first generator is the first victim."""

    def replacing(self, name: str, plugin: object | None) -> "Chains":
        """Chains without the plugin of this name, and with the given one, if any, as the last."""
        others = [each for each in self.plugins if each[0] != name]
        return Chains(others if plugin is None else [*others, (name, plugin)], self._wrapper)

    def plugin(self, name: str) -> object | None:
        """The plugin with a name in the profile; None: the profile does not name it."""
        return self._by_name.get(name)

    def unwrapped(self, plugin: object) -> object:
        """The plugin behind what is called in its place."""
        return self._wrapped.get(id(plugin), plugin)

    def name(self, plugin: object) -> str:
        """Name of a plugin in the profile."""
        return self._names[id(plugin)]

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
        """Key of a queue among its siblings; smaller first.

        Queues of victims, which have no request, are compared by what runs.
        """
        orders = self.queue_orders
        if self.reserved_requests and request != NO_SHARE:
            for plugin in self.reserved_requests:
                request = add_shares(request, plugin.reserved_request(queue))
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
            found = score.scores(task, nodes)
            if len(found) != len(nodes):
                problem = f"scores returned {len(found)} values for {len(nodes)} nodes"
                raise PluginError(self.name(score), problem)
            totals = [a + b for a, b in zip(totals, found, strict=True)]
        return totals

    def unindexed_scores(self) -> tuple[str, ...]:
        """Names of the node scores for which the node index cannot be used: those that are no standard
        ranking and have no `concerns`.
        """
        return tuple(
            [
                self.name(score)
                for score in self.node_scores
                if traits_of(self.unwrapped(score)).ranks_by is None and not hasattr(score, "concerns")
            ]
        )

    def device_score(self, task: int, node: int, device: FreeDevice) -> int:
        """Sum of the scores of a device for a share of it."""
        total = 0
        for score in self.device_scores:
            total += score.device_score(task, node, device)
        return total

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

    def needed(self, tasks: Sequence[int], others: Sequence[int], *, near: bool) -> frozenset[int]:
        """Which of the others any of these tasks needs where they are."""
        found = [each.needed(tasks, others, near=near) for each in self.pod_dependencies]
        return frozenset().union(*found)

    def blocking(self, tasks: Sequence[int], others: Sequence[int]) -> frozenset[int]:
        """Which of the others keep any of these tasks away from more than their own node."""
        return frozenset().union(*[each.blocking(tasks, others) for each in self.pod_blockings])

    def can_stay(self, tasks: Sequence[int], returned: Sequence[int]) -> bool:
        """Whether these tasks, which have reservations, can all start where they are beside all others."""
        return all(each.can_stay(tasks, returned) for each in self.reserved_pods)

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

    def priority_band(self, priority: int) -> int:
        """Number of the band of a priority; without a plugin, the priority."""
        return self.priority_bands[0].priority_band(priority) if self.priority_bands else priority

    def gpus_above_guarantees(self, queue: int, beneficiary: int) -> Sequence[tuple[int, int]]:
        """Queues with the GPUs above their guarantees, in thousandths, by the first plugin."""
        for guarantees in self.queue_guarantees:
            return guarantees.gpus_above_guarantees(queue, beneficiary)
        return ()

    def victim_right(self, action: Action, preemptor: int, queue: int) -> tuple[str, str] | None:
        """By what pod groups of a queue may be evicted, by the first plugin; None: the usual rule."""
        rights = [each.victim_right(action, preemptor, queue) for each in self.victim_rights]
        return next(filter(None, rights), None)

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """The first rejection of a scenario validator."""
        for validator in self.scenario_validators:
            rejection = validator.allows_scenario(action, scenario)
            if rejection is not None:
                return self._stamped(rejection, validator)
        return None

    def limits_victims(self, action: Action) -> bool:
        """Whether a plugin limits which victims of an action are disrupted together."""
        return any(each.limits_victims(action) for each in self.victim_limits)

    def allows_victims(self, action: Action, scenario: Scenario) -> bool:
        """Whether no plugin rejects the victims of a scenario, which are evicted, together."""
        return all(each.allows_victims(action, scenario) is None for each in self.victim_limits)

    def protections(self, pod_groups: Sequence[int]) -> list[Protection]:
        """Protections of running pod groups, from all reporters."""
        return [each for reporter in self.protection_reporters for each in reporter.protections(pod_groups)]

    def nominations(self, action: Action) -> Nominations:
        """One nomination per pod group, with all nominators that agree (semantics R12.6, R12.64, R12.65).

        A plugin that skips a pod group is noted with its reason, whatever others say.
        """
        found: dict[int, Nomination] = {}
        evaluated: dict[str, set[int]] = {}
        for nominator in self.requeue_nominators:
            name = self.name(nominator)
            own = evaluated.setdefault(name, set())
            for nomination in nominator.nominate(action):
                own.add(nomination.pod_group)
                nomination.nominated_by = (name,)
                if nomination.skip_reason is not None:
                    nomination.skips = (NominationSkip(name, nomination.skip_reason, nomination.detail),)
                earlier = found.get(nomination.pod_group)
                if earlier is None or nomination.is_candidate > earlier.is_candidate:
                    if earlier is not None:
                        nomination.skips = earlier.skips + nomination.skips
                    found[nomination.pod_group] = nomination
                    continue
                earlier.skips += nomination.skips
                if nomination.is_candidate == earlier.is_candidate:
                    earlier.nominated_by += (name,)
                    earlier.overrun = max(earlier.overrun, nomination.overrun)
        return Nominations(list(found.values()), evaluated)

    def queue_status(self) -> tuple[QueueStatus, ...]:
        """Status of every queue, from the first reporter."""
        return tuple(self.queue_reporters[0].queue_status()) if self.queue_reporters else ()

    def carried_changes(
        self, queues: Sequence[QueueStatus], has_pending: bool
    ) -> tuple[list[CarriedChange], int | None]:
        """What plugins let the caller store, and the earliest time at which more changes."""
        changes: list[CarriedChange] = []
        earliest: int | None = None
        for reporter in self.carried_reporters:
            own, time = reporter.carried_changes(queues, has_pending)
            changes.extend(own)
            if time is not None and (earliest is None or time < earliest):
                earliest = time
        return changes, earliest

    def warnings(self, odd: Sequence[int]) -> list[SnapshotWarning]:
        """Warnings of all plugins; `odd` are pod groups with values of their own that may be invalid."""
        return [each for reporter in self.warning_reporters for each in reporter.warnings(odd)]

    def _wrap(self, wrap: Wrapper, chain: str, name: str, plugin: object) -> object:
        """What is called in place of a plugin in a chain, under the same name."""
        replacement = wrap(chain, name, plugin)
        if replacement is not plugin:
            self._names[id(replacement)] = name
            self._wrapped[id(replacement)] = plugin
        return replacement

    def _stamped(self, rejection: Rejection, plugin: object) -> Rejection:
        code, detail, until, _, custom, by_own, for_owner = rejection
        return Rejection(code, detail, until, self._names[id(plugin)], custom, by_own, for_owner)


_PACKING: Final = frozenset(
    (Ranking.BIN_PACKING, Ranking.AVAILABILITY, Ranking.GPU_SHARING, Ranking.RESOURCE_TYPE)
)
_BY_STATE: Final = frozenset((Ranking.STATE, Ranking.AVAILABILITY))
_RANKINGS: Final = (_PACKING, _BY_STATE, _BY_STATE | {Ranking.RESOURCE_TYPE})
"""Rankings of which the node index knows the combined order."""
_CHAINS: Final[dict[type, tuple[str, ...]]] = {}


def _chains_of(kind: type) -> tuple[str, ...]:
    """Chains of the methods of a class. Looked up once per class, because it is slow."""
    if kind not in _CHAINS:
        _CHAINS[kind] = tuple([chain for chain, name in POINTS.items() if hasattr(kind, name)])
    return _CHAINS[kind]


def _unranked(scores: Sequence[Any], traits: Mapping[int, Traits]) -> tuple[ScoreConcerns, ...] | None:
    """Scores beside the standard rankings, if each ranking occurs once and all others have `concerns`."""
    rankings = [traits[id(score)].ranks_by for score in scores]
    others = [score for score, ranking in zip(scores, rankings, strict=True) if ranking is None]
    known = [ranking for ranking in rankings if ranking is not None]
    if len(set(known)) < len(known) or frozenset(known) not in _RANKINGS:
        return None
    return tuple(others) if all(hasattr(score, "concerns") for score in others) else None


def _state_rank(scores: Sequence[Any], traits: Mapping[int, Traits]) -> StateRank | None:
    for score in scores:
        if traits[id(score)].ranks_by is Ranking.STATE:
            rank: StateRank = score
            return rank
    return None

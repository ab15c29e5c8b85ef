"""One implementation of each protocol of the plugin API that mypy must accept."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence

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
from tenure.solver.plugin_api import context, points, traits
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.ledger_view import FreeDevice
from tenure.solver.plugin_api.scenario import Scenario, ScenarioBuilder
from tenure.solver.plugin_api.traits import NodeState


class TaskPreFilter:
    def blocked_tasks(self) -> Iterable[tuple[int, str]]:
        raise NotImplementedError


class Gate:
    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        raise NotImplementedError


class CapacityGate:
    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        raise NotImplementedError


class QueueOrder:
    def queue_key(self, queue: int, request: Share, popped: Share) -> int:
        raise NotImplementedError


class ReservedRequests:
    def reserved_request(self, queue: int) -> Share:
        raise NotImplementedError


class PodGroupOrder:
    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        raise NotImplementedError


class VictimOrder:
    def victim_keys(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, int]:
        raise NotImplementedError


class TaskOrder:
    def task_key(self, task: int) -> int:
        raise NotImplementedError


class SubGroupOrder:
    def sub_group_key(self, name: str, count: int, threshold: int) -> int:
        raise NotImplementedError


class NodeFilter:
    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        raise NotImplementedError


class PlacementFilter:
    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        raise NotImplementedError


class NumaZoneSelector:
    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        raise NotImplementedError


class NodeSubsetProvider:
    def node_sets(self, constraint: TopologyConstraint, tasks: Sequence[int], nodes: int) -> Iterable[int]:
        raise NotImplementedError


class NodeScore:
    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        raise NotImplementedError


class NodePreference:
    def preference(self, task: int) -> Callable[[Sequence[int]], Sequence[int]] | None:
        raise NotImplementedError


class DeviceScore:
    def device_score(self, task: int, node_index: int, device: FreeDevice) -> int:
        raise NotImplementedError


class StateRank:
    def node_state(self, node_index: int) -> NodeState:
        raise NotImplementedError

    def request_index(self, shape: TaskShape) -> int:
        raise NotImplementedError

    def least(self, request_index: int) -> tuple[int, int]:
        raise NotImplementedError

    def rank(self, request_index: int, state: NodeState) -> int:
        raise NotImplementedError


class GpuScore:
    def gpu_score(self, used: float) -> float:
        raise NotImplementedError


class PodDependency:
    def needed(self, tasks: Sequence[int], others: Sequence[int], *, near: bool) -> Collection[int]:
        return ()


class PodBlocking:
    def blocking(self, tasks: Sequence[int], others: Sequence[int]) -> Collection[int]:
        return ()


class ReservedPods:
    def can_stay(self, tasks: Sequence[int], returned: Sequence[int]) -> bool:
        return True


class SearchListener:
    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        raise NotImplementedError


class VictimQueueFilter:
    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        raise NotImplementedError


class VictimFilter:
    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        raise NotImplementedError


class Guard:
    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        raise NotImplementedError


class EvictionCosts:
    def eviction_cost(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> EvictionCost:
        raise NotImplementedError


class PriorityBands:
    def priority_band(self, priority: int) -> int:
        raise NotImplementedError


class QueueGuarantees:
    def gpus_above_guarantees(self, queue: int, beneficiary: int) -> Sequence[tuple[int, int]]:
        raise NotImplementedError


class VictimRight:
    def victim_right(self, action: Action, preemptor: int, queue: int) -> tuple[str, str] | None:
        raise NotImplementedError


class EvictionCounter:
    def evictions_without_progress(self, pod_group: int) -> int:
        raise NotImplementedError


class EvictionTallies:
    def eviction_tally(self, pod_group: int, causes: Sequence[str]) -> EvictionTally:
        raise NotImplementedError


class RequeueNominator:
    def nominate(self, action: Action) -> Iterable[Nomination]:
        raise NotImplementedError


class ScenarioGenerator:
    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        raise NotImplementedError


class ScenarioValidator:
    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        raise NotImplementedError


class VictimLimit:
    def limits_victims(self, action: Action) -> bool:
        raise NotImplementedError

    def allows_victims(self, action: Action, scenario: Scenario) -> Rejection | None:
        raise NotImplementedError


class MoveListener:
    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        raise NotImplementedError


class ProtectionReporter:
    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        raise NotImplementedError


class QueueReporter:
    def queue_status(self) -> Iterable[QueueStatus]:
        raise NotImplementedError


class CarriedReporter:
    def carried_changes(
        self, queues: Sequence[QueueStatus], has_pending: bool
    ) -> tuple[Sequence[CarriedChange], int | None]:
        raise NotImplementedError


class UsageFollower:
    def follows_past_use(self) -> bool:
        raise NotImplementedError


class WarningReporter:
    def warnings(self, odd: Sequence[int]) -> Iterable[SnapshotWarning]:
        raise NotImplementedError


class GuardCacheKey:
    def guard_cache_key(self, preemptor: int) -> Hashable | None:
        raise NotImplementedError


class GuardExpiry:
    def may_expire(self, victims: Sequence[int]) -> bool:
        raise NotImplementedError


class PlacementKind:
    def placement_kind(self, pod_group: int) -> Hashable | None:
        raise NotImplementedError


class ReclaimCap:
    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        raise NotImplementedError


class ScoreConcerns:
    def concerns(self, task: int) -> bool:
        raise NotImplementedError


class PluginFactory:
    def __init__(self, context: context.PluginContext, arguments: Mapping[str, str]) -> None:
        raise NotImplementedError


_TaskPreFilter: type[points.TaskPreFilter] = TaskPreFilter
_Gate: type[points.Gate] = Gate
_CapacityGate: type[points.CapacityGate] = CapacityGate
_QueueOrder: type[points.QueueOrder] = QueueOrder
_ReservedRequests: type[points.ReservedRequests] = ReservedRequests
_PodGroupOrder: type[points.PodGroupOrder] = PodGroupOrder
_VictimOrder: type[points.VictimOrder] = VictimOrder
_TaskOrder: type[points.TaskOrder] = TaskOrder
_SubGroupOrder: type[points.SubGroupOrder] = SubGroupOrder
_NodeFilter: type[points.NodeFilter] = NodeFilter
_PlacementFilter: type[points.PlacementFilter] = PlacementFilter
_NumaZoneSelector: type[points.NumaZoneSelector] = NumaZoneSelector
_NodeSubsetProvider: type[points.NodeSubsetProvider] = NodeSubsetProvider
_NodeScore: type[points.NodeScore] = NodeScore
_NodePreference: type[points.NodePreference] = NodePreference
_DeviceScore: type[points.DeviceScore] = DeviceScore
_GpuScore: type[points.GpuScore] = GpuScore
_PodDependency: type[points.PodDependency] = PodDependency
_PodBlocking: type[points.PodBlocking] = PodBlocking
_ReservedPods: type[points.ReservedPods] = ReservedPods
_SearchListener: type[points.SearchListener] = SearchListener
_VictimQueueFilter: type[points.VictimQueueFilter] = VictimQueueFilter
_VictimFilter: type[points.VictimFilter] = VictimFilter
_Guard: type[points.Guard] = Guard
_EvictionCosts: type[points.EvictionCosts] = EvictionCosts
_PriorityBands: type[points.PriorityBands] = PriorityBands
_QueueGuarantees: type[points.QueueGuarantees] = QueueGuarantees
_VictimRight: type[points.VictimRight] = VictimRight
_EvictionCounter: type[points.EvictionCounter] = EvictionCounter
_EvictionTallies: type[points.EvictionTallies] = EvictionTallies
_RequeueNominator: type[points.RequeueNominator] = RequeueNominator
_ScenarioGenerator: type[points.ScenarioGenerator] = ScenarioGenerator
_ScenarioValidator: type[points.ScenarioValidator] = ScenarioValidator
_VictimLimit: type[points.VictimLimit] = VictimLimit
_MoveListener: type[points.MoveListener] = MoveListener
_ProtectionReporter: type[points.ProtectionReporter] = ProtectionReporter
_QueueReporter: type[points.QueueReporter] = QueueReporter
_CarriedReporter: type[points.CarriedReporter] = CarriedReporter
_UsageFollower: type[points.UsageFollower] = UsageFollower
_WarningReporter: type[points.WarningReporter] = WarningReporter
_GuardCacheKey: type[traits.GuardCacheKey] = GuardCacheKey
_GuardExpiry: type[traits.GuardExpiry] = GuardExpiry
_PlacementKind: type[traits.PlacementKind] = PlacementKind
_ReclaimCap: type[traits.ReclaimCap] = ReclaimCap
_StateRank: type[traits.StateRank] = StateRank
_ScoreConcerns: type[traits.ScoreConcerns] = ScoreConcerns
_PluginFactory: context.PluginFactory = PluginFactory

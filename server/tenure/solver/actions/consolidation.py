"""Consolidation: relocate running pod groups so that scattered capacity becomes usable (semantics 6.3).

Victims are preemptible pod groups of any queue; each must find another place.
"""

from collections.abc import Hashable, Sequence
from typing import Final, final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.model.decision import Atomicity
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.action import Action, ActionRule, QueueGate, Relation
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.search import NO_SOLUTION
from tenure.terms.reasons import ReasonCode

_NOT_FOR_ALL: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "consolidation relocates pods only for preemptible pod groups"
)
_TOO_FEW_GPUS: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "the cluster does not have enough free GPUs in total"
)
_ITSELF: Final = Rejection(ReasonCode.NO_SOLUTION, "it cannot be relocated for itself")


@final
class Relocation(ActionRule):
    """Preemptible pods only, and each victim is placed again."""

    def __init__(self, context: CycleContext) -> None:
        self._context = context
        gpus = context.components.node_order.free_gpu_milli()
        session = context.session
        self._free = sum(gpus[node.index] for node in session.cluster.nodes if not node.unready)
        has_fixed_shares = not any(shape.gpu.memory_mib for shape in session.cluster.shapes)
        self._keeps_usage = (
            session.chains.gates_by_request and has_fixed_shares and not session.cluster.claims
        )
        """Whether queues are charged the same wherever a pod is."""

    def may_start(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        """Preemptible pods, if the cluster has enough free GPUs in total (semantics R6.30, R6.31, R6.35), and
        the queue may use them: relocated pod groups use as much as before.

        A semi-preemptible pod group is like a non-preemptible one until it has its minimum.
        """
        session = self._context.session
        if session.cores.has_firm_request(preemptor.index, tasks):
            return _NOT_FOR_ALL
        if (rejection := self._context.may_evict(preemptor)) is not None:
            return rejection
        requested = sum(_gpu_milli(session.cluster.tasks[task].shape) for task in tasks)
        if requested > self._free:
            return _TOO_FEW_GPUS
        return self._over_capacity(preemptor, tasks) if self._keeps_usage else None

    def _over_capacity(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        session = self._context.session
        return session.chains.has_capacity(preemptor.index, tasks, session.ledger.least_demand(tasks))

    def allows_victim(self, preemptor: PodGroup, victim: PodGroup) -> Rejection | None:
        """Any but the pod group itself."""
        return _ITSELF if victim.index == preemptor.index else None

    def victim_cache_key(self, preemptor: PodGroup) -> Hashable | None:
        """One key for all preemptors that are not victims themselves."""
        return None if self._context.pod_groups.is_victim(preemptor.index) else 0

    def allows_scenario(self, scenario: Scenario) -> Rejection | None:
        """Every victim must be placed again (semantics R6.33)."""
        placements = self._context.session.ledger.placements
        for tasks in scenario.victims().values():
            if any(placements[task].status is TaskStatus.RELEASING for task in tasks):
                return NO_SOLUTION
        return None


def _gpu_milli(shape: TaskShape) -> int:
    """Requested GPUs, MIG slices apart."""
    return shape.gpu.gpu_milli() + shape.claimed_gpu_milli


def _max_victims(options: CycleOptions) -> int:
    return options.max_consolidation_victims


CONSOLIDATION: Final = Action(
    "consolidation",
    victims_from=Relation.ANY_QUEUE,
    gate=QueueGate.NONE,
    reason=ReasonCode.CONSOLIDATED,
    atomicity=Atomicity.ALL,
    rule=in_cycle(Relocation),
    max_victims=_max_victims,
    starts_by_request=True,
    relocates_all=True,
)

"""Behavior of the reference scheduler that Tenure does not have, put into the plain solver for one run.

A case that agrees once a behavior is imitated differs because of it. Each is a fault by the reference's own
rules; the rule that Tenure follows is named. Searches run without speedups, which do not know these rules.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Any, Final
from unittest.mock import patch

from tenure.solver.actions.consolidation import Relocation
from tenure.solver.actions.victim_rules import VictimSelector
from tenure.solver.framework.guards import Guards
from tenure.solver.framework.node_info import SharedResource
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import RELEASING, Placement
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugins.generators import NodeLocalGreedy
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.search.devices import DeviceSelector
from tenure.solver.search.scenario_simulator import ScenarioSimulator

from tests.conformance.large.search_behavior import Patch, core_alone, first_added, left_behind, placed_demand


class Behavior(StrEnum):
    """What the reference does."""

    SECOND_SLOT = "second-slot"
    """It takes a shared device for a new one unless its name is a number, so that joining it needs a pod slot
    for another reservation pod (R3.61).
    """
    COUNTED_TWICE = "counted-twice"
    """It evicts recorded victims again with the rest of their pod group, so that their queue uses less than
    nothing of them (R2.21, R5.44).
    """
    TERMINATING_REMAINS = "terminating-remains"
    """Pods that are already being evicted count towards the minimum that a protected pod group keeps, so that
    its core is evicted within its minimum runtime (R7.41).
    """
    FREE_DEVICE = "free-device"
    """A reservation that is evicted from a device on which others are reserved occupies no device (R1.23)."""
    RETURNED = "returned"
    """A pod that is placed on a node that it left in the cycle goes back to the node that it left last,
    whether or not that has capacity for it now (R2.14).
    """
    LEFT_BEHIND = "left-behind"
    """When the move of a pod to another shared device of its node is undone, the pod is on the node twice for
    the rest of the session, once as terminating (R1.23, R2.11).
    """
    PLACED_DEMAND = "placed-demand"
    """A domain of a required topology level must have free GPUs for all pods of the subgroup, those that run
    already included, before a search simulates anything (R5.31).
    """
    CORE_ALONE = "core-alone"
    """It evicts the core of a pod group on the nodes that it chose, and leaves surplus on others (R5.49)."""
    FIRST_ADDED = "first-added"
    """A queue stands among its siblings by the pod group that was added to it first, until it is at the top;
    which one that is varies. Here it is the worst one (R3.5, R3.7).
    """
    SEARCHED_IN_VAIN = "searched-in-vain"
    """It searches for relocations that the limit of the queue forbids, and then skips similar pod groups of
    other queues (R6.31, R5.80).
    """


@contextmanager
def imitating(behaviors: Iterable[Behavior]) -> Iterator[None]:
    """Have these behaviors in the block."""
    with ExitStack() as stack:
        for behavior in behaviors:
            for owner, name, replacement in _PATCHES[behavior]():
                stack.enter_context(patch.object(owner, name, replacement))
        yield


def _second_slot() -> Iterator[Patch]:
    select = DeviceSelector.select

    def strict(self: Any, shape: Any, node: int) -> Any:
        chosen = select(self, shape, node)
        return None if chosen is not None and self._lacks_pod_slot(node) else chosen

    yield Patch(DeviceSelector, "select", strict)


class _EvictedTwice(Placement):
    """A placement of a pod that was evicted again while it terminated."""

    __slots__ = ()


class _OrderAfter:
    """An order that begins after something else is done: victims are evicted, and nothing is placed."""

    def __init__(self, order: Any, first: Callable[[], None]) -> None:
        self._order, self._first = order, first

    def in_order(self, *arguments: Any) -> Iterator[int]:
        """Order of the pods, as the reference has it."""
        self._first()
        turns: Iterator[int] = self._order.in_order(*arguments)
        return turns


def _counted_twice() -> Iterator[Patch]:
    scenarios, on_move = NodeLocalGreedy.scenarios, Usage.on_move
    local: dict[int, object] = {}
    """Scenarios of the generator, by identity."""

    def noted(self: Any, builder: Any) -> Iterator[Any]:
        for scenario in scenarios(self, builder):
            local[id(scenario)] = scenario
            yield scenario

    def subtract_again(self: Any, task: int, before: Placement, after: Placement) -> None:
        is_again = isinstance(after, _EvictedTwice)
        if is_again == isinstance(before, _EvictedTwice) or before.status is not after.status:
            on_move(self, task, before, after)
            return
        facts, sign = self._tasks[task], -1 if is_again else 1
        share = self._ledger.share(facts, after.node)
        self._add(facts.pod_group, tuple(sign * amount for amount in share))

    run = ScenarioSimulator.run

    def evict_again(self: Any, statement: Any, scenario: Any, *others: Any, **more: Any) -> bool:
        def again() -> None:
            taken = {batch.pod_group for batch in scenario.potential if id(scenario) in local}
            for task in [t for batch in scenario.recorded if batch.pod_group in taken for t in batch.tasks]:
                now = self._session.ledger.placements[task]
                twice = _EvictedTwice(now.status, now.node, now.gpu_groups, now.previous, now.zones)
                statement._apply(task, now, twice)
                statement.evicted[task].insert(0, now)

        order = self._order
        self._order = _OrderAfter(order, again)
        try:
            return run(self, statement, scenario, *others, **more)
        finally:
            self._order = order

    allows = Guards.allows_scenario

    def list_again(self: Any, action: Any, scenario: Any, time: int | None = None) -> Any:
        taken = {batch.pod_group for batch in scenario.potential if id(scenario) in local}
        listed = Scenario(scenario.preemptor, scenario.pending, scenario.recorded, scenario.potential)
        for batch in scenario.recorded:
            if batch.pod_group in taken:
                listed.victims()[batch.pod_group].extend(batch.tasks)
        return allows(self, action, listed, time)

    yield Patch(NodeLocalGreedy, "scenarios", noted)
    yield Patch(Guards, "allows_scenario", list_again)
    yield Patch(Usage, "on_move", subtract_again)
    yield Patch(ScenarioSimulator, "run", evict_again)


def _terminating_remains() -> Iterator[Patch]:
    def breaks_minimum(self: Any, group: Any, tasks: Iterable[int]) -> bool:
        for pod_set in group.pod_sets:
            lost = sum(task in pod_set.tasks for task in tasks)
            used = sum(self._placements[task].use != 0 for task in pod_set.tasks)
            if lost and pod_set.min_available > used - lost:
                return True
        return False

    yield Patch(Guards, "_breaks_minimum", breaks_minimum)
    yield Patch(VictimSelector, "keeps_core", lambda self, victim: False)


def _free_device() -> Iterator[Patch]:
    charge, whole_devices = SharedResource.charge, SharedResource.whole_devices
    reserved: dict[int, SharedResource] = {}
    """Devices whose only evicted pods had reservations, by identity."""

    def noted(self: SharedResource, use: int, part: int) -> None:
        if use == RELEASING and part > 0 and self.used > self.allocated == 0:
            reserved[id(self)] = self
        charge(self, use, part)
        if self.allocated == 0:
            reserved.pop(id(self), None)

    def counted(self: SharedResource) -> tuple[int, int]:
        return (0, -1) if reserved.get(id(self)) is self else whole_devices(self)

    yield Patch(SharedResource, "charge", noted)
    yield Patch(SharedResource, "whole_devices", counted)


def _returned() -> Iterator[Patch]:
    def can_return(self: Any, task: int, origin: Placement, node: int, zones: Any) -> bool:
        if origin.node == node:
            return origin.zones == zones
        is_shared = self._ledger.tasks[task].shape.gpu.is_shared
        return not is_shared and origin.is_present_on(node)

    yield Patch(Statement, "_can_return", can_return)


def _searched_in_vain() -> Iterator[Patch]:
    yield Patch(Relocation, "_over_capacity", lambda self, preemptor, tasks: None)


_PATCHES: Final[dict[Behavior, Callable[[], Iterator[Patch]]]] = {
    Behavior.SECOND_SLOT: _second_slot,
    Behavior.COUNTED_TWICE: _counted_twice,
    Behavior.TERMINATING_REMAINS: _terminating_remains,
    Behavior.FREE_DEVICE: _free_device,
    Behavior.RETURNED: _returned,
    Behavior.LEFT_BEHIND: left_behind,
    Behavior.PLACED_DEMAND: placed_demand,
    Behavior.CORE_ALONE: core_alone,
    Behavior.FIRST_ADDED: first_added,
    Behavior.SEARCHED_IN_VAIN: _searched_in_vain,
}

"""One decision on a snapshot, beside the least sets of victims that the rules permit.

A least set counts only if Tenure takes it too: given the same snapshot, with all other running pods under a
disruption budget of 0, it starts the gang with victims of that set.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_pb2 import MINIMALITY_PROVEN, DecisionGroup
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING, ClusterSnapshot, DisruptionBudget

from tests.properties.optimum.cluster_facts import ClusterFacts
from tests.properties.optimum.gang_snapshots import GANG
from tests.properties.optimum.least_victims import LeastVictims, Measures, NotProven, Scope, measured

FROZEN: Final = "frozen"
"""The budget of pods that are to stay."""


class ChosenSet(NamedTuple):
    """Disrupted pods, and what that costs."""

    pods: frozenset[str]
    measures: Measures


class Chosen(NamedTuple):
    """The victims of one decision, and the certified sets beside them."""

    taken: ChosenSet
    fewest: ChosenSet
    """With the fewest pods, then GPUs; the decision's own where no other is certified."""
    least_gpus: ChosenSet
    """With the fewest GPUs, then pods."""
    better: ChosenSet | None
    """No worse in any measure, and better in one."""
    refuted: str
    """What the decision claims and is wrong; empty: nothing."""
    remarks: tuple[str, ...]
    """What limits the comparison: proofs and certificates that failed."""


def engine(**options: object) -> Engine:
    """An engine with the default profile and these options."""
    return Engine(replace(default_profile(), options=CycleOptions(**options)))  # type: ignore[arg-type]


def choose(deciding: Engine, snapshot: ClusterSnapshot, action: str) -> Chosen | None:
    """The decision for the gang, compared; None if the gang does not start with victims."""
    group = decided(deciding, snapshot, action)
    return None if group is None else _Comparison(deciding, snapshot, action, group).chosen()


def decided(deciding: Engine, snapshot: ClusterSnapshot, action: str) -> DecisionGroup | None:
    """The decision group that starts the whole gang with victims; None: there is none."""
    request = DecideRequest(snapshot=snapshot, actions=[action])
    for group in deciding.decide(request).parse().groups:
        if group.beneficiary == GANG and disrupted(group):
            return group
    return None


def disrupted(group: DecisionGroup) -> frozenset[str]:
    """Pods that it evicts or moves."""
    return frozenset(step.evict.pod for step in group.decisions if step.HasField("evict"))


class _Comparison:
    """Compares one decision with legal sets."""

    def __init__(
        self, deciding: Engine, snapshot: ClusterSnapshot, action: str, group: DecisionGroup
    ) -> None:
        self._engine, self._snapshot, self._action, self._group = deciding, snapshot, action, group
        self._facts = facts = ClusterFacts(snapshot, action)
        self._pods = disrupted(group)
        self._taken = ChosenSet(self._pods, measured(facts, self._pods))
        self._victims = {facts.group_of[pod] for pod in self._pods}
        queues = frozenset(facts.groups[victim].queue for victim in self._victims)
        scope = Scope(queues, self._taken.measures.priority)
        self._candidates = [each for each in facts.candidates if scope.has(each)]
        self._remarks: list[str] = []

    def chosen(self) -> Chosen:
        """The decision with what was found beside it."""
        fewest, least_gpus = self._least("pods", "gpus"), self._least("gpus", "pods")
        better = self._better()
        return Chosen(self._taken, fewest, least_gpus, better, self._refuted(), tuple(self._remarks))

    def _least(self, measure: str, second: str) -> ChosenSet:
        """The certified least set in these measures, or the decision's own."""
        found = self._proven(lambda: self._question().least(measure, second))
        order = attrgetter(measure, second)
        if found is None or order(measured(self._facts, found)) >= order(self._taken.measures):
            return self._taken
        certified = self._certified(found)
        if certified is None or order(certified.measures) >= order(self._taken.measures):
            return self._taken
        return certified

    def _better(self) -> ChosenSet | None:
        known = self._taken.measures
        found = self._proven(lambda: self._question().better_than(known))
        return None if found is None else self._certified(found)

    def _refuted(self) -> str:
        """What the decision claims about its victims, if some of them could stay (R14.6)."""
        if self._group.victim_set.minimality != MINIMALITY_PROVEN:
            return ""
        if exchanged := self._exchanged():
            return f"{exchanged} pods only change places with equal ones"
        own = [each for each in self._facts.candidates if each.uid in self._victims]
        found = self._proven(lambda: LeastVictims(self._facts, own, self._pods).least("pods", "gpus"))
        if found is None or len(found) >= len(self._pods) or not self._certified(found):
            return ""
        return f"{len(self._pods) - len(found)} of {len(self._pods)} pods could stay"

    def _exchanged(self) -> int:
        """Pods that leave a node to which an equal pod of their pod group moves."""
        left, entered = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for step in self._group.decisions:
            if step.HasField("evict") and step.evict.relocating:
                left[step.evict.pod_group, step.evict.node] += 1
            if step.HasField("reserve") and step.reserve.pod_group != GANG:
                entered[step.reserve.pod_group, step.reserve.node] += 1
        return (left & entered).total()

    def _question(self) -> LeastVictims:
        return LeastVictims(self._facts, self._candidates)

    def _proven(self, find: Callable[[], frozenset[str] | None]) -> frozenset[str] | None:
        try:
            return find()
        except NotProven:
            self._remarks.append("proofs that ended without a result")
            return None

    def _certified(self, pods: frozenset[str]) -> ChosenSet | None:
        """The victims that are taken where only these pods may be disrupted; None: the gang does not start."""
        frozen = ClusterSnapshot()
        frozen.CopyFrom(self._snapshot)
        frozen.disruption_budgets.append(DisruptionBudget(name=FROZEN, allowed=0))
        for pod in frozen.pods:
            if pod.status == POD_STATUS_RUNNING and pod.uid not in pods:
                pod.disruption_budgets.append(FROZEN)
        group = decided(self._engine, frozen, self._action)
        found = None if group is None else disrupted(group)
        if found is None or not found <= pods:
            self._remarks.append("sets that were not certified")
            return None
        return ChosenSet(found, measured(self._facts, found))

"""One decision on a snapshot, beside the least sets of victims that the rules permit.

A least set counts only if Tenure takes it too: given the same snapshot, with all other running pods under a
disruption budget of 0, it starts the gang with victims of that set.
"""

from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_pb2 import MINIMALITY_LEAST, MINIMALITY_PROVEN, DecisionGroup
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING, ClusterSnapshot, DisruptionBudget

from tests.properties.optimum.cluster_facts import ClusterFacts
from tests.properties.optimum.gang_snapshots import GANG
from tests.properties.optimum.least_victims import LeastVictims, Measures, NotProven, Scope, measured
from tests.properties.optimum.needless_moves import needless_moves

Found = TypeVar("Found")
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


class Missed(NamedTuple):
    """The gang does not start, although it does with these victims where the others have to stay."""

    victims: ChosenSet


def engine(**options: object) -> Engine:
    """An engine with the default profile and these options."""
    return Engine(replace(default_profile(), options=CycleOptions(**options)))  # type: ignore[arg-type]


def choose(
    deciding: Engine, snapshot: ClusterSnapshot, action: str, in_order: bool = True
) -> Chosen | Missed | None:
    """The decision for the gang, compared with sets in order or any.

    None: the gang starts without victims, or has no legal victims.
    """
    facts, groups = ClusterFacts(snapshot, action), groups_of_gang(deciding, snapshot, action)
    if groups:
        with_victims = [group for group in groups if disrupted(group)]
        compared = (_Comparison(deciding, snapshot, facts, group, in_order) for group in with_victims)
        return next((each.chosen() for each in compared), None)
    return _missed(deciding, snapshot, facts, in_order)


def _missed(
    deciding: Engine, snapshot: ClusterSnapshot, facts: ClusterFacts, in_order: bool
) -> Missed | None:
    """A certified set, where the gang does not start."""
    if not facts.may_start:
        return None
    with suppress(NotProven):
        found = LeastVictims(facts, facts.candidates, in_order).least("pods", "gpus")
        taken = found and certified(deciding, snapshot, facts, found)
        return Missed(taken) if taken else None
    return None


def certified(
    deciding: Engine, snapshot: ClusterSnapshot, facts: ClusterFacts, pods: frozenset[str]
) -> ChosenSet | None:
    """The victims that are taken where only these pods may be disrupted; None: the gang does not start."""
    for group in groups_of_gang(deciding, frozen_beside(snapshot, pods), facts.action):
        found = disrupted(group)
        if found and found <= pods:
            return ChosenSet(found, measured(facts, found, moved(group)))
    return None


def frozen_beside(snapshot: ClusterSnapshot, pods: Set[str]) -> ClusterSnapshot:
    """The snapshot with all other running pods under a disruption budget of 0."""
    frozen = ClusterSnapshot()
    frozen.CopyFrom(snapshot)
    frozen.disruption_budgets.append(DisruptionBudget(name=FROZEN, allowed=0))
    for pod in frozen.pods:
        if pod.status == POD_STATUS_RUNNING and pod.uid not in pods:
            pod.disruption_budgets.append(FROZEN)
    return frozen


def groups_of_gang(deciding: Engine, snapshot: ClusterSnapshot, action: str) -> list[DecisionGroup]:
    """Decision groups for the gang; none: it does not start."""
    response = deciding.decide(DecideRequest(snapshot=snapshot, actions=[action])).parse()
    return [group for group in response.groups if group.beneficiary == GANG]


def disrupted(group: DecisionGroup) -> frozenset[str]:
    """Pods that it evicts or moves."""
    return frozenset(step.evict.pod for step in group.decisions if step.HasField("evict"))


def moved(group: DecisionGroup) -> frozenset[str]:
    """Pods that it moves to another node."""
    evictions = (step.evict for step in group.decisions if step.HasField("evict"))
    return frozenset(evict.pod for evict in evictions if evict.relocating)


class _Comparison:
    """Compares one decision with legal sets."""

    def __init__(
        self,
        deciding: Engine,
        snapshot: ClusterSnapshot,
        facts: ClusterFacts,
        group: DecisionGroup,
        in_order: bool,
    ) -> None:
        self._engine, self._snapshot, self._facts = deciding, snapshot, facts
        self._group, self._in_order = group, in_order
        pods = disrupted(group)
        self._moved = moved(group)
        self._taken = ChosenSet(pods, measured(facts, pods, self._moved))
        self._victims = {facts.group_of[pod] for pod in pods}
        queues = frozenset(facts.groups[victim].queue for victim in self._victims)
        scope = Scope(queues, self._taken.measures.priority)
        self._candidates = [each for each in facts.candidates if scope.has(each)]
        self._remarks: list[str] = []

    def chosen(self) -> Chosen:
        """The decision with what was found beside it."""
        fewest, least_gpus = self._least("pods", "gpus"), self._least("gpus", "pods")
        better = self._better()
        refuted, remarks = self._refuted(), tuple(self._remarks)
        return Chosen(self._taken, fewest, least_gpus, better, refuted, remarks)

    def _least(self, measure: str, second: str) -> ChosenSet:
        """The certified least set in these measures, or the decision's own."""
        found = self._proven(
            lambda: self._question().least(measure, second, self._taken.measures.queues_below)
        )
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
        if self._group.victim_set.minimality not in (MINIMALITY_PROVEN, MINIMALITY_LEAST):
            return ""
        left = self._taken.pods - self._moved
        needless = self._proven(lambda: needless_moves(self._facts, self._moved, left))
        if needless:
            return f"{needless} of {len(self._moved)} moved pods could stay"
        if self._group.victim_set.minimality == MINIMALITY_LEAST and (fewer := self._fewer_of_all()):
            return f"{fewer} pods are enough where no fewer than {len(self._taken.pods)} are said to be"
        own = [each for each in self._facts.candidates if each.uid in self._victims]
        question = LeastVictims(self._facts, own, in_order=False, among=self._taken.pods)
        found = self._proven(lambda: question.least("pods", "gpus", len(self._facts.queues)))
        if found is None or len(found) >= len(self._taken.pods) or self._certified(found) is None:
            return ""
        return f"{len(self._taken.pods) - len(found)} of {len(self._taken.pods)} pods could stay"

    def _fewer_of_all(self) -> int:
        """Pods of a certified set of any victims with fewer pods; 0: there is none."""
        question = LeastVictims(self._facts, self._facts.candidates, in_order=False)
        found = self._proven(lambda: question.least("pods", "gpus"))
        if found is None or len(found) >= len(self._taken.pods) or self._certified(found) is None:
            return 0
        return len(found)

    def _question(self) -> LeastVictims:
        return LeastVictims(self._facts, self._candidates, self._in_order)

    def _proven(self, find: Callable[[], Found]) -> Found | None:
        try:
            return find()
        except NotProven:
            self._remarks.append("proofs that ended without a result")
            return None

    def _certified(self, pods: frozenset[str]) -> ChosenSet | None:
        found = certified(self._engine, self._snapshot, self._facts, pods)
        if found is None:
            self._remarks.append("sets that were not certified")
        return found

"""The least set of victims that the rules permit, proven by CP-SAT.

Victims leave for good: sets that move a victim to another node are not among those that are compared.
"""

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import Final, NamedTuple

from ortools.sat.python import cp_model

from tests.properties.optimum.cluster_facts import Candidate, ClusterFacts
from tests.properties.optimum.gang_snapshots import GANG

EFFORT: Final = 20.0
"""Deterministic time of one proof."""

_FIRST: Final = 10_000
"""More than any second measure."""


class NotProven(Exception):
    """The effort did not suffice for a proof."""


def solved(model: cp_model.CpModel) -> cp_model.CpSolver | None:
    """A proven optimum of a model, the same in every run; None: it has no solution. Raises NotProven."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = EFFORT
    status = solver.solve(model)
    if status not in (cp_model.INFEASIBLE, cp_model.OPTIMAL):
        raise NotProven
    return solver if status == cp_model.OPTIMAL else None


class Measures(NamedTuple):
    """What a set of victims disrupts. Less is better, in each."""

    pods: int
    groups: int
    gpus: int
    gpu_seconds: int
    priority: int
    """The highest one of its victims."""
    queues_below: int
    """Queues, at any level, that lose GPUs below their quota for good."""


class Scope(NamedTuple):
    """Victims that may be compared with a decision's: of the same queues, of no higher priority."""

    queues: frozenset[str]
    priority: int

    def has(self, candidate: Candidate) -> bool:
        return candidate.queue in self.queues and candidate.priority <= self.priority


class LeastVictims:
    """One question: the legal sets of victims of some candidates, and the least of them in one measure."""

    def __init__(
        self,
        facts: ClusterFacts,
        candidates: Sequence[Candidate],
        in_order: bool = True,
        among: Set[str] | None = None,
    ) -> None:
        """In order, surplus leaves from the last pod on; else any pods leave that are beyond the minimum, as
        where victims were put back (R14.3). `among`: no other pods leave.
        """
        self._facts, self._model = facts, cp_model.CpModel()
        self._candidates, self._in_order, self._among = candidates, in_order, among
        self._taken: dict[str, cp_model.IntVar] = {}
        """By pod."""
        self._touched = {each.uid: self._model.new_bool_var(each.uid) for each in candidates}
        for candidate in candidates:
            self._add_batches(candidate)
        self._add_capacity()
        if facts.action == "reclaim":
            self._add_fairness()
            self._add_saturation()
        self._measured = self._measures()

    def least(self, measure: str, second: str, queues_below: int | None = None) -> frozenset[str] | None:
        """Pods of the least set in a measure, of those the least in the second one; None: none is legal.

        No more queues than these lose GPUs below their quota. Raises NotProven.
        """
        if queues_below is not None:
            self._model.add(self._measured["queues_below"] <= queues_below)
        return self._solved(_FIRST * self._measured[measure] + self._measured[second])

    def better_than(self, known: Measures) -> frozenset[str] | None:
        """Pods of a set that is no worse in any measure and better in one; None: there is none. Raises
        NotProven.
        """
        values, limits = self._measured, known._asdict()
        for name, limit in limits.items():
            self._model.add(values[name] <= limit)
        self._model.add(sum(values[name] for name in limits) <= sum(limits.values()) - 1)
        return self._solved(_FIRST * values["pods"] + values["gpus"])

    def _solved(self, cost: cp_model.LinearExprT) -> frozenset[str] | None:
        self._model.minimize(cost)
        solver = solved(self._model)
        if solver is None:
            return None
        return frozenset(pod for pod, taken in self._taken.items() if solver.value(taken))

    def _add_batches(self, candidate: Candidate) -> None:
        """All pods, or so few that the minimum stays (R5.25, R5.27, R8.35, R15.5)."""
        model, pods = self._model, candidate.pods
        taken = {pod: model.new_bool_var(pod) for pod in pods}
        self._taken.update(taken)
        all_leave = model.new_bool_var(f"all of {candidate.uid}")
        number = self._number(candidate)
        model.add(number == len(pods)).only_enforce_if(all_leave)
        model.add(number <= len(pods) - candidate.minimum).only_enforce_if(all_leave.negated())
        model.add(number <= candidate.most)
        model.add_max_equality(self._touched[candidate.uid], list(taken.values()))
        stay = set(pods[: candidate.minimum]) if candidate.keeps_core else set()
        if self._among is not None:
            stay.update(pod for pod in pods if pod not in self._among)
        for pod in stay:
            model.add(taken[pod] == 0)
        if self._in_order:
            for earlier, later in pairwise(pods):
                model.add_implication(taken[earlier], taken[later])

    def _number(self, candidate: Candidate) -> cp_model.LinearExprT:
        """Pods that are taken of a candidate."""
        return sum(self._taken[pod] for pod in candidate.pods)

    def _add_capacity(self) -> None:
        """The pods of the gang fit beside all pods that stay."""
        facts, model = self._facts, self._model
        request, pods = facts.amounts[facts.waiting[0]], len(facts.waiting)
        freed: dict[str, list[str]] = {}
        for pod in self._taken:
            freed.setdefault(facts.node_of[pod], []).append(pod)
        placed = []
        for node, free in facts.free.items():
            number = model.new_int_var(0, pods, node)
            for slot, amount in enumerate(request):
                leaving = [facts.amounts[pod][slot] * self._taken[pod] for pod in freed.get(node, ())]
                model.add(amount * number <= free[slot] + sum(leaving))
            placed.append(number)
        model.add(sum(placed) == pods)

    def _add_fairness(self) -> None:
        """Each chunk is taken from a queue that is above its share, or above quota for one within (R4.52)."""
        facts, model = self._facts, self._model
        before: dict[str, list[cp_model.LinearExprT]] = {}
        for candidate in sorted(self._candidates, key=_in_victim_order):
            mine, level = facts.levels(candidate.queue)
            victim, own = facts.queues[level], facts.queues[mine]
            bound = max(victim.quota, facts.fair[level])
            if own.used + facts.requested <= own.quota:
                bound = victim.quota
            earlier, number = before.setdefault(level, []), self._number(candidate)
            alone = model.new_int_var(0, len(candidate.pods), f"chunks before the last of {candidate.uid}")
            model.add(alone >= number - max(candidate.minimum, 1))
            lost = sum(earlier) + candidate.gpus * alone
            model.add(lost <= victim.used - bound - 1).only_enforce_if(self._touched[candidate.uid])
            earlier.append(candidate.gpus * number)

    def _add_saturation(self) -> None:
        """No queue of the gang exceeds its share while it is as saturated as one that loses (R4.55)."""
        facts, model = self._facts, self._model
        for name in facts.path(facts.groups[GANG].queue):
            queue, fair = facts.queues[name], facts.fair[name]
            own = queue.used + facts.requested - self._lost(name)
            over = model.new_bool_var(f"{name} is over its share")
            model.add(own <= fair).only_enforce_if(over.negated())
            for other in facts.queues.values():
                if other.parent != queue.parent or other.name == name or not facts.fair[other.name]:
                    continue
                theirs = facts.fair[other.name] * own + 1 <= fair * (other.used - self._lost(other.name))
                for candidate in self._of(other.name):
                    model.add(theirs).only_enforce_if(over, self._touched[candidate.uid])

    def _lost(self, queue: str) -> cp_model.LinearExprT:
        """GPUs that a queue loses, with its descendants."""
        return sum(candidate.gpus * self._number(candidate) for candidate in self._of(queue))

    def _of(self, queue: str) -> list[Candidate]:
        return [candidate for candidate in self._candidates if queue in self._facts.path(candidate.queue)]

    def _measures(self) -> Mapping[str, cp_model.LinearExprT]:
        facts, model = self._facts, self._model
        levels = sorted({candidate.priority for candidate in self._candidates})
        priority: cp_model.LinearExprT = 0
        for below, level in zip((0, *levels), levels, strict=False):
            reached = model.new_bool_var(f"priority {level}")
            for candidate in self._candidates:
                if candidate.priority >= level:
                    model.add_implication(self._touched[candidate.uid], reached)
            priority += (level - below) * reached
        return {
            "pods": sum(self._taken.values()),
            "groups": sum(self._touched.values()),
            "gpus": sum(facts.gpus(pod) * taken for pod, taken in self._taken.items()),
            "gpu_seconds": sum(facts.gpu_seconds(pod) * taken for pod, taken in self._taken.items()),
            "priority": priority,
            "queues_below": self._queues_below(),
        }

    def _queues_below(self) -> cp_model.LinearExprT:
        number: cp_model.LinearExprT = 0
        for queue, spare in self._facts.spare({candidate.queue for candidate in self._candidates}).items():
            is_below = self._model.new_bool_var(f"{queue} is below its quota")
            self._model.add(self._lost(queue) <= spare).only_enforce_if(is_below.negated())
            number += is_below
        return number


def measured(facts: ClusterFacts, pods: frozenset[str], moved: frozenset[str] = frozenset()) -> Measures:
    """What disrupting these pods costs. `moved` are those of them that go on elsewhere."""
    groups = {facts.group_of[pod] for pod in pods}
    return Measures(
        len(pods),
        len(groups),
        sum(facts.gpus(pod) for pod in pods),
        sum(facts.gpu_seconds(pod) for pod in pods),
        max((facts.groups[group].priority for group in groups), default=0),
        _queues_below(facts, pods - moved),
    )


def _queues_below(facts: ClusterFacts, pods: frozenset[str]) -> int:
    queues = {pod: facts.groups[facts.group_of[pod]].queue for pod in pods}
    return sum(
        sum(facts.gpus(pod) for pod in pods if queue in facts.path(queues[pod])) > spare
        for queue, spare in facts.spare(set(queues.values())).items()
    )


def _in_victim_order(candidate: Candidate) -> tuple[str, int, bool, int, tuple[int, ...]]:
    """Queues by name, in each the least important first (R4.58, R5.20); at last the highest uid."""
    is_firm = len(candidate.pods) <= candidate.minimum
    uid = tuple(-ord(letter) for letter in candidate.uid)
    return candidate.queue, candidate.priority, is_firm, -candidate.created, uid

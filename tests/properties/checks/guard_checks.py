"""What guards promise, held against a decision: the evictions, the checks they name, the protections."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, Protection
from tenure.solver.model.placement import Placement
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet
from tenure.solver.testing import placements

from tests.properties.checks.gang_minimum import has_minimum
from tests.properties.checks.guard_facts import ALL, MINIMUM, NOTHING, GuardFacts
from tests.properties.generators.contested_clusters import ACTIONS


class Loss(NamedTuple):
    """What a pod group loses by one group of decisions; moved pods count as lost."""

    group: DecisionGroup
    victim: PodGroup
    lost: set[int]
    before: set[int]
    """Its active tasks until then."""

    @property
    def breaks_minimum(self) -> bool:
        """Whether it was whole and is not any more; one that was not loses from larger parts only."""
        left = self.before - self.lost
        if has_minimum(self.victim.root, self.before):
            return not has_minimum(self.victim.root, left)
        losing = (part for part in self.victim.pod_sets if self.lost.intersection(part.tasks))
        return any(not has_minimum(part, left) for part in losing)

    def __str__(self) -> str:
        pods = f"{len(self.lost)} of {len(self.before)} pods"
        return f"{self.victim.facts.name} loses {pods} to {self.group.action}"


def guarded_losses(cluster: Cluster, decision: CycleResult) -> Iterator[Loss]:
    """What guarded actions take, in the order of decision."""
    for count, group in enumerate(decision.groups):
        if group.action not in ACTIONS:
            continue
        here = placements(cluster, decision.groups[:count])
        evicted = {evict.task for evict in group.evictions}
        for index in sorted({cluster.tasks[task].pod_group for task in evicted}):
            victim = cluster.pod_groups[index]
            before = {task for task in victim.tasks if here[task].status.is_active_allocated}
            yield Loss(group, victim, evicted.intersection(victim.tasks), before)


class GuardBreach(NamedTuple):
    """A guard that protects what was evicted."""

    guard: str
    words: str


def find_protected_evictions(sheet: GuardFacts, decision: CycleResult) -> Iterator[GuardBreach]:
    """Evictions of what a guard protects, by what was known when they were decided."""
    for loss in guarded_losses(sheet.cluster, decision):
        earlier = sheet.after_group(decision.groups[: decision.groups.index(loss.group)])
        for said in earlier.verdicts(loss.group.action, loss.group.beneficiary, loss.victim.index):
            if _forbids(said.protects, loss):
                yield GuardBreach(said.guard, f"{loss}, and {said} protects it")


def _forbids(scope: int, loss: Loss) -> bool:
    return scope == ALL or (scope == MINIMUM and loss.breaks_minimum)


def find_wrong_guard_verdicts(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Evictions that do not name exactly the guards of the profile that have a say, and what they said."""
    for count, group in enumerate(decision.groups):
        for evict in group.evictions:
            victim = sheet.cluster.tasks[evict.task].pod_group
            earlier = sheet.after_group(decision.groups[:count])
            expected = earlier.verdicts(group.action, group.beneficiary, victim)
            named = [(each.guard, int(each.scope), each.until) for each in evict.guards]
            if named != [tuple(said) for said in expected]:
                yield f"{group.action} names {named}, but {expected} say something"


def find_contradicted_protections(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Evictions that a protection of the same answer rules out."""
    for loss in guarded_losses(sheet.cluster, decision):
        asking = sheet.cluster.pod_groups[loss.group.beneficiary]
        told = [each for each in decision.protections if each.pod_group == loss.victim.index]
        for guard in sorted({each.guard for each in told}):
            protection = narrowest_protection(sheet.cluster, told, guard, loss.group.action, asking)
            if protection is not None and _forbids(int(protection.scope), loss):
                yield f"{loss}, and the answer says {protection}"


def find_misreported_protections(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Pairs of which the answer says anything else than the facts: who goes on running, and who might ask."""
    sheet = sheet.after_group(decision.groups)
    cluster, after = sheet.cluster, placements(sheet.cluster, decision.groups)
    for victim in cluster.pod_groups:
        if any(_remaining(cluster.tasks[task].placement, after[task]) for task in victim.tasks):
            told = [each for each in decision.protections if each.pod_group == victim.index]
            for asking in cluster.pod_groups:
                for action in _possible(asking, victim):
                    yield from _misreported(sheet, told, action, asking, victim)


def _remaining(before: Placement, after: Placement) -> bool:
    return before == after and after.status.is_allocated


def _possible(asking: PodGroup, victim: PodGroup) -> Iterable[str]:
    """Actions by which one could take from the other at all."""
    if asking.index == victim.index:
        return ()
    within = asking.queue == victim.queue
    return tuple(action for action in ACTIONS if action != ("reclaim" if within else "preempt"))


def _misreported(
    sheet: GuardFacts, told: Sequence[Protection], action: str, asking: PodGroup, victim: PodGroup
) -> Iterator[str]:
    """Of pod groups that never yield, the answer says no more than that."""
    for said in sheet.verdicts(action, asking.index, victim.index):
        if said.guard == "preemptibility" or victim.is_evictable:
            protection = narrowest_protection(sheet.cluster, told, said.guard, action, asking)
            scope = NOTHING if protection is None else int(protection.scope)
            until = said.until if protection is None or not scope else protection.until
            if (_effect(scope, victim), until) != (_effect(said.protects, victim), said.until):
                yield f"{action} for {asking.facts.name}: {victim.facts.name} has {protection}, but {said}"


def _effect(scope: int, victim: PodGroup) -> int:
    """The minimum of a pod group that has nothing beyond it is all of it."""
    return ALL if scope == MINIMUM and not _has_surplus(victim.root) else scope


def _has_surplus(part: PodSet | SubGroupSet) -> bool:
    if isinstance(part, PodSet):
        return len(part.tasks) > part.min_available
    return len(part.members) > part.required or any(_has_surplus(member) for member in part.members)


def narrowest_protection(
    cluster: Cluster, told: Sequence[Protection], guard: str, action: str, asking: PodGroup
) -> Protection | None:
    """Of what an answer tells about one victim, that which is about the asking pod group most closely."""
    path = [] if asking.queue is None else cluster.queues[asking.queue].path
    circles = [("", None), *((cluster.queues[index].name, None) for index in path), ("", asking.index)]
    about = [
        each for each in told if each.guard == guard and action in each.actions and _against(each) in circles
    ]
    return max(about, key=lambda each: circles.index(_against(each)), default=None)


def _against(protection: Protection) -> tuple[str, int | None]:
    return protection.against, protection.against_pod_group

"""Checks of a cycle result against guards: evictions, reported verdicts and reported protections."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup
from tenure.solver.model.placement import Placement
from tenure.solver.model.verdict import Protection
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet
from tenure.solver.testing import placements

from tests.properties.checks.gang_minimum import has_minimum
from tests.properties.checks.guard_facts import ALL, MINIMUM, NOTHING, GuardFacts
from tests.properties.generators.contested_clusters import ACTIONS


class Loss(NamedTuple):
    """Pods that a pod group loses in one decision group. Relocated pods count as lost."""

    group: DecisionGroup
    victim: PodGroup
    lost: set[int]
    before: set[int]
    """Its active tasks before the decision group."""

    @property
    def breaks_minimum(self) -> bool:
        """Whether the victim loses its minimum or, if it had none, pods of the minimum of a pod set."""
        left = self.before - self.lost
        if has_minimum(self.victim.root, self.before):
            return not has_minimum(self.victim.root, left)
        losing = (part for part in self.victim.pod_sets if self.lost.intersection(part.tasks))
        return any(not has_minimum(part, left) for part in losing)

    def __str__(self) -> str:
        pods = f"{len(self.lost)} of {len(self.before)} pods"
        return f"{self.victim.facts.name} loses {pods} to {self.group.action}"


def guarded_losses(cluster: Cluster, decision: CycleResult) -> Iterator[Loss]:
    """Losses by guarded actions, in the order of the decisions."""
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
    """A guard that protects evicted pods."""

    guard: str
    words: str


def find_protected_evictions(sheet: GuardFacts, decision: CycleResult) -> Iterator[GuardBreach]:
    """Evictions of protected pods. Guards use the facts that were known when the eviction was decided."""
    for loss in guarded_losses(sheet.cluster, decision):
        earlier = sheet.after_group(decision.groups[: decision.groups.index(loss.group)])
        for verdict in earlier.verdicts(loss.group.action, loss.group.beneficiary, loss.victim.index):
            if _forbids(verdict.protects, loss):
                yield GuardBreach(verdict.guard, f"{loss}, and {verdict} protects it")


def _forbids(scope: int, loss: Loss) -> bool:
    return scope == ALL or (scope == MINIMUM and loss.breaks_minimum)


def find_wrong_guard_verdicts(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Evictions that do not list exactly the verdicts of all guards that apply to the action."""
    for count, group in enumerate(decision.groups):
        for evict in group.evictions:
            victim = sheet.cluster.tasks[evict.task].pod_group
            earlier = sheet.after_group(decision.groups[:count])
            expected = earlier.verdicts(group.action, group.beneficiary, victim)
            named = [(each.guard, int(each.scope), each.until) for each in evict.guards]
            if named != [tuple(verdict) for verdict in expected]:
                yield f"{group.action} names {named}, but {expected} say something"


def find_contradicted_protections(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Evictions that contradict a protection of the same response."""
    for loss in guarded_losses(sheet.cluster, decision):
        asking = sheet.cluster.pod_groups[loss.group.beneficiary]
        protections = [each for each in decision.protections if each.pod_group == loss.victim.index]
        for guard in sorted({each.guard for each in protections}):
            protection = narrowest_protection(sheet.cluster, protections, guard, loss.group.action, asking)
            if protection is not None and _forbids(int(protection.scope), loss):
                yield f"{loss}, and the answer says {protection}"


def find_misreported_protections(sheet: GuardFacts, decision: CycleResult) -> Iterator[str]:
    """Victims that keep running and whose reported protection from a preemptor differs from the facts."""
    sheet = sheet.after_group(decision.groups)
    cluster, after = sheet.cluster, placements(sheet.cluster, decision.groups)
    for victim in cluster.pod_groups:
        if any(_remaining(cluster.tasks[task].placement, after[task]) for task in victim.tasks):
            protections = [each for each in decision.protections if each.pod_group == victim.index]
            for asking in cluster.pod_groups:
                for action in _possible(asking, victim):
                    yield from _misreported(sheet, protections, action, asking, victim)


def _remaining(before: Placement, after: Placement) -> bool:
    return before == after and after.status.is_allocated


def _possible(asking: PodGroup, victim: PodGroup) -> Iterable[str]:
    """Actions that could evict the victim for the preemptor."""
    if asking.index == victim.index:
        return ()
    within = asking.queue == victim.queue
    return tuple(action for action in ACTIONS if action != ("reclaim" if within else "preempt"))


def _misreported(
    sheet: GuardFacts, protections: Sequence[Protection], action: str, asking: PodGroup, victim: PodGroup
) -> Iterator[str]:
    """For pod groups that are never evictable, only the preemptibility guard must be reported."""
    for verdict in sheet.verdicts(action, asking.index, victim.index):
        if verdict.guard == "preemptibility" or victim.is_evictable:
            protection = narrowest_protection(sheet.cluster, protections, verdict.guard, action, asking)
            scope = NOTHING if protection is None else int(protection.scope)
            until = verdict.until if protection is None or not scope else protection.until
            if (_effect(scope, victim), until) != (_effect(verdict.protects, victim), verdict.until):
                yield f"{action} for {asking.facts.name}: {victim.facts.name} has {protection}, but {verdict}"


def _effect(scope: int, victim: PodGroup) -> int:
    """Effective scope: protecting the minimum of a pod group without surplus protects all of it."""
    return ALL if scope == MINIMUM and not _has_surplus(victim.root) else scope


def _has_surplus(part: PodSet | SubGroupSet) -> bool:
    if isinstance(part, PodSet):
        return len(part.tasks) > part.min_available
    return len(part.members) > part.required or any(_has_surplus(member) for member in part.members)


def narrowest_protection(
    cluster: Cluster, protections: Sequence[Protection], guard: str, action: str, asking: PodGroup
) -> Protection | None:
    """Of the protections reported for a victim, the one that describes the preemptor most specifically."""
    path = [] if asking.queue is None else cluster.queues[asking.queue].path
    circles = [("", None), *((cluster.queues[index].facts.name, None) for index in path), ("", asking.index)]
    about = [
        each
        for each in protections
        if each.guard == guard and action in each.actions and _against(each) in circles
    ]
    return max(about, key=lambda each: circles.index(_against(each)), default=None)


def _against(protection: Protection) -> tuple[str, int | None]:
    return protection.against, protection.against_pod_group

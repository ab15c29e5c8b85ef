"""Permitted victims, by preemptibility, opt-outs, priority and minimum runtimes."""

from collections.abc import Iterator
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility

from tests.properties.checks.gang_minimum import core, has_minimum

STALE: Final = "stalegangeviction"


def find_forbidden_victims(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Evictions that are not permitted at all, by this action, or for this preemptor."""
    gone: set[int] = set()
    for group in decision.groups:
        gone |= {evict.task for evict in group.evictions}
        for index in sorted({cluster.tasks[evict.task].pod_group for evict in group.evictions}):
            if group.action != STALE:
                yield from _find_rejections(cluster, group, cluster.pod_groups[index], gone)


def _find_rejections(
    cluster: Cluster, group: DecisionGroup, victim: PodGroup, gone: set[int]
) -> Iterator[str]:
    asking = cluster.pod_groups[group.beneficiary]
    words = f"{victim.facts.name} is evicted by {group.action}, but"
    if not victim.is_evictable:
        yield f"{words} is not preemptible"
    if group.action in victim.facts.opt_out_actions:
        yield f"{words} opts out of that"
    if victim.facts.preemptibility is Preemptibility.SEMI_PREEMPTIBLE and _loses_core(cluster, victim, gone):
        yield f"{words} loses pods of its minimum, which is not preemptible"
    if group.action == "preempt" and victim.facts.priority >= asking.facts.priority:
        yield f"{words} {asking.facts.name} has no higher priority"
    if _is_protected(cluster, group.action, asking, victim) and _loses_minimum(cluster, victim, gone):
        yield f"{words} is protected, and loses pods that it needs"


def _active(cluster: Cluster, group: PodGroup) -> set[int]:
    return {task for task in group.tasks if cluster.tasks[task].placement.status.is_active_allocated}


def _loses_core(cluster: Cluster, victim: PodGroup, gone: set[int]) -> bool:
    """Whether a pod of the core at the start of the cycle is evicted."""
    return bool(core(victim, _active(cluster, victim)) & gone)


def _loses_minimum(cluster: Cluster, victim: PodGroup, gone: set[int]) -> bool:
    """Whether the victim loses its minimum or, if it had none, pods of the minimum of a pod set."""
    before = _active(cluster, victim)
    if has_minimum(victim.root, before):
        return not has_minimum(victim.root, before - gone)
    return any(gone & set(part.tasks) and not has_minimum(part, before - gone) for part in victim.pod_sets)


def _is_protected(cluster: Cluster, action: str, asking: PodGroup, victim: PodGroup) -> bool:
    """Whether its minimum runtime protects it: the preempt value within a leaf queue, else reclaim."""
    if victim.facts.last_start is None or victim.queue is None or asking.queue is None:
        return False
    path = [cluster.queues[q] for q in cluster.queues[victim.queue].path]
    if action == "preempt" or (action != "reclaim" and asking.queue == victim.queue):
        values = [q.facts.preempt_min_runtime for q in path]
    else:
        other = cluster.queues[asking.queue].path
        common = sum(1 for mine, theirs in zip(path, other, strict=False) if mine.index == theirs)
        values = [q.facts.reclaim_min_runtime for q in path[: common + 1]]
    minimum = next((value for value in reversed(values) if value is not None), 0)
    return cluster.now < victim.facts.last_start + minimum

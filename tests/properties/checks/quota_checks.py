"""Non-preemptible usage stays within quota (semantics R4.61, R8.30)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import Placement
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import placements

from tests.properties.checks.gang_minimum import core

NAMES: Final = {CPU: "CPU", MEMORY: "memory", GPU: "GPU"}
Use = Counter[tuple[int, int]]
"""Amounts by queue and resource."""


def find_exceeded_quotas(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Quotas that non-preemptible usage exceeds, and that pods of this cycle added to."""
    before = [task.placement for task in cluster.tasks]
    after = placements(cluster, decision.groups)
    gaining = {
        cluster.tasks[step.task].pod_group
        for group in decision.groups
        for step in (*group.bindings, *group.reservations)
    }
    total, added = Use(), Use()
    for group in cluster.pod_groups:
        use = _non_preemptible_usage(cluster, group, after)
        total.update(use)
        if group.index in gaining:
            added.update(use)
            added.subtract(_non_preemptible_usage(cluster, group, before))
    for (queue, resource), amount in sorted(total.items()):
        quota = cluster.queues[queue].facts.quota[resource]
        if quota != UNLIMITED and amount > quota and added[queue, resource] > 0:
            name = cluster.queues[queue].facts.name
            yield f"{amount} {NAMES[resource]} used firmly in {name}, with a quota of {quota}"


def _non_preemptible_usage(cluster: Cluster, group: PodGroup, places: Sequence[Placement]) -> Use:
    use = Use()
    for task in _non_preemptible_tasks(
        group, {t for t in group.tasks if places[t].status.is_active_allocated}
    ):
        shape = cluster.tasks[task].shape
        amounts = {**{r: shape.request[r] for r in (CPU, MEMORY)}, GPU: shape.gpu.gpu_milli()}
        for queue in () if group.queue is None else cluster.queues[group.queue].path:
            use.update({(queue, resource): amount for resource, amount in amounts.items()})
    return use


def _non_preemptible_tasks(group: PodGroup, active: set[int]) -> set[int]:
    """Tasks that other queues cannot reclaim."""
    if "reclaim" in group.facts.opt_out_actions or not group.is_evictable:
        return active
    return core(group, active) if group.facts.preemptibility is Preemptibility.SEMI_PREEMPTIBLE else set()

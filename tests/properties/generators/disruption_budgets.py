"""Random disruption budgets for the pods of a cluster: tight, ample, unknown, shared; and random rates."""

from dataclasses import replace
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import (
    EVICTION_RATES,
    POD_GROUPS,
    PODS,
    POOL,
    PREEMPTOR_QUEUE,
    VICTIM_QUEUE,
    DisruptionBudget,
    EvictionRate,
    EvictionRateState,
)
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import Draw

NAMES: Final = ("first", "second", "third")
UNKNOWN: Final = "unknown"
_ALLOWED: Final = (0, 0, 1, 1, 2, 3, 9)

PACING: Final = (
    "eviction_rates",
    "max_disrupted_per_cycle",
    "max_disrupted_per_pod_group",
    "budget_patience",
)
"""Options that `random_pacing` draws."""


def with_disruption_budgets(draw: Draw, cluster: Cluster) -> Cluster:
    """Copy of a cluster; most pods name a budget, whole pod groups the same one or each pod its own."""
    names = NAMES[: draw.integer(1, len(NAMES))]
    tasks, counted = cluster.tasks.next_version(), dict[str, set[str]]((name, set()) for name in names)
    share = draw.choice((30, 60, 100))
    for group in cluster.pod_groups:
        of_group = draw.choice(names) if draw.chance(60) else None
        for index in group.tasks:
            if not draw.chance(share):
                continue
            own = {of_group or draw.choice(names)}
            if draw.chance(15):
                own.add(draw.choice((*names, UNKNOWN)))
            task = cluster.tasks[index]
            tasks.put(index, replace(task, facts=replace(task.facts, disruption_budgets=tuple(sorted(own)))))
            if draw.chance(10) and task.placement.status is TaskStatus.RUNNING:
                for name in own & counted.keys():
                    counted[name].add(task.facts.uid)
    budgets = []
    for name in sorted(names):
        end = cluster.now + draw.choice((-60, 60, 600)) * SECOND if draw.chance(40) else None
        budgets.append(DisruptionBudget(name, draw.choice(_ALLOWED), frozenset(counted[name]), end))
    return replace(cluster, tasks=tasks, disruption_budgets=tuple(budgets))


def random_pacing(draw: Draw, cluster: Cluster) -> tuple[Cluster, CycleOptions]:
    """Copy of a cluster with states of rates, and options with these rates and with limits of a cycle."""
    rates, states = list[EvictionRate](), list[EvictionRateState]()
    queues = [queue.facts.name for queue in cluster.queues]
    for name in ("a", "b")[: draw.integer(0, 2)]:
        scope = draw.choice((POOL, VICTIM_QUEUE, PREEMPTOR_QUEUE))
        queue = "" if scope == POOL else draw.choice(queues)
        actions = draw.choice(((), (), ("reclaim",), ("preempt", "consolidation")))
        burst, unit = draw.integer(1, 4), draw.choice((PODS, PODS, POD_GROUPS))
        rates.append(
            EvictionRate(name, draw.integer(1, 20), 3_600 * SECOND, burst, scope, queue, actions, unit)
        )
        if draw.chance(80):
            ago = draw.choice((-60, 0, 1, 60, 600)) * SECOND
            states.append(EvictionRateState(name, draw.integer(-3_000, burst * 1_000), cluster.now - ago))
    options = CycleOptions(
        eviction_rates=tuple(rates),
        max_disrupted_per_cycle=draw.choice((-1, -1, 0, 1, 3)),
        max_disrupted_per_pod_group=draw.choice((-1, -1, 1, 2)),
        budget_patience=draw.choice((-1, -1, 0, 60, 3_600)) * SECOND,
    )
    return cluster.carrying(EVICTION_RATES, states), options

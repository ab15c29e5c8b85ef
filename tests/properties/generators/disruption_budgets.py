"""Random disruption budgets for the pods of a cluster: tight, ample, unknown, shared and overlapping."""

from dataclasses import replace
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import DisruptionBudget
from tenure.solver.model.placement import TaskStatus
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import Draw

NAMES: Final = ("first", "second", "third")
UNKNOWN: Final = "unknown"
_ALLOWED: Final = (0, 0, 1, 1, 2, 3, 9)


def with_disruption_budgets(draw: Draw, cluster: Cluster) -> Cluster:
    """The same cluster; most pods name a budget, whole pod groups the same one or each pod its own."""
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

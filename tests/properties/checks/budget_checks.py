"""Disruption budgets, judged by the facts of the snapshot and the decisions alone (semantics P15.1)."""

from collections import Counter
from collections.abc import Iterator

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState
from tenure.solver.model.placement import TaskStatus


def find_exceeded_budgets(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """No budget is exceeded by decisions and open evictions together; what the result states adds up."""
    known = {budget.name: budget for budget in cluster.disruption_budgets}
    spent, in_flight = Counter[str](), Counter[str]()
    open_evictions = set[int]()
    for status in decision.in_flight:
        group = cluster.in_flight[status.group]
        if status.state is InFlightGroupState.IN_FLIGHT:
            on_node = (s for s in group.evictions if s.task >= 0)
            open_evictions |= {s.task for s in on_node if cluster.tasks[s.task].placement.node == s.node}
    for index in open_evictions:
        if cluster.tasks[index].placement.status is TaskStatus.RUNNING:
            facts = cluster.tasks[index].facts
            counted = (name for name in facts.disruption_budgets if name in known)
            in_flight.update(name for name in counted if facts.uid not in known[name].counted_pods)
    for evict in (evict for group in decision.groups for evict in group.evictions):
        if cluster.tasks[evict.task].placement.status is TaskStatus.RUNNING:
            spent.update(cluster.tasks[evict.task].facts.disruption_budgets)
    for name, number in sorted(spent.items()):
        allowed = known[name].allowed if name in known else 0
        left = max(allowed - in_flight[name], 0)
        if number > left:
            yield f"budget {name} allows {left} of {allowed} disruptions, and decisions disrupt {number}"
    stated = {each.name: each for each in decision.disruption_budgets}
    for name, budget in known.items():
        left = max(budget.allowed - in_flight[name], 0) - spent[name]
        found = stated.get(name)
        if found is None and (spent[name] or in_flight[name]):
            yield f"budget {name} is spent from and not reported"
        elif found is not None and (found.allowed, found.in_flight, found.spent, found.left) != (
            budget.allowed,
            in_flight[name],
            spent[name],
            left,
        ):
            yield f"budget {name} is reported as {found}, with {spent[name]} spent and {left} left"

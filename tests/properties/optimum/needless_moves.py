"""Pods that a decision moves to other nodes without need, proven by CP-SAT.

Pods that it evicts for good are gone. Each pod that it moves may stay at home, or move to any node.
"""

from collections.abc import Set

from ortools.sat.python import cp_model

from tests.properties.optimum.cluster_facts import ClusterFacts
from tests.properties.optimum.least_victims import solved


def needless_moves(facts: ClusterFacts, moved: Set[str], evicted: Set[str]) -> int:
    """How many of the moved pods could stay, while the gang starts and the others move. Raises NotProven."""
    model = cp_model.CpModel()
    at = {(pod, node): model.new_bool_var(f"{pod} at {node}") for pod in sorted(moved) for node in facts.free}
    request, pods = facts.amounts[facts.waiting[0]], len(facts.waiting)
    placed = {node: model.new_int_var(0, pods, node) for node in facts.free}
    for pod in moved:
        model.add_exactly_one(at[pod, node] for node in facts.free)
    for node, free in facts.free.items():
        freed = [pod for pod in moved | evicted if facts.node_of[pod] == node]
        for slot, amount in enumerate(request):
            has = free[slot] + sum(facts.amounts[pod][slot] for pod in freed)
            entering = [facts.amounts[pod][slot] * at[pod, node] for pod in moved]
            model.add(amount * placed[node] + sum(entering) <= has)
    model.add(sum(placed.values()) == pods)
    model.maximize(sum(at[pod, facts.node_of[pod]] for pod in moved))
    solver = solved(model)
    return 0 if solver is None else round(solver.objective_value)

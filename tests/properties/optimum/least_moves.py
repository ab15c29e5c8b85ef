"""The fewest pods whose moves to other nodes make room for the gang, proven by CP-SAT.

Equal pods are interchangeable where they enter, so a node has one number for each shape. A part of a core may
move: what returns to its node is not disrupted (R5.56).
"""

from typing import Final

from ortools.sat.python import cp_model

from tests.properties.optimum.cluster_facts import Amounts, ClusterFacts
from tests.properties.optimum.least_victims import solved

MOST_POD_GROUPS: Final = 16
"""That a consolidation moves (R2.4)."""


def least_moves(facts: ClusterFacts, measure: str) -> frozenset[str] | None:
    """Pods to move, the fewest or those with the fewest GPUs; None: no moves suffice. Raises NotProven."""
    model = cp_model.CpModel()
    leaves: dict[str, cp_model.IntVar] = {}
    touched = []
    for candidate in facts.candidates:
        keeps_core = candidate.keeps_core or candidate.minimum > candidate.most
        movable = candidate.pods[candidate.minimum :] if keeps_core else candidate.pods
        own = {pod: model.new_bool_var(pod) for pod in movable}
        model.add(sum(own.values()) <= candidate.most)
        is_touched = model.new_bool_var(candidate.uid)
        for pod in own.values():
            model.add_implication(pod, is_touched)
        touched.append(is_touched)
        leaves.update(own)
    model.add(sum(touched) <= MOST_POD_GROUPS)
    shapes: dict[Amounts, list[str]] = {}
    for pod in leaves:
        shapes.setdefault(facts.amounts[pod], []).append(pod)
    enters = {
        (shape, node): model.new_int_var(0, len(pods), f"{shape} to {node}")
        for shape, pods in shapes.items()
        for node in facts.free
    }
    for shape, pods in shapes.items():
        model.add(sum(enters[shape, node] for node in facts.free) == sum(leaves[pod] for pod in pods))
    request, pods = facts.amounts[facts.waiting[0]], len(facts.waiting)
    placed = {node: model.new_int_var(0, pods, node) for node in facts.free}
    model.add(sum(placed.values()) == pods)
    for node, free in facts.free.items():
        for slot, amount in enumerate(request):
            entering = sum(shape[slot] * enters[shape, node] for shape in shapes)
            leaving = sum(
                facts.amounts[pod][slot] * left for pod, left in leaves.items() if facts.node_of[pod] == node
            )
            model.add(amount * placed[node] + entering <= free[slot] + leaving)
    number, gpus = sum(leaves.values()), sum(facts.gpus(pod) * left for pod, left in leaves.items())
    model.minimize(1000 * number + gpus if measure == "pods" else 1000 * gpus + number)
    solver = solved(model)
    return None if solver is None else frozenset(pod for pod, left in leaves.items() if solver.value(left))

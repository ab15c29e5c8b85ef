"""The most GPUs that start where no pod group has fewer pods than it was given, proven by CP-SAT.

It knows the snapshots of `waiting_pods`: pod groups of equal pods with whole GPUs, without limits of queues.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ortools.sat.python import cp_model
from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING, POD_STATUS_RUNNING, ClusterSnapshot

EFFORT: Final = 10.0
"""Deterministic time of one proof."""
Amounts = tuple[int, int, int, int]
Places = dict[str, str]
"""Nodes by pod."""


class NotProven(Exception):
    """The effort did not suffice for a proof."""


class Waiting(NamedTuple):
    """A pod group that waits. Its pods are equal."""

    uid: str
    pods: tuple[str, ...]
    minimum: int
    amounts: Amounts
    gpus: int
    """Of one pod."""


class FreePlaces:
    """What of a snapshot decides which pods fit: the pod groups that wait, and what is free on the nodes."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        shapes = {shape.id: shape for shape in snapshot.shapes}
        amounts = {
            name: (shape.requests.cpu_milli, shape.requests.memory_bytes, 1000 * shape.gpu.devices, 1)
            for name, shape in shapes.items()
        }
        free = {
            node.name: [
                node.allocatable.cpu_milli,
                node.allocatable.memory_bytes,
                node.allocatable.gpu_milli,
                node.allocatable.pods,
            ]
            for node in snapshot.nodes
        }
        waiting: dict[str, list[str]] = {}
        shape_of: dict[str, str] = {}
        for pod in snapshot.pods:
            if pod.status == POD_STATUS_RUNNING:
                taken = amounts[pod.shape]
                free[pod.node] = [has - takes for has, takes in zip(free[pod.node], taken, strict=True)]
            elif pod.status == POD_STATUS_PENDING:
                waiting.setdefault(pod.pod_group, []).append(pod.uid)
                shape_of[pod.pod_group] = pod.shape
        self.free: Final[Mapping[str, list[int]]] = free
        self.waiting: Final = [
            Waiting(
                group.uid,
                tuple(waiting[group.uid]),
                max(group.min_member, 1),
                amounts[shape_of[group.uid]],
                shapes[shape_of[group.uid]].gpu.devices,
            )
            for group in snapshot.pod_groups
            if group.uid in waiting
        ]
        self.free_gpus: Final = sum(has[2] for has in free.values()) // 1000

    def gpus(self, started: Mapping[str, int]) -> int:
        """GPUs of so many pods by pod group."""
        return sum(group.gpus * started.get(group.uid, 0) for group in self.waiting)


def most_gpus(places: FreePlaces, given: Mapping[str, int]) -> Places:
    """A node for each pod of a choice with the most GPUs, where pod groups have at least `given` pods.

    Raises NotProven.
    """
    model, waiting = cp_model.CpModel(), places.waiting
    put = {
        (group.uid, node): model.new_int_var(0, len(group.pods), f"{group.uid} on {node}")
        for group in waiting
        for node in places.free
    }
    total = []
    for group in waiting:
        starts = model.new_bool_var(group.uid)
        number = sum(put[group.uid, node] for node in places.free)
        model.add(number >= group.minimum).only_enforce_if(starts)
        model.add(number == 0).only_enforce_if(starts.negated())
        model.add(number <= len(group.pods))
        model.add(number >= given.get(group.uid, 0))
        total.append(group.gpus * number)
    for node, free in places.free.items():
        for slot, amount in enumerate(free):
            model.add(sum(group.amounts[slot] * put[group.uid, node] for group in waiting) <= amount)
    model.maximize(sum(total))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = EFFORT
    if solver.solve(model) != cp_model.OPTIMAL:
        raise NotProven
    found: Places = {}
    for group in waiting:
        nodes = [node for node in places.free for _ in range(solver.value(put[group.uid, node]))]
        found.update(zip(group.pods, nodes, strict=False))
    return found

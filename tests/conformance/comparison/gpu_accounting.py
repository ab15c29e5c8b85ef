"""Idle and releasing whole GPUs of a node (semantics R1.19, R1.23)."""

from collections import defaultdict
from collections.abc import Iterator

from tests.conformance.cases import Json
from tests.conformance.conversion.claims import claim_names, claimed_gpus
from tests.conformance.task_table import ON_NODE, Session, TaskState


def idle_and_releasing(case: Json, node: Json, session: Session) -> tuple[float, float]:
    """Return (idle, releasing) GPUs of the node.

    A shared device and the devices of a shared claim are not idle. Reservations reduce the releasing GPUs.
    A task that is relocated also counts on the node that it leaves.
    """
    idle, releasing = float(node["allocatable"]["gpus"]), 0.0
    sharers: dict[str, list[str]] = defaultdict(list)
    claimed = claimed_gpus(case)
    for task, state in _on_node(case, node["name"], session):
        request, claims = task["request"], claim_names(task)
        for group in state.gpu_groups if request["type"] in ("Fraction", "GpuMemory") else ():
            sharers[group].append(state.status)
        for claim in claims:
            sharers[claim].append(state.status)
        gpus = request["gpus"] - sum(claimed[claim] for claim in claims) if _is_whole(task) else 0
        idle -= gpus if state.status != "Pipelined" else 0
        releasing += _released(state.status) * gpus
    for name, statuses in sharers.items():
        is_in_use = any(status != "Pipelined" for status in statuses)
        idle -= claimed.get(name, 1) * is_in_use
        is_releasing = all(status == "Releasing" for status in statuses)
        releasing += claimed.get(name, 1) * (is_releasing - (not is_in_use))
    return idle, releasing


def accepted_gpus(task: Json, state: TaskState, nodes: dict[str, Json]) -> float:
    """Allocated GPUs of a task. GPU memory is converted to hundredths of a device of its node."""
    if state.status not in ON_NODE or state.node is None:
        return 0.0
    gpu = task["request"]["gpu"]
    if not gpu["gpu_memory_mib"]:
        return float(gpu["gpus"])
    hundredths = -(-gpu["gpu_memory_mib"] * 100 // nodes[state.node]["gpu_memory_mib"])
    return float(hundredths * gpu["count"]) / 100


def _on_node(case: Json, node: str, session: Session) -> Iterator[tuple[Json, TaskState]]:
    for job in case["jobs"]:
        for task in job["tasks"]:
            for table in (session.tasks, session.leaving):
                state = table.get(task["uid"])
                if state and state.node == node and state.status in ON_NODE:
                    yield task, state


def _is_whole(task: Json) -> bool:
    return bool(task["request"]["type"] == "Regular")


def _released(status: str) -> int:
    return {"Releasing": 1, "Pipelined": -1}.get(status, 0)

"""How many whole GPUs of a node are idle and how many are about to be (semantics R1.19, R1.23)."""

from collections import defaultdict
from collections.abc import Iterator

from tests.conformance.cases import Json
from tests.conformance.task_table import ON_NODE, Session, TaskState


def idle_and_releasing(case: Json, node: Json, session: Session) -> tuple[float, float]:
    """(idle, releasing) GPUs of the node. A device shared by anyone is not idle, promises take from what
    is being released, and a task that moves is counted on the node it leaves as well.
    """
    idle, releasing = float(node["allocatable"]["gpus"]), 0.0
    sharers: dict[str, list[str]] = defaultdict(list)
    for task, state in _on_node(case, node["name"], session):
        request = task["request"]
        for group in state.gpu_groups if request["type"] in ("Fraction", "GpuMemory") else ():
            sharers[group].append(state.status)
        idle -= request["gpus"] if _is_whole(task) and state.status != "Pipelined" else 0
        releasing += _released(state.status) * request["gpus"] if _is_whole(task) else 0
    for statuses in sharers.values():
        is_in_use = any(status != "Pipelined" for status in statuses)
        idle -= is_in_use
        releasing += all(status == "Releasing" for status in statuses) - (not is_in_use)
    return idle, releasing


def accepted_gpus(task: Json, state: TaskState, nodes: dict[str, Json]) -> float:
    """GPUs a task really got: sizes given as memory become hundredths of a device of its node."""
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

"""NUMA zones of a case: of its nodes, of its running tasks, and what is left after a session."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tenure.v1 import resources_pb2, snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.task_table import ON_NODE, Session, TaskState, ZoneAmounts, initial_table

POLICIES = {
    "None": snapshot_pb2.NUMA_POLICY_UNSPECIFIED,
    "BestEffort": snapshot_pb2.NUMA_POLICY_BEST_EFFORT,
    "Restricted": snapshot_pb2.NUMA_POLICY_RESTRICTED,
    "SingleNUMANode": snapshot_pb2.NUMA_POLICY_SINGLE_NUMA_NODE,
}
"""By the names of the case format, where CPU of a zone is in milli-cores and GPUs are whole devices."""

FIELDS = {"cpu": ("cpu_milli", 1), "memory": ("memory_bytes", 1), "nvidia.com/gpu": ("gpu_milli", 1000)}


def add_zones(message: snapshot_pb2.Node, node: Json) -> None:
    """The zones of the node, if it has any."""
    topology = node.get("numa_topology")
    if topology is None:
        return
    message.numa_policy = POLICIES[topology["policy"]]
    for zone in topology["zones"]:
        message.numa_zones.add(
            id=zone["id"],
            allocatable=to_resources(zone["allocatable"]),
            available=to_resources(zone["available"]),
        )


def to_resources(amounts: Mapping[str, float]) -> resources_pb2.Resources:
    """Amounts of a case, by resource name, as a message."""
    message = resources_pb2.Resources()
    for name, amount in amounts.items():
        if name in FIELDS:
            field, unit = FIELDS[name]
            setattr(message, field, round(amount * unit))
        else:
            message.extended[name] = round(amount)
    return message


def to_placement(zones: ZoneAmounts) -> list[resources_pb2.NumaPlacement]:
    """What a task takes in its zones, as messages."""
    return [resources_pb2.NumaPlacement(zone=zone, amounts=to_resources(dict(a))) for zone, a in zones]


def from_placement(messages: Iterable[resources_pb2.NumaPlacement]) -> ZoneAmounts:
    """The same back, in the units of the case."""
    return tuple((message.zone, _from_resources(message.amounts)) for message in messages)


def available(case: Json, node: Json, session: Session) -> dict[str, dict[str, float]]:
    """What is available in the zones of the node after a session, by position and resource name.

    Evicted tasks give back what they took, promised ones take theirs already.
    """
    zones, initial = node["numa_topology"]["zones"], initial_table(case)
    left = {zone["id"]: defaultdict(float, zone["available"]) for zone in zones}
    for job in case["jobs"]:
        for task in job["tasks"]:
            before, after = initial[task["uid"]], session.tasks[task["uid"]]
            for state, sign in ((before, 1), (after, -1)):
                for zone, amounts in state.zones if _takes(state, node["name"]) else ():
                    for name, amount in amounts:
                        left[zone][name] += sign * amount
    return {str(at): dict(left[zone["id"]]) for at, zone in enumerate(zones)}


def positions(node: Json, state: TaskState) -> list[int]:
    """Positions of the zones a task is in."""
    ids = [zone["id"] for zone in node["numa_topology"]["zones"]] if node.get("numa_topology") else []
    return sorted(ids.index(zone) for zone, _ in state.zones)


def _takes(state: TaskState, node: str) -> bool:
    return state.node == node and state.status in ON_NODE - {"Releasing"}


def _from_resources(message: resources_pb2.Resources) -> tuple[tuple[str, float], ...]:
    amounts = {name: getattr(message, field) / unit for name, (field, unit) in FIELDS.items()}
    return tuple(sorted((k, float(v)) for k, v in {**amounts, **message.extended}.items() if v))

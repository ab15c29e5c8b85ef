"""Converts NUMA zones of a case: zones of nodes, placements of tasks, available amounts after a session."""

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
"""Resource names of the case format. CPU of a zone is in milli-cores and GPUs are whole devices."""

FIELDS = {"cpu": ("cpu_milli", 1), "memory": ("memory_bytes", 1), "nvidia.com/gpu": ("gpu_milli", 1000)}


def add_zones(message: snapshot_pb2.Node, node: Json) -> None:
    """Add the zones of the node, if it has any."""
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
    """Convert amounts of a case, by resource name, to a message."""
    message = resources_pb2.Resources()
    for name, amount in amounts.items():
        if name in FIELDS:
            field, unit = FIELDS[name]
            setattr(message, field, round(amount * unit))
        else:
            message.extended[name] = round(amount)
    return message


def to_placement(zones: ZoneAmounts) -> list[resources_pb2.NumaPlacement]:
    """Convert the amounts that a task uses in its zones to messages."""
    return [resources_pb2.NumaPlacement(zone=zone, amounts=to_resources(dict(a))) for zone, a in zones]


def from_placement(messages: Iterable[resources_pb2.NumaPlacement]) -> ZoneAmounts:
    """Convert placements back to the units of the case."""
    return tuple((message.zone, _from_resources(message.amounts)) for message in messages)


def available(case: Json, node: Json, session: Session) -> dict[str, dict[str, float]]:
    """Return the available amounts in the zones of the node after a session, by position and resource name.

    Amounts of evicted tasks are available again. Amounts of pipelined tasks are not available.
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
    """Return the positions of the zones of a task."""
    ids = [zone["id"] for zone in node["numa_topology"]["zones"]] if node.get("numa_topology") else []
    return sorted(ids.index(zone) for zone, _ in state.zones)


def _takes(state: TaskState, node: str) -> bool:
    return state.node == node and state.status in ON_NODE - {"Releasing"}


def _from_resources(message: resources_pb2.Resources) -> tuple[tuple[str, float], ...]:
    amounts = {name: getattr(message, field) / unit for name, (field, unit) in FIELDS.items()}
    return tuple(sorted((k, float(v)) for k, v in {**amounts, **message.extended}.items() if v))

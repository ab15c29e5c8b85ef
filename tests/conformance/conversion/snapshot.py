"""Converts a case to a snapshot message: nodes, queues and topologies.

Pod groups and pods are in `workload`, resource claims in `claims`, NUMA zones in `numa`.
"""

from typing import Any

from tenure.v1 import resources_pb2, snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.claims import devices, resource_claims
from tests.conformance.conversion.numa import add_zones
from tests.conformance.conversion.times import duration, timestamp
from tests.conformance.conversion.workload import add_workload
from tests.conformance.task_table import TaskTable

MIG_STRATEGIES = {
    None: snapshot_pb2.MIG_STRATEGY_UNSPECIFIED,
    "single": snapshot_pb2.MIG_STRATEGY_SINGLE,
    "mixed": snapshot_pb2.MIG_STRATEGY_MIXED,
}

UNLIMITED = -1


def to_snapshot(case: Json, tasks: TaskTable, version: int) -> snapshot_pb2.ClusterSnapshot:
    """Return the snapshot of a session: the case with its tasks in the given states.

    Raises ValueError if an amount does not fit a field of the contract.
    """
    snapshot = snapshot_pb2.ClusterSnapshot(
        cluster_id=case["id"],
        version=version,
        now=timestamp(0),
        nodes=[_node(case, node) for node in case["nodes"]],
        queues=[_queue(queue) for queue in case["queues"]],
        topologies=[_topology(topology) for topology in case["topologies"]],
        resource_claims=resource_claims(case),
    )
    add_workload(snapshot, case, tasks)
    return snapshot


def _node(case: Json, node: Json) -> snapshot_pb2.Node:
    allocatable = node["allocatable"]
    message = snapshot_pb2.Node(
        name=node["name"],
        labels=node["labels"],
        allocatable=resources_pb2.Resources(
            cpu_milli=round(allocatable["cpu_milli"]),
            memory_bytes=round(allocatable["memory_bytes"]),
            gpu_milli=milli(allocatable["gpus"] - node["dra_gpus"]),
            pods=round(allocatable["pods"]),
            extended={name: round(count) for name, count in allocatable["mig"].items()},
        ),
        gpu_memory_mib=round(node["gpu_memory_mib"]) if node["gpu_memory_synced"] else 0,
        mig_strategy=MIG_STRATEGIES[node["mig_strategy"]],
        devices=devices(case, node["name"]),
    )
    add_zones(message, node)
    return message


def _queue(queue: Json) -> snapshot_pb2.Queue:
    memory = queue["memory_mb"]
    message = snapshot_pb2.Queue(
        name=queue["uid"],
        parent=queue["parent"] or "",
        priority=queue["priority"],
        creation_time=timestamp(queue["creation_offset_s"], queue["build_order"]),
        cpu_milli=_share(queue["cpu_milli"], round),
        memory_bytes=_share(
            {**memory, "quota": memory["quota_bytes"], "limit": memory["limit_bytes"]},
            round,
        ),
        gpu_milli=_share(queue["gpu"], milli),
    )
    if queue["preempt_min_runtime_s"] is not None:
        message.preempt_min_runtime.CopyFrom(duration(queue["preempt_min_runtime_s"]))
    if queue["reclaim_min_runtime_s"] is not None:
        message.reclaim_min_runtime.CopyFrom(duration(queue["reclaim_min_runtime_s"]))
    return message


def _share(share: Json, unit: Any) -> snapshot_pb2.QueueResource:
    return snapshot_pb2.QueueResource(
        quota=_bounded(share["quota"], unit),
        limit=_bounded(share["limit"], unit),
        over_quota_weight=share["over_quota_weight"],
    )


def _bounded(amount: float, unit: Any) -> int:
    return UNLIMITED if amount == UNLIMITED else int(unit(amount))


def milli(gpus: float) -> int:
    """Convert GPUs to thousandths of a device."""
    return round(gpus * 1000)


def _topology(topology: Json) -> snapshot_pb2.Topology:
    levels = [level["node_label"] for level in topology["levels"]]
    return snapshot_pb2.Topology(name=topology["name"], levels=levels)

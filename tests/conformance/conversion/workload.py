"""Converts jobs and tasks of a case to pod groups, pods and pod shapes."""

from collections.abc import Iterator

from tenure.v1 import resources_pb2, snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.blocked_reasons import find_blocked_reason
from tests.conformance.conversion.claims import claim_names
from tests.conformance.conversion.numa import to_placement
from tests.conformance.conversion.times import duration, timestamp
from tests.conformance.task_table import ON_NODE, TaskState, TaskTable, last_starts

NODE_NAME_LABEL = "kai.scheduler/type"
"""Label of every node of a case, with the name of the node as its value. Node affinities refer to it."""

POD_STATUS = {
    "Pending": snapshot_pb2.POD_STATUS_PENDING,
    "Gated": snapshot_pb2.POD_STATUS_GATED,
    "Allocated": snapshot_pb2.POD_STATUS_BOUND,
    "Pipelined": snapshot_pb2.POD_STATUS_PIPELINED,
    "Binding": snapshot_pb2.POD_STATUS_BINDING,
    "Bound": snapshot_pb2.POD_STATUS_BOUND,
    "Running": snapshot_pb2.POD_STATUS_RUNNING,
    "Releasing": snapshot_pb2.POD_STATUS_RELEASING,
    "StuckInReleasing": snapshot_pb2.POD_STATUS_STUCK_IN_RELEASING,
    "Succeeded": snapshot_pb2.POD_STATUS_SUCCEEDED,
    "Failed": snapshot_pb2.POD_STATUS_FAILED,
    "Unknown": snapshot_pb2.POD_STATUS_UNKNOWN,
    "Deleted": snapshot_pb2.POD_STATUS_UNKNOWN,
}
"""Allocated is in the same sets of statuses as Bound, Deleted in the same as Unknown (semantics R1.40)."""


def add_workload(snapshot: snapshot_pb2.ClusterSnapshot, case: Json, tasks: TaskTable) -> None:
    """Add all jobs of the case, with their tasks in the given states, to the snapshot."""
    started = last_starts(case, tasks)
    shape_ids: dict[bytes, str] = {}
    for job in case["jobs"]:
        snapshot.pod_groups.append(_pod_group(job, started.get(job["uid"])))
        for task in job["tasks"]:
            shape = task_shape(task)
            shape.guaranteed = job.get("qos_class") == "Guaranteed"
            pod = _pod(job, task, tasks[task["uid"]], _intern_shape(snapshot, shape_ids, shape))
            pod.blocked_reason = find_blocked_reason(case, task)
            snapshot.pods.append(pod)


def _pod_group(job: Json, last_start_s: float | None) -> snapshot_pb2.PodGroup:
    message = snapshot_pb2.PodGroup(
        uid=job["uid"],
        name=job["name"],
        namespace=job["namespace"],
        queue=job["queue"],
        priority=job["priority"],
        preemptibility=snapshot_pb2.PREEMPTIBILITY_PREEMPTIBLE
        if job["preemptible"]
        else snapshot_pb2.PREEMPTIBILITY_NON_PREEMPTIBLE,
        topology_constraint=_topology_constraint(job["sub_group_tree"]),
        creation_time=timestamp(job["creation_offset_s"], job["build_order"]),
    )
    _add_sub_groups(message, job["sub_group_tree"])
    if last_start_s is not None:
        message.last_start_time.CopyFrom(timestamp(last_start_s))
    if job["stale_since_offset_s"] is not None:
        message.stale_since.CopyFrom(timestamp(job["stale_since_offset_s"]))
    if job["staleness_grace_period_s"] is not None:
        message.staleness_grace_period.CopyFrom(duration(job["staleness_grace_period_s"]))
    if job["preemption_delay_s"] is not None:
        message.preemption_delay.CopyFrom(duration(job["preemption_delay_s"]))
    return message


def _add_sub_groups(message: snapshot_pb2.PodGroup, tree: Json) -> None:
    """Add the subgroups. A job with only an unconstrained "default" is a plain pod group with a minimum."""
    if tree["min_sub_groups"] is not None:
        message.min_sub_group = tree["min_sub_groups"]
    parts = tree["pod_sets"]
    if not tree["sub_groups"] and [part["name"] for part in parts] == ["default"]:
        (part,) = parts
        if _topology_constraint(part) is None and tree["min_sub_groups"] is None:
            message.min_member = part["min_available"]
            return
    message.sub_groups.extend(_sub_groups(tree, parent=""))


def _sub_groups(tree: Json, parent: str) -> Iterator[snapshot_pb2.SubGroup]:
    for inner in tree["sub_groups"]:
        yield snapshot_pb2.SubGroup(
            name=inner["name"],
            parent=parent,
            min_sub_group=inner["min_sub_groups"],
            topology_constraint=_topology_constraint(inner),
        )
        yield from _sub_groups(inner, inner["name"])
    for leaf in tree["pod_sets"]:
        yield snapshot_pb2.SubGroup(
            name=leaf["name"],
            parent=parent,
            min_member=leaf["min_available"],
            topology_constraint=_topology_constraint(leaf),
        )


def _topology_constraint(part: Json) -> snapshot_pb2.TopologyConstraint | None:
    constraint = part["topology_constraint"]
    if constraint is None or not constraint["topology"]:
        return None
    return snapshot_pb2.TopologyConstraint(
        topology=constraint["topology"],
        required_level=constraint["required_level"] or "",
        preferred_level=constraint["preferred_level"] or "",
    )


def _pod(job: Json, task: Json, state: TaskState, shape: str) -> snapshot_pb2.Pod:
    is_there = state.status in ON_NODE
    return snapshot_pb2.Pod(
        uid=task["uid"],
        name=task["name"],
        pod_group=job["uid"],
        sub_group=task["sub_group"],
        shape=shape,
        status=POD_STATUS[state.status],
        node=state.node if is_there else "",
        gpu_groups=state.gpu_groups if is_there else (),
        task_priority=task["order_label"],
        resource_claims=claim_names(task),
        labels=task.get("labels"),
        numa_placement=to_placement(state.zones) if is_there else (),
    )


def task_shape(task: Json) -> snapshot_pb2.PodShape:
    """Return the resource request and the placement constraints of the task, without an id."""
    request = task["request"]
    shape = snapshot_pb2.PodShape(
        requests=resources_pb2.Resources(
            cpu_milli=round(request["cpu_milli"]),
            memory_bytes=round(request["memory_bytes"]),
            extended={name: round(count) for name, count in request["mig_requests"].items()},
        ),
        gpu=_gpu(request),
    )
    if task["node_affinity_names"]:
        requirement = shape.node_affinity.add().requirements.add()
        requirement.key = NODE_NAME_LABEL
        requirement.operator = snapshot_pb2.SELECTOR_OPERATOR_IN
        requirement.values.extend(task["node_affinity_names"])
    for field in ("pod_affinity", "pod_anti_affinity"):
        if term := task.get(field):
            message = snapshot_pb2.PodAffinityTerm(topology_key=term["topology_key"])
            message.match_labels.update(term["match_labels"])
            getattr(shape, field).append(message)
    return shape


def _gpu(request: Json) -> resources_pb2.GpuRequest | None:
    gpu = request["gpu"]
    match request["type"]:
        case "Fraction":
            return resources_pb2.GpuRequest(devices=gpu["count"], portion_milli=round(gpu["portion"] * 1000))
        case "GpuMemory":
            return resources_pb2.GpuRequest(devices=gpu["count"], memory_mib=gpu["gpu_memory_mib"])
        case "Regular" if gpu["portion"] >= 1:
            return resources_pb2.GpuRequest(devices=gpu["count"])
    return None


def _intern_shape(
    snapshot: snapshot_pb2.ClusterSnapshot, ids: dict[bytes, str], shape: snapshot_pb2.PodShape
) -> str:
    """Return the id of this shape in the snapshot, and add the shape if it is missing."""
    key = shape.SerializeToString(deterministic=True)
    if key not in ids:
        ids[key] = shape.id = f"shape-{len(ids)}"
        snapshot.shapes.append(shape)
    return ids[key]

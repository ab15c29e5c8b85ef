"""Converts a cluster of the solver's model to a snapshot message."""

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Node
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet, Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.terms.durations import SECOND
from tenure.v1 import resources_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import timestamp


def to_message(cluster: Cluster) -> pb.ClusterSnapshot:
    """Convert a random cluster. Fields that random clusters never set are not converted."""
    snapshot = pb.ClusterSnapshot(cluster_id="random", now=timestamp(cluster.now))
    snapshot.nodes.extend(_node(node) for node in cluster.nodes)
    snapshot.queues.extend(_queue(queue, cluster) for queue in cluster.queues)
    snapshot.shapes.extend(_shape(shape) for shape in cluster.shapes)
    snapshot.pod_groups.extend(_pod_group(group) for group in cluster.pod_groups)
    for group in cluster.pod_groups:
        for pod_set in group.pod_sets:
            part = pod_set.name if pod_set.name != "default" else ""
            snapshot.pods.extend(_pod(cluster.tasks[task], part, cluster) for task in pod_set.tasks)
    return snapshot


def _node(node: Node) -> pb.Node:
    cpu, memory, gpu, pods = node.allocatable[:4]
    amounts = resources_pb2.Resources(cpu_milli=cpu, memory_bytes=memory, gpu_milli=gpu, pods=pods)
    memory_mib = node.gpu_memory_mib if node.gpu_memory_known else 0
    return pb.Node(
        name=node.facts.name,
        labels=node.facts.labels,
        allocatable=amounts,
        gpu_memory_mib=memory_mib,
        unschedulable=bool(node.unready),
    )


def _queue(queue: Queue, cluster: Cluster) -> pb.Queue:
    message = pb.Queue(
        name=queue.facts.name,
        parent="" if queue.parent is None else cluster.queues[queue.parent].facts.name,
        priority=queue.facts.priority,
        creation_time=timestamp(queue.facts.creation),
    )
    for slot, field in enumerate((message.cpu_milli, message.memory_bytes, message.gpu_milli)):
        field.quota, field.limit = queue.facts.quota[slot], queue.facts.limit[slot]
        field.over_quota_weight = queue.facts.weight[slot]
    for name in ("preempt_min_runtime", "reclaim_min_runtime"):
        if (span := getattr(queue.facts, name)) is not None:
            getattr(message, name).FromNanoseconds(span)
    return message


def _shape(shape: TaskShape) -> pb.PodShape:
    cpu, memory = shape.request[:2]
    message = pb.PodShape(
        id=f"shape {shape.index}",
        requests=resources_pb2.Resources(cpu_milli=cpu, memory_bytes=memory),
        node_selector=dict(shape.constraints.node_selector),
    )
    message.gpu.devices = shape.gpu.devices
    if shape.gpu.is_shared:
        message.gpu.portion_milli = shape.gpu.portion_milli
    return message


def _pod_group(group: PodGroup) -> pb.PodGroup:
    message = pb.PodGroup(
        uid=group.facts.uid,
        name=group.facts.name,
        namespace=group.facts.namespace,
        queue=group.facts.queue_name,
        priority=group.facts.priority,
        preemptibility=int(group.facts.preemptibility),
        creation_time=timestamp(group.facts.creation),
        opt_out_actions=sorted(group.facts.opt_out_actions),
    )
    message.preemption_delay.FromSeconds(group.facts.preemption_delay // SECOND)
    if group.facts.last_start is not None:
        message.last_start_time.CopyFrom(timestamp(group.facts.last_start))
    if [part.name for part in group.pod_sets] == ["default"]:
        message.min_member = group.pod_sets[0].min_available
        return message
    if group.root.min_sub_groups is not None:
        message.min_sub_group = group.root.min_sub_groups
    _add_parts(message, group.root, "")
    return message


def _add_parts(message: pb.PodGroup, around: SubGroupSet, parent: str) -> None:
    for member in around.members:
        part = message.sub_groups.add(name=member.name, parent=parent)
        if isinstance(member, PodSet):
            part.min_member = member.min_available
            continue
        if member.min_sub_groups is not None:
            part.min_sub_group = member.min_sub_groups
        _add_parts(message, member, member.name)


def _pod(task: Task, part: str, cluster: Cluster) -> pb.Pod:
    place = task.placement
    return pb.Pod(
        uid=task.facts.uid,
        name=task.facts.name,
        pod_group=cluster.pod_groups[task.pod_group].facts.uid,
        sub_group=part,
        shape=f"shape {task.shape.index}",
        status=int(place.status),
        node="" if place.node == NOWHERE else cluster.nodes[place.node].facts.name,
        gpu_groups=place.gpu_groups,
        creation_time=timestamp(task.facts.creation),
    )

"""Plays one exam: all pods pending in one queue, in the order of their arrival, decided in one cycle.

A cycle places pending pods one after the other and passes over those that fit nowhere, so it is the same as
if each arrived alone, and quicker. Only the mix of the plugin `fragmentation` is that of all pods throughout.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from time import process_time
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import Profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.resources_pb2 import GpuRequest, Resources

from tests.placement_exam.arrivals import ARRIVED, Arrivals
from tests.placement_exam.reference_value import FreeNode
from tests.placement_exam.trace_lists import WHOLE_GPU, ExamNode, ExamPod

MODEL: Final = "model"
MIB: Final = 1 << 20
GPU_MEMORY_MIB: Final = 16_000
"""Of every GPU: a multiple of 1,000, so that thousandths of a GPU are whole MiB."""
POD_SLOTS: Final = 1_001


Places = Mapping[str, tuple[str, tuple[str, ...]]]
"""By pod: its node and the devices that it shares."""


class Played(NamedTuple):
    """The result of a play."""

    allocated: float
    """Percent of the GPUs in use, as published: the mean over the pods that arrive at 130 %."""
    seconds: float
    """CPU time of the call."""
    places: Places


def play(arrived: Arrivals, profile: Profile) -> Played:
    """Decide once, on an empty cluster."""
    request = DecideRequest(snapshot=_snapshot(arrived), actions=["allocate"])
    engine = Engine(profile)
    start = process_time()
    response = engine.decide(request)
    seconds = process_time() - start
    steps = [step.bind for group in response.parse().groups for step in group.decisions]
    places = {bind.pod: (bind.node, tuple(bind.gpu_groups)) for bind in steps}
    return Played(allocated(arrived, places), seconds, places)


def allocated(arrived: Arrivals, places: Places) -> float:
    """Percent of the GPUs in use, the mean over all pods at whose arrival 130 % has arrived, rounded."""
    capacity = sum(node.gpus for node in arrived.nodes) * WHOLE_GPU
    amounts = [pod.total_gpu_milli for pod in arrived.pods]
    used = [pod.total_gpu_milli if pod.name in places else 0 for pod in arrived.pods]
    last = [
        round(100 * now / capacity, 2)
        for all_so_far, now in zip(accumulate(amounts), accumulate(used), strict=True)
        if round(100 * all_so_far / capacity) == ARRIVED
    ]
    return sum(last) / len(last)


def free_nodes(arrived: Arrivals, places: Places) -> list[FreeNode]:
    """What is free on each node in the end."""
    cpu = {node.name: node.cpu_milli for node in arrived.nodes}
    whole = {node.name: node.gpus for node in arrived.nodes}
    shared = dict[tuple[str, str], int]()
    for pod in arrived.pods:
        if pod.name not in places:
            continue
        node, devices = places[pod.name]
        cpu[node] -= pod.cpu_milli
        if not devices:
            whole[node] -= pod.gpus
        for device in devices:
            shared[node, device] = shared.get((node, device), WHOLE_GPU) - pod.gpu_milli
    parts = dict[str, list[int]]()
    for (node, _), free in shared.items():
        parts.setdefault(node, []).append(free)
        whole[node] -= 1
    return [
        FreeNode(node.model, cpu[node.name], (*[WHOLE_GPU] * whole[node.name], *parts.get(node.name, ())))
        for node in arrived.nodes
    ]


def _snapshot(arrived: Arrivals) -> pb.ClusterSnapshot:
    snapshot = pb.ClusterSnapshot(cluster_id="exam", version=1, queues=[pb.Queue(name="all")])
    snapshot.now.seconds = 2 * len(arrived.pods)
    snapshot.nodes.extend(map(_node, arrived.nodes))
    shapes = {pod.shape: pod for pod in arrived.pods}
    snapshot.shapes.extend([_shape(name, shapes[name]) for name in sorted(shapes)])
    for number, pod in enumerate(arrived.pods, 1):
        group = snapshot.pod_groups.add(uid=pod.name, name=pod.name, queue="all", min_member=1)
        group.creation_time.seconds = number
        one = snapshot.pods.add(uid=pod.name, name=pod.name, pod_group=pod.name, shape=pod.shape)
        one.status = pb.POD_STATUS_PENDING
        one.creation_time.seconds = number
    return snapshot


def _node(node: ExamNode) -> pb.Node:
    return pb.Node(
        name=node.name,
        labels={MODEL: node.model},
        gpu_memory_mib=GPU_MEMORY_MIB,
        allocatable=Resources(
            cpu_milli=node.cpu_milli,
            memory_bytes=node.memory_mib * MIB,
            gpu_milli=node.gpus * WHOLE_GPU,
            pods=POD_SLOTS,
        ),
    )


def _shape(name: str, pod: ExamPod) -> pb.PodShape:
    requests = Resources(cpu_milli=pod.cpu_milli, memory_bytes=pod.memory_mib * MIB)
    shape = pb.PodShape(id=name, requests=requests)
    if pod.gpus:
        shape.gpu.CopyFrom(GpuRequest(devices=pod.gpus))
        if pod.gpu_milli < WHOLE_GPU:
            shape.gpu.portion_milli = pod.gpu_milli
    if pod.models:
        values: Sequence[str] = pod.models.split("|")
        models = pb.NodeSelectorRequirement(key=MODEL, operator=pb.SELECTOR_OPERATOR_IN, values=values)
        shape.node_affinity.append(pb.NodeSelectorTerm(requirements=[models]))
    return shape

"""Where pods are to be: bindings, and room that is held for them."""

from typing import Final

from tenure.server.codec.recurring import Recurring
from tenure.server.codec.writing import message, tag, text, whole
from tenure.server.codec.zones import encode_placement
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Bind, Hold
from tenure.v1 import decision_pb2 as pb

_POD: Final = tag(pb.Hold, "pod")
_NODE: Final = tag(pb.Hold, "node")
_GPU_GROUPS: Final = tag(pb.Hold, "gpu_groups")
_NUMA_PLACEMENT: Final = tag(pb.Hold, "numa_placement")
"""Bindings have these fields too, under the same numbers."""
_POD_GROUP: Final = tag(pb.Hold, "pod_group")


def encode_hold(cluster: Cluster, recurring: Recurring, hold: Hold) -> bytes:
    """Room that is kept for a pod."""
    pod_group = recurring.pod_group(cluster.tasks[hold.task].pod_group)
    return message([*_place(cluster, recurring, hold), _POD_GROUP, pod_group.written])


def encode_binding(cluster: Cluster, recurring: Recurring, binding: Bind) -> bytes:
    """Room that a pod is to be bound to."""
    return message(_place(cluster, recurring, binding))


def _place(cluster: Cluster, recurring: Recurring, step: Hold | Bind) -> list[bytes]:
    fields = [_POD, text(cluster.tasks[step.task].uid), _NODE, recurring.node(step.node).written]
    for group in step.gpu_groups:
        fields += [_GPU_GROUPS, text(group)]
    if step.zones:
        for placement in encode_placement(cluster, step.node, step.zones):
            fields += [_NUMA_PLACEMENT, whole(placement)]
    return fields

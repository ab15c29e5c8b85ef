"""Topologies: hierarchies of node labels."""

from tenure.client.kubernetes.objects.kai import Topology
from tenure.v1 import snapshot_pb2 as pb


def topology_row(topology: Topology) -> pb.Topology | None:
    """The row; None when it has no level, or one twice: nothing can refer to it."""
    levels = [level.node_label for level in topology.spec.levels]
    if not levels or "" in levels or len(set(levels)) != len(levels):
        return None
    return pb.Topology(name=topology.metadata.name, levels=levels)

"""Doubts about a snapshot: from the model to messages."""

from typing import Final

from tenure.server.codec.printable import printable
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.doubt import Doubt
from tenure.v1 import decision_service_pb2 as pb

MOST_NAMED: Final = 100
"""Pod groups that one warning names."""


def encode_warning(cluster: Cluster, doubt: Doubt) -> pb.SnapshotWarning:
    """One doubt as a warning."""
    return pb.SnapshotWarning(
        code=f"WARNING_CODE_{doubt.code.name}",
        message=printable(doubt.message),
        pod_groups=[cluster.pod_groups[index].uid for index in doubt.pod_groups[:MOST_NAMED]],
        count=len(doubt.pod_groups),
    )

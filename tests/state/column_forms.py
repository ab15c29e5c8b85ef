"""Other forms of a snapshot: all pods as columns, or some of them."""

from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.columns import to_columns

from tests.properties.generators.draw import Draw


def mix_columns(draw: Draw, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Encode each pod in columns or as a message, at random."""
    columns, rest = ClusterSnapshot(), ClusterSnapshot()
    rest.CopyFrom(snapshot)
    del rest.pods[:]
    for pod in snapshot.pods:
        (columns if draw.chance(50) else rest).pods.append(pod)
    halves = to_columns(columns)
    rest.pods.extend(halves.pods)
    if halves.pod_columns.uid:
        rest.pod_columns.CopyFrom(halves.pod_columns)
    return rest

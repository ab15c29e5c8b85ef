"""A snapshot in pieces that a server takes one by one."""

from collections.abc import Iterator
from typing import Any, Final

from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import PutSnapshotRequest
from tenure.wire.columns import from_columns, to_columns
from tenure.wire.deltas import KEYS

MAX_CHUNK_BYTES: Final = 2**20 - 2**12
"""Of the rows of one piece; the rest of the MiB that a server takes is for what goes around them."""
_AROUND_ROW: Final = 64
"""Most bytes by which a row is larger in its list, or as columns, than by itself."""


def chunk_snapshot(epoch: str, snapshot: ClusterSnapshot) -> Iterator[PutSnapshotRequest]:
    """The snapshot in pieces of at most a MiB, with pods as columns. A row that is larger goes alone."""
    ahead = split_snapshot(snapshot)
    request = PutSnapshotRequest(epoch=epoch, chunk=next(ahead))
    for part in ahead:
        yield request
        request = PutSnapshotRequest(chunk=part)
    request.last_chunk = True
    yield request


def split_snapshot(snapshot: ClusterSnapshot) -> Iterator[ClusterSnapshot]:
    """The rows of the snapshot in parts that fit in a piece each; the first has the other fields too."""
    return map(to_columns, _split(snapshot))


def _split(snapshot: ClusterSnapshot) -> Iterator[ClusterSnapshot]:
    part = ClusterSnapshot(
        cluster_id=snapshot.cluster_id, node_pool=snapshot.node_pool, version=snapshot.version
    )
    if snapshot.HasField("now"):
        part.now.CopyFrom(snapshot.now)
    size = 0
    for name, row in _rows(snapshot):
        more = row.ByteSize() + _AROUND_ROW
        if size and size + more > MAX_CHUNK_BYTES:
            yield part
            part, size = ClusterSnapshot(), 0
        getattr(part, name).append(row)
        size += more
    yield part


def _rows(snapshot: ClusterSnapshot) -> Iterator[tuple[str, Any]]:
    for name in KEYS:
        for row in getattr(snapshot, name):
            yield name, row
    for row in from_columns(snapshot.pod_columns):
        yield "pods", row

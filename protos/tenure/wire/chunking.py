"""Split a snapshot into chunks that a server accepts."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from google.protobuf.message import Message
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import FAULTS_UNSPECIFIED, Faults, PutSnapshotRequest
from tenure.wire.columns import from_columns, to_columns
from tenure.wire.deltas import KEYS

MAX_CHUNK_BYTES: Final = 2**20 - 2**12
"""Maximum bytes of the rows of one chunk. The rest of 1 MiB is for the message around them."""
_AROUND_ROW: Final = 64
"""Maximum bytes that a list, or columns, add to a row."""
_Row = TypeVar("_Row", bound=Message)


def chunk_snapshot(
    epoch: str, snapshot: ClusterSnapshot, faults: Faults = FAULTS_UNSPECIFIED
) -> Iterator[PutSnapshotRequest]:
    """Chunks of at most 1 MiB, with pods as columns. A larger row is a chunk of its own."""
    ahead = split_snapshot(snapshot)
    request = PutSnapshotRequest(epoch=epoch, chunk=next(ahead), faults=faults)
    for part in ahead:
        yield request
        request = PutSnapshotRequest(chunk=part, faults=faults)
    request.last_chunk = True
    yield request


def split_snapshot(snapshot: ClusterSnapshot) -> Iterator[ClusterSnapshot]:
    """Rows of the snapshot in chunks; the first chunk has the other fields too."""
    return map(to_columns, _split(snapshot))


def split_rows(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    """Rows of one list in chunks; a larger row is a chunk of its own."""
    part: list[_Row] = []
    size = 0
    for row in rows:
        more = row.ByteSize() + _AROUND_ROW
        if part and size + more > MAX_CHUNK_BYTES:
            yield part
            part, size = [], 0
        part.append(row)
        size += more
    if part:
        yield part


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

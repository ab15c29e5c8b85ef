"""Memory of decoded rows, by a model that is measured (`tests/server/state/test_memory_model.py`).

Objects of rows take most of it, whatever their size as bytes, and texts take a multiple of theirs. The model
covers the decoded cluster, the message and the warm-start cache after a cycle.
"""

from typing import Final

from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import KEY_FIELDS
from tenure.wire.scanner import RowCounts

POD_BYTES: Final = 700
"""Memory of a pod without its texts."""
POD_GROUP_BYTES: Final = 2_000
OTHER_ROW_BYTES: Final = 2_000
MESSAGE_FACTOR: Final = 4
"""Memory of a byte of the message, in bytes."""


def decoded_bytes(message_bytes: int, rows: RowCounts) -> int:
    """Memory of a decoded message of this size with these rows."""
    pods, pod_groups, others = rows
    objects = pods * POD_BYTES + pod_groups * POD_GROUP_BYTES + others * OTHER_ROW_BYTES
    return message_bytes * MESSAGE_FACTOR + objects


def rows_of(snapshot: ClusterSnapshot) -> RowCounts:
    """Numbers of the rows of a snapshot."""
    pods, pod_groups = len(snapshot.pods) + len(snapshot.pod_columns.uid), len(snapshot.pod_groups)
    every = sum(len(getattr(snapshot, name)) for name in KEY_FIELDS)
    return RowCounts(pods, pod_groups, every - len(snapshot.pods) - pod_groups)

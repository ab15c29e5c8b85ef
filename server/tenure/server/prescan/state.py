"""Rows of a snapshot that was put together from several messages, each within the limits by itself."""

from tenure.server.prescan.exceeded import LimitExceeded
from tenure.server.settings.server import MaxRows
from tenure.v1.snapshot_pb2 import ClusterSnapshot


def check_rows(snapshot: ClusterSnapshot, most: MaxRows) -> None:
    """Raises LimitExceeded for the first list with too many rows."""
    for field in ClusterSnapshot.DESCRIPTOR.fields:
        if not field.is_repeated:
            continue
        limit: int = getattr(most, field.name)
        if len(getattr(snapshot, field.name)) > limit:
            raise LimitExceeded(field.name, field.name, limit)
    if len(snapshot.pod_columns.uid) > most.pods:
        raise LimitExceeded("pod_columns.uid", "pods", most.pods)

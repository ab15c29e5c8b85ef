"""Entries to be written to the records file."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.codec.encoded_response import EncodedResponse
from tenure.server.shard import Shard
from tenure.server.state import Lineage
from tenure.solver.plugin_api.profile import Profile
from tenure.v1.snapshot_pb2 import ClusterSnapshot

ROW_BYTES: Final = 512
"""Approximate memory of a row of a message, in bytes. An exact count would take as long as writing it."""


class CycleEntry(NamedTuple):
    """One Decide response with the state it is based on."""

    recorded_at: int
    """Nanoseconds since the Unix epoch, by the server's clock."""
    actions: Sequence[str]
    """Actions named in the request."""
    profile: Profile
    """Profile of the cycle, with these actions."""
    response: EncodedResponse
    snapshot: ClusterSnapshot | None
    """None: the writer already has the base of the lineage."""
    epoch: str = ""
    lineage: Lineage | None = None
    """Lineage of the pushed state; None: the request contained the snapshot."""
    trace_id: str = ""
    caller: str = ""
    """Identity of the caller; empty on a server without authentication."""

    @property
    def shard(self) -> Shard:
        """Shard of the cycle."""
        return Shard(self.response.summary.cluster_id, self.response.summary.node_pool)

    @property
    def memory_bytes(self) -> int:
        """Approximate memory use in bytes."""
        snapshot = 0 if self.snapshot is None else _rows(self.snapshot) + len(self.snapshot.pod_columns.uid)
        return (1 + snapshot) * ROW_BYTES + len(self.response.content)


class ResultEntry(NamedTuple):
    """Result of one decision."""

    shard: Shard
    decision_id: str
    group_id: str
    kind: str
    status: str
    detail: str
    reported_at: int
    """Nanoseconds since the Unix epoch, by the server's clock."""
    caller: str = ""
    """Identity of the caller; empty on a server without authentication."""

    @property
    def memory_bytes(self) -> int:
        """Approximate memory use in bytes."""
        return ROW_BYTES


Entry = CycleEntry | ResultEntry


def _rows(message: Message) -> int:
    return sum(len(getattr(message, field.name)) for field in message.DESCRIPTOR.fields if field.is_repeated)

"""What is on its way to the file of records."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.server.shard import Shard
from tenure.server.state import Lineage
from tenure.solver.plugin_api.profile import Profile
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

ROW_BYTES: Final = 512
"""What a row of a message takes in memory, roughly; counting exactly would take as long as writing it."""


class CycleEntry(NamedTuple):
    """One answer to Decide, and what it was the answer to."""

    recorded_at: int
    """Nanoseconds since the epoch, by the server's clock."""
    actions: Sequence[str]
    """Those that the request named."""
    profile: Profile
    """What was decided by, with these actions."""
    response: DecideResponse
    snapshot: ClusterSnapshot | None
    """None: the writer has got the base of the lineage before."""
    epoch: str = ""
    lineage: Lineage | None = None
    """Of the state that was referred to; None: the snapshot came with the request."""
    trace_id: str = ""

    @property
    def shard(self) -> Shard:
        """What was decided on."""
        return Shard(self.response.header.cluster_id, self.response.header.node_pool)

    @property
    def memory_bytes(self) -> int:
        """Bytes that it keeps in memory, roughly."""
        snapshot = 0 if self.snapshot is None else _rows(self.snapshot) + len(self.snapshot.pod_columns.uid)
        return (1 + snapshot + _rows(self.response)) * ROW_BYTES


class ResultEntry(NamedTuple):
    """What became of one step of a decision."""

    shard: Shard
    decision_id: str
    group_id: str
    kind: str
    status: str
    detail: str
    reported_at: int
    """Nanoseconds since the epoch, by the server's clock."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that it keeps in memory, roughly."""
        return ROW_BYTES


Entry = CycleEntry | ResultEntry


def _rows(message: Message) -> int:
    return sum(len(getattr(message, field.name)) for field in message.DESCRIPTOR.fields if field.is_repeated)

"""One version of a state."""

from dataclasses import dataclass, field, replace
from hashlib import sha256

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.checks import time_problem
from tenure.codec.decode import DecodedSnapshot
from tenure.server.shard import Shard
from tenure.server.state import errors
from tenure.server.state.lazy_snapshot import LazySnapshot
from tenure.server.state.lineage import Lineage, new_lineage
from tenure.server.state.memory_model import decoded_bytes
from tenure.server.state.response_cache import ResponseCache
from tenure.server.state.set_aside import SetAside
from tenure.server.state.warm_start import WarmStartCache
from tenure.solver.model.cluster import Cluster
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.carried import workload_rows
from tenure.wire.scanner import RowCounts
from tenure.wire.violations import FieldViolation, SnapshotValidationError


@dataclass(frozen=True)
class State:
    """A valid snapshot of an epoch. Immutable: readers need no lock."""

    epoch: str
    header: ClusterSnapshot
    """Snapshot with the carried rows that refer to workloads as its only lists."""
    lazy_snapshot: LazySnapshot
    """The complete snapshot."""
    decoded: DecodedSnapshot
    delta_digest: bytes = b""
    """Digest of the delta that produced it; empty for a full snapshot."""
    lineage: Lineage = field(default_factory=new_lineage)
    """Full snapshot and deltas that produced it, for records."""
    warm_start: WarmStartCache = field(default_factory=WarmStartCache, compare=False)
    """Derived data for all cycles on it."""
    response_cache: ResponseCache = field(default_factory=ResponseCache, compare=False)
    """Last response about it."""
    set_aside: SetAside | None = None
    """Rows that are not in the snapshot because they have violations."""
    shard: Shard = field(init=False, compare=False)
    memory_bytes: int = field(init=False, compare=False)
    """Memory that it takes, with its decoded rows and derived data; see `memory_model`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shard", Shard(self.header.cluster_id, self.header.node_pool))
        object.__setattr__(self, "memory_bytes", self._memory_bytes())

    def _memory_bytes(self) -> int:
        cluster, decoded = self.cluster, self.decoded
        objects = (cluster.nodes, cluster.queues, cluster.shapes, cluster.topologies, cluster.claims)
        carried = (cluster.eviction_history, cluster.in_flight, *cluster.carried.by_list.values())
        others = sum(map(len, (*objects, *carried, cluster.disruption_budgets)))
        rows = RowCounts(len(decoded.tasks), len(decoded.pod_groups), others)
        return decoded_bytes(self.size, rows) + self.lineage.size

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The complete snapshot, which may have to be built first."""
        return self.lazy_snapshot.read()

    @property
    def size(self) -> int:
        """Upper bound of the size of the snapshot as a message with rows that are set aside, in bytes."""
        return self.lazy_snapshot.size + (self.set_aside.rows.ByteSize() if self.set_aside else 0)

    @property
    def cluster(self) -> Cluster:
        """Decoded snapshot."""
        return self.decoded.cluster

    @property
    def reference(self) -> StateReference:
        """Reference for callers."""
        return StateReference(**self.shard._asdict(), epoch=self.epoch, version=self.header.version)

    def with_time(self, now: Timestamp) -> tuple[Cluster, ClusterSnapshot]:
        """Cluster at a time not before that of the state, and a matching snapshot without rows.

        Raises SnapshotValidationError for an invalid time, StateError for one before the state's.
        """
        if problem := time_problem(now):
            raise SnapshotValidationError([FieldViolation("now", problem)])
        self.check_clock(now)
        header = ClusterSnapshot(**self.shard._asdict(), version=self.header.version, now=now)
        if now.ToNanoseconds() == self.cluster.now:
            return self.cluster, header
        return replace(self.cluster, now=now.ToNanoseconds()), header

    def check_clock(self, now: Timestamp) -> None:
        """Raise StateError for a time before the state's."""
        if now.ToNanoseconds() < self.cluster.now:
            raise errors.clock_regression(self.header.now.ToJsonString(), now.ToJsonString())

    def is_made_by(self, delta: StateDelta) -> bool:
        """Whether this delta, with this very content, was the last one applied."""
        has_its_version = delta.version == self.header.version
        return has_its_version and self.delta_digest == sha256(to_bytes(delta)).digest()


def header_of(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The header of a state: the snapshot without the lists that are decoded only once."""
    header = workload_rows(snapshot)
    header.cluster_id, header.node_pool, header.version = (
        snapshot.cluster_id,
        snapshot.node_pool,
        snapshot.version,
    )
    header.now.CopyFrom(snapshot.now)
    return header


def to_bytes(delta: StateDelta) -> bytes:
    """Serialize a delta; equal deltas have equal bytes."""
    return delta.SerializeToString(deterministic=True)

"""One version of a state, and how a delta makes the next."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.change import decode_change, on_footing
from tenure.server.codec.checks import time_problem
from tenure.server.codec.decode import Decoded, decode
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.prescan import LimitExceeded, check_rows
from tenure.server.settings.server import MaxRows
from tenure.server.shard import Shard
from tenure.server.state import faults
from tenure.server.state.answers import LastAnswer
from tenure.server.state.lineage import Lineage, new_lineage
from tenure.server.state.overlay import Overlay, check_upserts, overlay
from tenure.server.state.written import Written
from tenure.solver.framework.opening import Opening
from tenure.solver.model.cluster import Cluster
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys, StateReference


@dataclass(frozen=True)
class State:
    """A valid snapshot of an epoch. Its facts are never changed: readers need no lock."""

    epoch: str
    header: ClusterSnapshot
    """The snapshot with two of its lists: groups in flight, and the memory of evictions."""
    written: Written
    """The snapshot as a whole."""
    decoded: Decoded
    made_by: bytes = b""
    """Digest of the delta that made it; empty for a full snapshot."""
    lineage: Lineage = field(default_factory=new_lineage)
    """How it came about, for those who write it down."""
    opening: Opening = field(default_factory=Opening, compare=False)
    """What was found out about it, for all who decide on it."""
    last_answer: LastAnswer = field(default_factory=LastAnswer, compare=False)
    """What was answered about it last."""

    @property
    def snapshot(self) -> ClusterSnapshot:
        """All of the snapshot, which may have to be written out first."""
        return self.written.read()

    @property
    def size(self) -> int:
        """Bytes of the snapshot as a message; it may have somewhat less."""
        return self.written.size

    @property
    def cluster(self) -> Cluster:
        """What the snapshot describes."""
        return self.decoded.cluster

    @cached_property
    def shard(self) -> Shard:
        """Whose state it is."""
        return Shard(self.header.cluster_id, self.header.node_pool)

    @property
    def reference(self) -> StateReference:
        """What callers refer to."""
        return StateReference(**self.shard._asdict(), epoch=self.epoch, version=self.header.version)

    def at(self, now: Timestamp) -> tuple[Cluster, ClusterSnapshot]:
        """The cluster at a time that is not before the state's, and a snapshot without rows to go with it.

        Raises InvalidSnapshot when it is no time, Fault when it is before the state's.
        """
        if problem := time_problem(now):
            raise InvalidSnapshot([FieldViolation("now", problem)])
        self.check_clock(now)
        header = ClusterSnapshot(**self.shard._asdict(), version=self.header.version, now=now)
        if now.ToNanoseconds() == self.cluster.now:
            return self.cluster, header
        return replace(self.cluster, now=now.ToNanoseconds()), header

    def check_clock(self, now: Timestamp) -> None:
        """Raise Fault when a time is before the state's."""
        if now.ToNanoseconds() < self.cluster.now:
            raise faults.clock_regression(self.header.now.ToJsonString(), now.ToJsonString())

    def is_made_by(self, delta: StateDelta) -> bool:
        """Whether the delta, with this very content, was the last one applied."""
        has_its_version = delta.version == self.header.version
        return has_its_version and self.made_by == sha256(_to_bytes(delta)).digest()


def full_state(epoch: str, snapshot: ClusterSnapshot, most: MaxRows) -> State:
    """The state that begins with a full snapshot. Raises InvalidSnapshot, or Fault for too many rows."""
    _check_rows(snapshot, most)
    decoded = on_footing(decode(snapshot), snapshot)
    return State(epoch, _header(snapshot), Written(snapshot), decoded)


def next_state(state: State, delta: StateDelta, max_bytes: int, most: MaxRows) -> State:
    """The state after a delta on it. Raises Fault; nothing is changed either way."""
    problems = [*_header_problems(state, delta), *check_upserts(delta.upserts)]
    if problems:
        raise faults.invalid(problems)
    state.check_clock(delta.now)
    now = delta.now.ToNanoseconds()
    changed = decode_change(state.decoded, state.header, delta.upserts, delta.removes, now)
    if changed is None or delta.upserts.pod_columns.uid:
        after = _after(state, delta)
        header, written = _header(after.snapshot), Written(after.snapshot)
    else:
        header, written = _next_header(state.header, delta), state.written.after(delta)
    if written.is_long or written.size > max_bytes or not _has_few_rows(changed, header, most):
        _check_rows(written.read(), most)
    if written.size > max_bytes:
        raise faults.too_large(written.size, max_bytes)
    decoded, content = changed or _decoded(after), _to_bytes(delta)
    made_by, lineage = sha256(content).digest(), state.lineage.after(content, written.size)
    opening = (
        Opening() if decoded.change is None else state.opening.after(decoded.change, len(decoded.pod_groups))
    )
    return State(state.epoch, header, written, decoded, made_by, lineage, opening)


def _after(state: State, delta: StateDelta) -> Overlay:
    after = overlay(state.snapshot, delta.upserts, delta.removes)
    after.snapshot.version = delta.version
    after.snapshot.now.CopyFrom(delta.now)
    return after


def _decoded(after: Overlay) -> Decoded:
    """The state after a delta, decoded anew."""
    try:
        return on_footing(decode(after.snapshot), after.snapshot)
    except InvalidSnapshot as invalid:
        raise faults.invalid([after.located(violation) for violation in invalid.violations]) from None


def _header(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    return ClusterSnapshot(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        in_flight_groups=snapshot.in_flight_groups,
        eviction_memory=snapshot.eviction_memory,
    )


def _next_header(header: ClusterSnapshot, delta: StateDelta) -> ClusterSnapshot:
    """The header after a delta that changes workloads alone."""
    after = ClusterSnapshot()
    after.CopyFrom(header)
    if delta.upserts.in_flight_groups or delta.removes.in_flight_groups:
        upserts = ClusterSnapshot(in_flight_groups=delta.upserts.in_flight_groups)
        removes = StateKeys(in_flight_groups=delta.removes.in_flight_groups)
        after = overlay(header, upserts, removes).snapshot
    after.version = delta.version
    after.now.CopyFrom(delta.now)
    return after


def _has_few_rows(decoded: Decoded | None, header: ClusterSnapshot, most: MaxRows) -> bool:
    """Whether no list of a changed state can have too many rows."""
    return (
        decoded is not None
        and len(decoded.tasks) <= most.pods
        and len(decoded.pod_groups) <= most.pod_groups
        and len(header.in_flight_groups) <= most.in_flight_groups
    )


def _check_rows(snapshot: ClusterSnapshot, most: MaxRows) -> None:
    try:
        check_rows(snapshot, most)
    except LimitExceeded as exceeded:
        raise faults.too_many_rows(exceeded) from None


def _header_problems(state: State, delta: StateDelta) -> list[FieldViolation]:
    problems = []
    if delta.version <= state.header.version:
        told = f"{delta.version} is not greater than that of the base, {state.header.version}"
        problems.append(FieldViolation("version", told))
    if not delta.HasField("now"):
        problems.append(FieldViolation("now", "is required"))
    elif problem := time_problem(delta.now):
        problems.append(FieldViolation("now", problem))
    return problems


def _to_bytes(delta: StateDelta) -> bytes:
    return delta.SerializeToString(deterministic=True)

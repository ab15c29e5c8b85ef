"""The state that a simulation or an explanation starts from: a snapshot and the cluster it describes."""

from collections.abc import Callable
from typing import NamedTuple

from tenure.server.codec.checks import MISSING
from tenure.server.codec.decode import Decoded, decode
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.solver.framework.opening import Opening
from tenure.solver.model.cluster import Cluster
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class Source(NamedTuple):
    """A valid snapshot, decoded. Read only: it may be a state that others read as well."""

    header: ClusterSnapshot
    """The snapshot; its lists of nodes, queues, workloads and what they refer to are of no account."""
    decoded: Decoded
    read: Callable[[], ClusterSnapshot]
    """Gives the snapshot as a whole."""
    opening: Opening | None = None
    """What was found out about the state, if it is kept."""

    @property
    def cluster(self) -> Cluster:
        """What the snapshot describes."""
        return self.decoded.cluster


def decoded(snapshot: ClusterSnapshot | None) -> Source:
    """The snapshot of a request. Raises InvalidSnapshot, with paths that begin with `snapshot`."""
    if snapshot is None:
        raise InvalidSnapshot([FieldViolation("snapshot", f"{MISSING}, or a state to refer to")])
    try:
        return Source(snapshot, decode(snapshot), lambda: snapshot)
    except InvalidSnapshot as invalid:
        violations = (FieldViolation(f"snapshot.{path}", problem) for path, problem in invalid.violations)
        raise InvalidSnapshot(violations) from None

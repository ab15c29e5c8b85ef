"""Deltas that must be rejected, each with its error."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from tenure.v1 import state_pb2 as pb

if TYPE_CHECKING:
    from tests.state.delta_walk import DeltaWalk

RejectedDelta = tuple[pb.StateDelta, int]


def skipped_version(walk: "DeltaWalk") -> RejectedDelta:
    """A version is missing before this delta."""
    delta, _ = walk.next_delta()
    delta.base.version += walk.draw.integer(1, 5)
    delta.version += 10
    return delta, pb.STATE_ERROR_CODE_VERSION_GAP


def outdated_base(walk: "DeltaWalk") -> RejectedDelta:
    """A delta that is based on an earlier version."""
    delta, _ = walk.next_delta()
    delta.base.version -= walk.draw.integer(1, 5)
    return delta, pb.STATE_ERROR_CODE_VERSION_GAP


def reordered_deltas(walk: "DeltaWalk") -> RejectedDelta:
    """The second of two deltas is sent first."""
    first, after = walk.next_delta()
    second = pb.StateDelta(base=first.base, version=after.version + 1, now=after.now)
    second.base.version = after.version
    return second, pb.STATE_ERROR_CODE_VERSION_GAP


def replay_with_other_content(walk: "DeltaWalk") -> RejectedDelta:
    """The last delta again, with other content."""
    if not walk.past:
        return outdated_base(walk)
    delta = pb.StateDelta()
    delta.CopyFrom(walk.past[-1])
    delta.removals.nodes.append("somewhere")
    return delta, pb.STATE_ERROR_CODE_VERSION_GAP


def late_replay(walk: "DeltaWalk") -> RejectedDelta:
    """A delta that is sent again after later ones."""
    return (walk.past[-2], pb.STATE_ERROR_CODE_VERSION_GAP) if len(walk.past) > 1 else outdated_base(walk)


def other_epoch(walk: "DeltaWalk") -> RejectedDelta:
    delta, _ = walk.next_delta()
    delta.base.epoch = walk.draw.choice(("", "later", "EPOCH"))
    return delta, pb.STATE_ERROR_CODE_UNKNOWN_STATE


def other_cluster(walk: "DeltaWalk") -> RejectedDelta:
    delta, _ = walk.next_delta()
    field = walk.draw.choice(("cluster_id", "node_pool"))
    setattr(delta.base, field, walk.draw.choice(("", "other")))
    return delta, pb.STATE_ERROR_CODE_UNKNOWN_STATE


def earlier_time(walk: "DeltaWalk") -> RejectedDelta:
    delta, _ = walk.next_delta()
    delta.now.FromNanoseconds(walk.snapshot.now.ToNanoseconds() - walk.draw.choice((1, 10**9, 10**15)))
    return delta, pb.STATE_ERROR_CODE_CLOCK_REGRESSION


def missing_time(walk: "DeltaWalk") -> RejectedDelta:
    delta, _ = walk.next_delta()
    delta.ClearField("now")
    return delta, pb.STATE_ERROR_CODE_INVALID


def version_not_greater(walk: "DeltaWalk") -> RejectedDelta:
    delta, _ = walk.next_delta()
    delta.version = delta.base.version - walk.draw.integer(0, 3)
    return delta, pb.STATE_ERROR_CODE_INVALID


def invalid_row(walk: "DeltaWalk") -> RejectedDelta:
    """A delta with one invalid row. Its valid rows must not be applied either."""
    delta, _ = walk.next_delta()
    match walk.draw.integer(0, 3):
        case 0:
            delta.upserts.pods.add(uid="bad", pod_group="nobody", shape="one", status=1)
        case 1:
            delta.upserts.queues.add(name="bad", parent="nobody")
        case 2:
            delta.upserts.pod_columns.uid.append("bad")
        case 3:
            delta.removals.shapes.append(walk.snapshot.pods[0].shape if walk.snapshot.pods else "")
            delta.upserts.pods.add(uid="bad", pod_group="nobody", shape="", status=1)
    return delta, pb.STATE_ERROR_CODE_INVALID


INVALID_DELTAS: Final[Mapping[str, Callable[["DeltaWalk"], RejectedDelta]]] = {
    kind.__name__: kind
    for kind in (
        *(skipped_version, outdated_base, reordered_deltas, replay_with_other_content, late_replay),
        *(other_epoch, other_cluster, earlier_time, missing_time),
        *(version_not_greater, invalid_row),
    )
}

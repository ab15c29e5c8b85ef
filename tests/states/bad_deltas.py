"""Deltas that must be refused, each with its fault."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from tenure.v1 import state_pb2 as pb

if TYPE_CHECKING:
    from tests.states.walk import Walk

Refused = tuple[pb.StateDelta, int]


def skipped(walk: "Walk") -> Refused:
    """A delta in between is missing."""
    delta, _ = walk.next_delta()
    delta.base.version += walk.draw.integer(1, 5)
    delta.version += 10
    return delta, pb.STATE_FAULT_CODE_VERSION_GAP


def outdated(walk: "Walk") -> Refused:
    """Builds on a version from before."""
    delta, _ = walk.next_delta()
    delta.base.version -= walk.draw.integer(1, 5)
    return delta, pb.STATE_FAULT_CODE_VERSION_GAP


def reordered(walk: "Walk") -> Refused:
    """The second of two comes first."""
    first, after = walk.next_delta()
    second = pb.StateDelta(base=first.base, version=after.version + 1, now=after.now)
    second.base.version = after.version
    return second, pb.STATE_FAULT_CODE_VERSION_GAP


def replayed_with_other_content(walk: "Walk") -> Refused:
    """The last delta again, but not the same."""
    if not walk.past:
        return outdated(walk)
    delta = pb.StateDelta()
    delta.CopyFrom(walk.past[-1])
    delta.removes.nodes.append("somewhere")
    return delta, pb.STATE_FAULT_CODE_VERSION_GAP


def replayed_too_late(walk: "Walk") -> Refused:
    """A delta again that others have followed."""
    return (walk.past[-2], pb.STATE_FAULT_CODE_VERSION_GAP) if len(walk.past) > 1 else outdated(walk)


def of_another_epoch(walk: "Walk") -> Refused:
    delta, _ = walk.next_delta()
    delta.base.epoch = walk.draw.choice(("", "later", "EPOCH"))
    return delta, pb.STATE_FAULT_CODE_UNKNOWN_STATE


def of_another_cluster(walk: "Walk") -> Refused:
    delta, _ = walk.next_delta()
    field = walk.draw.choice(("cluster_id", "node_pool"))
    setattr(delta.base, field, walk.draw.choice(("", "other")))
    return delta, pb.STATE_FAULT_CODE_UNKNOWN_STATE


def of_an_earlier_time(walk: "Walk") -> Refused:
    delta, _ = walk.next_delta()
    delta.now.FromNanoseconds(walk.snapshot.now.ToNanoseconds() - walk.draw.choice((1, 10**9, 10**15)))
    return delta, pb.STATE_FAULT_CODE_CLOCK_REGRESSION


def without_a_time(walk: "Walk") -> Refused:
    delta, _ = walk.next_delta()
    delta.ClearField("now")
    return delta, pb.STATE_FAULT_CODE_INVALID


def of_no_greater_version(walk: "Walk") -> Refused:
    delta, _ = walk.next_delta()
    delta.version = delta.base.version - walk.draw.integer(0, 3)
    return delta, pb.STATE_FAULT_CODE_INVALID


def with_a_bad_row(walk: "Walk") -> Refused:
    """Everything else of it is good, and must not be applied either."""
    delta, _ = walk.next_delta()
    match walk.draw.integer(0, 3):
        case 0:
            delta.upserts.pods.add(uid="bad", pod_group="nobody", shape="one", status=1)
        case 1:
            delta.upserts.queues.add(name="bad", parent="nobody")
        case 2:
            delta.upserts.pod_columns.uid.append("bad")
        case 3:
            delta.removes.shapes.append(walk.snapshot.pods[0].shape if walk.snapshot.pods else "")
            delta.upserts.pods.add(uid="bad", pod_group="nobody", shape="", status=1)
    return delta, pb.STATE_FAULT_CODE_INVALID


BAD: Final[Mapping[str, Callable[["Walk"], Refused]]] = {
    kind.__name__: kind
    for kind in (
        *(skipped, outdated, reordered, replayed_with_other_content, replayed_too_late),
        *(of_another_epoch, of_another_cluster, of_an_earlier_time, without_a_time),
        *(of_no_greater_version, with_a_bad_row),
    )
}

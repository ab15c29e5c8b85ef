"""Encode reservations, and what a caller must change in the rows that it stores (semantics R17.7)."""

from collections.abc import Iterable, Iterator
from typing import Final

from tenure.solver.model.caller_state import Certainty, Reservation, StartDelay
from tenure.solver.model.cluster import Cluster
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import timestamp

_ON_WIRE: Final = {
    Certainty.BOUNDED: pb.CERTAINTY_BOUNDED,
    Certainty.EXPECTED: pb.CERTAINTY_EXPECTED,
    Certainty.ASSUMED: pb.CERTAINTY_ASSUMED,
    Certainty.UNKNOWN: pb.CERTAINTY_UNKNOWN,
}
_DELAYS_ON_WIRE: Final = {
    StartDelay.UNSPECIFIED: pb.START_DELAY_UNSPECIFIED,
    StartDelay.OVERRUN: pb.START_DELAY_OVERRUN,
    StartDelay.NODE_LOST: pb.START_DELAY_NODE_LOST,
    StartDelay.QUEUE_BOUND: pb.START_DELAY_QUEUE_BOUND,
    StartDelay.NODES_IN_USE: pb.START_DELAY_NODES_IN_USE,
}


def encode_reservations(cluster: Cluster, rows: Iterable[Reservation]) -> list[pb.Reservation]:
    """Rows by uid of the pod group."""
    return [
        pb.Reservation(
            pod_group=row.pod_group,
            since=timestamp(row.since),
            grown_time=timestamp(row.grown),
            held=row.held,
            planned_start=None if row.start is None else timestamp(row.start),
            certainty=_ON_WIRE[row.certainty],
            pods=[
                pb.ReservedPods(
                    node=cluster.nodes[each.node].facts.name,
                    shape=cluster.shapes[each.shape].id,
                    pods=each.pods,
                )
                for each in row.places
            ],
            first_bounded_start=None if row.first_bounded is None else timestamp(row.first_bounded),
            paused_until=None if row.paused_until is None else timestamp(row.paused_until),
            delayed_by=_DELAYS_ON_WIRE[row.delayed_by],
        )
        for row in rows
    ]


def reservation_patches(cluster: Cluster, after: Iterable[Reservation]) -> Iterator[service_pb.StatePatch]:
    """What a caller must change in its rows: those that differ, then those that are gone."""
    before = {row.pod_group: row for row in reversed(cluster.reservations)}
    kept = {row.pod_group: row for row in after}
    changed = [row for uid, row in kept.items() if before.get(uid) != row]
    for message in encode_reservations(cluster, changed):
        yield service_pb.StatePatch(reserve=message)
    for uid in before:
        if uid not in kept:
            yield service_pb.StatePatch(release=uid)

"""Encode and count reservations, and what a caller must change in the rows that it stores (R17.7)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tenure.solver.model.caller_state import Certainty, Reservation, StartDelay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, PatchKind
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import timestamp
from tenure.wire.writer import serialize_message, tag

_PATCHES: Final = tag(service_pb.DecideResponse, "state_patches")
_ROWS: Final = tag(service_pb.DecideResponse, "reservations")
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


def reservation_fields(cluster: Cluster, result: CycleResult) -> list[bytes]:
    """Fields of the response, with their tags: patches, then all rows; nothing if the profile plans none."""
    fields: list[bytes] = []
    if result.reservations is not None:
        for patch in reservation_patches(cluster, result.reservations):
            fields += [_PATCHES, serialize_message(patch)]
        for row in encode_reservations(cluster, result.reservations):
            fields += [_ROWS, serialize_message(row)]
    return fields


class ReservationCounts(NamedTuple):
    """What metrics tell of the reservations of a cycle."""

    by_certainty: Mapping[int, int]
    """Reservations after the cycle by Certainty."""
    delays: Mapping[int, int]
    """Planned starts that moved to a later time, by StartDelay."""
    slips: tuple[int, ...]
    """Starts in this cycle, in nanoseconds after the first bounded plan."""
    lent: int
    """Pod groups that start on reserved capacity."""
    ended: int
    """Pod groups that are evicted from it."""
    idle: int | None = None
    """What is reserved and free after the cycle, in thousandths of a GPU; None: none are planned."""


_NONE: Final[Mapping[int, int]] = {}
NO_RESERVATIONS: Final = ReservationCounts(_NONE, _NONE, (), 0, 0)


def count_reservations(cluster: Cluster, result: CycleResult) -> ReservationCounts:
    """Counts of a cycle that plans reservations."""
    if result.reservations is None:
        return NO_RESERVATIONS
    before = {row.pod_group: row for row in reversed(cluster.reservations)}
    certainties, delays = Counter[int](), Counter[int]()
    for row in result.reservations:
        if row.paused_until is None:
            certainties[int(row.certainty)] += 1
        known = before.get(row.pod_group)
        if known is not None and known.start is not None and (row.start is None or row.start > known.start):
            delays[int(row.delayed_by)] += 1
    slips, lent, ended = list[int](), 0, set[int]()
    for group in result.groups:
        lent += sum(patch.kind is PatchKind.BACKFILL_FOR and bool(patch.counts) for patch in group.patches)
        if group.reason is ReasonCode.BACKFILL_ENDED:
            ended.update([cluster.tasks[step.task].pod_group for step in group.evictions])
        known = before.get(cluster.pod_groups[group.beneficiary].facts.uid) if group.bindings else None
        if known is not None and known.first_bounded is not None:
            slips.append(cluster.now - known.first_bounded)
    return ReservationCounts(certainties, delays, tuple(slips), lent, len(ended), result.reserved_idle)

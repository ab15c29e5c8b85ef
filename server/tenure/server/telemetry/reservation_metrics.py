"""Metrics of reservations and of pod groups on reserved capacity (semantics section 17)."""

from typing import Final

from opentelemetry import metrics
from tenure.codec.decisions.reservations import ReservationCounts
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.enum_labels import enum_label

_METER: Final = metrics.get_meter("tenure.server")
_SLIP_SECONDS: Final = (-3_600, -60, 0, 10, 60, 300, 900, 3_600, 14_400, 86_400)
_SLIPS: Final = _METER.create_histogram(
    "tenure_reservation_slip_seconds",
    description="Start of a pod group less the first start that was planned by time limits alone.",
    explicit_bucket_boundaries_advisory=_SLIP_SECONDS,
)
_DELAYS: Final = _METER.create_counter(
    "tenure_reservation_delays_total",
    description="Planned starts that moved to a later time, by the cause.",
)
_BACKFILLS: Final = _METER.create_counter(
    "tenure_backfills_total",
    description="Pod groups that started on reserved capacity, or were evicted from it.",
)


def count(counts: ReservationCounts) -> None:
    """Count what a cycle did with reservations."""
    for slip in counts.slips:
        _SLIPS.record(slip / SECOND)
    for cause, number in counts.delays.items():
        _DELAYS.add(number, {"cause": enum_label(pb.StartDelay, cause)})
    if counts.lent:
        _BACKFILLS.add(counts.lent, {"event": "started"})
    if counts.ended:
        _BACKFILLS.add(counts.ended, {"event": "evicted"})

"""Metrics of records: how many are written, and how many are not and why.

Without an OpenTelemetry SDK set up by the operator nothing is counted.
"""

from typing import Final

from opentelemetry import metrics

_METER: Final = metrics.get_meter("tenure.server")
_WRITTEN: Final = _METER.create_counter(
    "tenure_records_written_total",
    description="Decisions and outcomes that were recorded.",
)
_DROPPED: Final = _METER.create_counter(
    "tenure_records_dropped_total",
    description="Decisions and outcomes that were not recorded, by reason.",
)
BACKLOG: Final = "backlog"
"""Decisions come faster than they can be written."""
DISK: Final = "disk"
"""The file cannot be written."""
BASE: Final = "base"
"""The state that a state is made of was dropped because of its age; the next one is recorded in full."""


def begin_at_zero() -> None:
    """Let the counters exist before anything is counted, so that their growth can be seen."""
    _WRITTEN.add(0)
    for reason in (BACKLOG, DISK, BASE):
        _DROPPED.add(0, {"reason": reason})


def count_written(number: int) -> None:
    """Count entries that are in the file."""
    if number:
        _WRITTEN.add(number)


def count_dropped(number: int, reason: str) -> None:
    """Count entries that nobody will find in the file."""
    if number:
        _DROPPED.add(number, {"reason": reason})

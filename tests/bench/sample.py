"""Measured times of one case in one mode, and their statistics.

A micro-benchmark library does not fit: a request takes from a millisecond to seconds, needs its own server or
state, and its response is checked.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

_PROCESSORS: Final = Path("/proc/stat")
_IDLE: Final = (3, 4)
_STEAL: Final = 7
"""Field index in the first line of `/proc/stat`, see proc(5)."""
_BUSY: Final = 8
"""Number of leading fields to sum; the fields after these repeat their time."""


@dataclass(frozen=True)
class Sample:
    """Times in milliseconds, in the order of the runs, and other measurements of the runs."""

    case: str
    way: str
    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]
    """Processor time of the deciding process: this one or the server."""
    counters: dict[str, int]
    outcome: dict[str, Any]
    load: float
    """Load average of the last minute, at the end of the runs."""
    stolen_share: float
    """Share of the requested processor time that the host gave to other machines."""
    server_mib: float | None = None
    """Peak memory of the server process; None without a server."""
    tails_ms: Sequence[float] = ()
    """99th percentile of each run, if there are several runs with many calls."""

    @property
    def median_ms(self) -> float:
        """Median of wall time."""
        return median(self.wall_ms)

    @property
    def p99_ms(self) -> float:
        """99th percentile of wall time; with several runs, the median of their percentiles."""
        return median(self.tails_ms or [tail(self.wall_ms)])

    def as_json(self) -> dict[str, Any]:
        """Return all fields, and the statistics that tables show."""
        times = {
            "runs": len(self.wall_ms),
            "median_ms": self.median_ms,
            "min_ms": min(self.wall_ms),
            "p99_ms": self.p99_ms,
            "cpu_median_ms": median(self.cpu_ms),
            "cpu_min_ms": min(self.cpu_ms),
        }
        return {**asdict(self), **times}


def tail(times_ms: Sequence[float]) -> float:
    """Return the 99th percentile."""
    ordered = sorted(times_ms)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


class StealMeter:
    """Measures the processor time that the host steals from this machine, from construction on."""

    def __init__(self) -> None:
        self._wanted, self._stolen = _ticks()

    def share(self) -> float:
        """Stolen share of the requested processor time so far."""
        wanted, stolen = _ticks()
        return (stolen - self._stolen) / max(wanted - self._wanted, 1)


def _ticks() -> tuple[int, int]:
    """Return the requested and the stolen processor time since the machine started."""
    ticks = [int(each) for each in _PROCESSORS.read_text().splitlines()[0].split()[1 : _BUSY + 1]]
    return sum(ticks) - sum(ticks[place] for place in _IDLE), ticks[_STEAL]


def load_average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]

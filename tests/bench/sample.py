"""What was measured: times of one case asked in one way, and what they add up to.

Plain statistics over whole questions rather than a micro-benchmark library: a question takes from a
millisecond to seconds, needs a server or a state of its own, and is checked when it is answered.
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
"""Places in its first line, see proc(5)."""
_BUSY: Final = 8
"""The places after these are counted twice."""


@dataclass(frozen=True)
class Sample:
    """Times in milliseconds, in the order they were taken, and what else is known of the runs."""

    case: str
    way: str
    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]
    """Processor time of the process that decides: this one, or the server."""
    counters: dict[str, int]
    outcome: dict[str, Any]
    load: float
    """Load average of the last minute, at the end."""
    stolen_share: float
    """Part of the processor time wanted while measuring that the host gave to other machines."""
    server_mib: float | None = None
    """Most memory that the server process had; None where there is none."""
    tails_ms: Sequence[float] = ()
    """99th percentile of each run, where there are several with many calls each."""

    @property
    def median_ms(self) -> float:
        """Of wall time."""
        return median(self.wall_ms)

    @property
    def p99_ms(self) -> float:
        """The longest but for one in a hundred; the median of these, where there are several runs."""
        return median(self.tails_ms or [tail(self.wall_ms)])

    def as_json(self) -> dict[str, Any]:
        """Everything, with the figures that tables show."""
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
    """The longest but for one in a hundred."""
    ordered = sorted(times_ms)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


class StealMeter:
    """What the host takes from this machine from now on."""

    def __init__(self) -> None:
        self._wanted, self._stolen = _ticks()

    def share(self) -> float:
        """So far, of the processor time that was wanted."""
        wanted, stolen = _ticks()
        return (stolen - self._stolen) / max(wanted - self._wanted, 1)


def _ticks() -> tuple[int, int]:
    """Processor time that was wanted since the machine started, and how much of it was stolen."""
    ticks = [int(each) for each in _PROCESSORS.read_text().splitlines()[0].split()[1 : _BUSY + 1]]
    return sum(ticks) - sum(ticks[place] for place in _IDLE), ticks[_STEAL]


def load_average() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]

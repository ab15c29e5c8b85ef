"""What was measured: times of one case asked in one way, and what they add up to.

Plain statistics over whole questions rather than a micro-benchmark library: a question takes from a
millisecond to seconds, needs a server or a state of its own, and is checked when it is answered.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


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
    server_mib: float | None = None
    """Most memory that the server process had; None where there is none."""

    @property
    def median_ms(self) -> float:
        """Of wall time."""
        return median(self.wall_ms)

    @property
    def p99_ms(self) -> float:
        """The longest but for one in a hundred."""
        ordered = sorted(self.wall_ms)
        return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]

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


def load_average() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]

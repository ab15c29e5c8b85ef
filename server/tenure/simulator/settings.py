"""Settings of a run, apart from trace, cluster and profile."""

from dataclasses import dataclass
from typing import Final

from tenure.simulator.jobs import FROM_ZERO
from tenure.terms.durations import SECOND, format_duration

MINUTE: Final = 60 * SECOND


@dataclass(frozen=True)
class RunSettings:
    """Durations in nanoseconds."""

    seed: int = 0
    """Of failures. The same seed gives two policies the same failures."""
    cycle_period: int = SECOND
    """Shortest time between two cycles."""
    start_delay: int = 0
    """From bind to running."""
    termination_time: int = 30 * SECOND
    """From eviction until the capacity is free."""
    checkpoint_interval: int = 30 * MINUTE
    """Of jobs without one of their own: an evicted job keeps whole intervals of its work. 0: it keeps all
    work. FROM_ZERO: none.
    """
    notice: int = 0
    """Of jobs without one of their own: how long before an eviction a job is given notice, if the profile
    permits notices. 0: that of their queues.
    """
    checkpoint_on_notice: bool = False
    """Whether jobs that do not say save their work when they are given notice."""
    restart_overhead: int = MINUTE
    """Time without progress after each restart."""
    node_failure_interval: int = 0
    """Mean time between failures of one node; 0: nodes do not fail."""
    node_repair_time: int = 60 * MINUTE
    every_cycle: bool = False
    """Run also the cycles that cannot change anything; for tests of that rule."""

    def describe(self) -> dict[str, str]:
        """Names and values, for people."""
        interval = self.checkpoint_interval
        kept = "never" if interval == FROM_ZERO else "always" if interval == 0 else format_duration(interval)
        failures = format_duration(self.node_failure_interval) if self.node_failure_interval else "never"
        return {
            "seed": str(self.seed),
            "cycle period": format_duration(self.cycle_period),
            "start delay": format_duration(self.start_delay),
            "termination time": format_duration(self.termination_time),
            "checkpoint interval": kept,
            "notice": format_duration(self.notice) if self.notice else "of the queue",
            "checkpoint on notice": "yes" if self.checkpoint_on_notice else "no",
            "restart overhead": format_duration(self.restart_overhead),
            "node failure interval": failures,
            "node repair time": format_duration(self.node_repair_time),
        }

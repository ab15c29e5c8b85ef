"""What a run leaves: rows about jobs, segments, evictions and queues. Metrics and pages read only these."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.simulator.job_run import PodTimes, Segment
from tenure.simulator.jobs import Job
from tenure.v1.pod_group_status_pb2 import UnusableGpus


class JobResult(NamedTuple):
    """What happened to one job. Times are in nanoseconds."""

    job: Job
    first_start: int | None
    """None: it never started."""
    end: int | None
    """None: it did not complete."""
    running_time: int
    """Sum of its segments."""
    segments: int
    evictions: int
    """Times that an eviction ended a segment."""
    failures: int
    """Times that the loss of a node ended a segment."""
    barren: int
    """Segments that ended early and kept nothing."""
    times: PodTimes

    @property
    def gpu_times(self) -> PodTimes:
        """Its times in milli-GPU-nanoseconds."""
        return PodTimes(*[self.job.gpu_milli * amount for amount in self.times])


class Eviction(NamedTuple):
    """Pods of one pod group that one decision group evicted."""

    time: int
    victim: str
    pods: int
    beneficiary: str
    action: str
    group: str
    """ID of the decision group."""
    last_start: int
    """Start of the segment that the victim ran in."""
    left: int
    """Pods of the victim that kept running."""


EVICTED: Final = "evicted"
WITHDRAWN: Final = "withdrawn"
ENDED: Final = "ended"
"""The pods were gone by themselves."""
OPEN: Final = "open"
"""The notice stood when the run ended."""


class Notice(NamedTuple):
    """Pods of one pod group that one decision group announced to evict."""

    time: int
    victim: str
    pods: int
    beneficiary: str
    action: str
    group: str
    """ID of the decision group."""
    evict_time: int
    """When they were to be evicted."""
    end: int | None = None
    """None: it is open."""
    result: str = OPEN


@dataclass
class QueueTotals:
    """Integrals over the run, in milli-GPU-nanoseconds."""

    allocated: int = 0
    demand: int = 0
    entitled: int = 0
    """The smaller one of fair share and demand."""
    shortfall: int = 0
    excess: int = 0
    longest_below: int = 0
    """Longest time below 90 % of its entitlement, in nanoseconds."""


class SeriesPoint(NamedTuple):
    """Means of one interval, in milli-GPUs."""

    start: int
    usable: float
    allocated: float
    pending: float
    """GPUs that pending pods ask for."""
    queues: tuple[float, ...]
    """Allocated by queue."""
    entitled: tuple[float, ...]


@dataclass
class Results:
    """A whole run."""

    jobs: list[JobResult] = field(default_factory=list)
    """In order of submission."""
    segments: list[Segment] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    """In the order in which they were given."""
    queue_names: tuple[str, ...] = ()
    queues: dict[str, QueueTotals] = field(default_factory=dict)
    series: list[SeriesPoint] = field(default_factory=list)
    samples: list[UnusableGpus] = field(default_factory=list)
    """Free GPUs that the mix could not use, of the first cycle in each hour."""
    jain_sum: float = 0.0
    """Integral of Jain's index over the time in which a queue has demand."""
    jain_time: int = 0
    usable: int = 0
    """Milli-GPU-nanoseconds of nodes that were up."""
    used: int = 0
    """Milli-GPU-nanoseconds on nodes, terminating pods included; counted by node."""
    start: int = 0
    end: int = 0
    cycles: int = 0
    skipped_cycles: int = 0
    """Cycles that could not have changed anything."""
    decisions: dict[str, int] = field(default_factory=dict)
    """Decision groups by action."""
    counters: dict[str, int] = field(default_factory=dict)
    """Work of the search."""
    node_failures: int = 0
    stopped: bool = False
    """Whether the run was cut before its end."""

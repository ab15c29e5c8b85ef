"""The work of one job: progress, what a checkpoint keeps, and where its GPU time goes.

Work is counted in pod-nanoseconds: a job of `pods` pods and a runtime needs `pods * runtime`, and progresses
by the number of pods that run while at least its minimum runs. All amounts are integers, so that sums are
exact.
"""

from typing import Final, NamedTuple

from tenure.simulator.jobs import FROM_ZERO, Job
from tenure.v1.snapshot_pb2 import PodStatus

PENDING: Final = PodStatus.POD_STATUS_PENDING
BOUND: Final = PodStatus.POD_STATUS_BOUND
RUNNING: Final = PodStatus.POD_STATUS_RUNNING
RELEASING: Final = PodStatus.POD_STATUS_RELEASING


class PodTimes(NamedTuple):
    """Pod-nanoseconds of a job by what they were used for."""

    kept: int = 0
    """Work that was completed, or that a checkpoint holds."""
    lost: int = 0
    """Work that was done and not kept."""
    unsaved: int = 0
    """Work that was done and not saved when the run ended."""
    overhead: int = 0
    """Starting, restarting, and waiting for the rest of the minimum."""
    terminating: int = 0
    """From eviction until the capacity is free."""

    @property
    def total(self) -> int:
        """All of it: the time on nodes."""
        return self.kept + self.lost + self.unsaved + self.overhead + self.terminating


class Segment(NamedTuple):
    """A time in which a job ran, from the start of its minimum until it ended or was evicted."""

    job: str
    start: int
    end: int
    why: str
    """completed, failed (a node), the end of the run, or the action that evicted it."""
    nodes: tuple[str, ...]
    kept: int
    """Pod-nanoseconds."""
    lost: int


class JobRun:
    """A job that was submitted and has not ended. The simulation moves its pods and asks for the rest."""

    def __init__(self, job: Job, interval: int) -> None:
        self.job = job
        self.checkpoint_interval = interval if job.checkpoint_interval is None else job.checkpoint_interval
        self.needed = job.runtime * job.pods
        self.counts = {PENDING: 0, BOUND: 0, RUNNING: 0, RELEASING: 0}
        """Pods by status."""
        self.incarnation = 0
        """Number of pods that were made for it."""
        self.ticket = 0
        """Of its next completion."""
        self.first_start: int | None = None
        self.last_start = 0
        self.segment_start: int | None = None
        """None: it does not run."""
        self.segment_nodes: tuple[str, ...] = ()
        self.running_time = 0
        """Nanoseconds of ended segments."""
        self.segments = 0
        """Ended ones."""
        self.evictions = 0
        self.barren = 0
        """Segments that ended early and kept nothing."""
        self._since = 0
        self._saved = 0
        """Work that was kept at the start of the segment."""
        self._progress = 0
        """Work since the start of the segment."""
        self._saved_on_notice = 0
        """Work that was done at its last notice, if it was saved then."""
        self._overhead_left = 0
        self._lost = self._overhead = self._terminating = 0

    def settle(self, now: int) -> None:
        """Account for the time since the last change. Call it before every change."""
        elapsed = now - self._since
        self._since = now
        if not elapsed:
            return
        running = self.counts[RUNNING]
        self._terminating += elapsed * self.counts[RELEASING]
        self._overhead += elapsed * self.counts[BOUND]
        if self.segment_start is None:
            self._overhead += elapsed * running
            return
        idle = min(elapsed, self._overhead_left)
        self._overhead_left -= idle
        self._overhead += idle * running
        self._progress += (elapsed - idle) * running

    def move(self, before: PodStatus, after: PodStatus) -> None:
        """Count a pod of another status."""
        self.counts[before] -= 1
        self.counts[after] += 1

    def begin_segment(self, now: int, nodes: tuple[str, ...], overhead: int) -> None:
        """Its minimum runs from now on."""
        if self.first_start is None:
            self.first_start = now
            overhead = 0
        self.segment_start, self.last_start, self.segment_nodes = now, now, nodes
        self._overhead_left = overhead

    def save(self) -> None:
        """It saves all work that is done, beside its checkpoints at intervals. Settle before."""
        self._saved_on_notice = self._saved + self._progress

    def end_segment(self, now: int, why: str) -> Segment:
        """It stops running. The work since the last checkpoint is lost, unless it is completed."""
        assert self.segment_start is not None
        done = self._saved + self._progress
        kept = done if done >= self.needed else self._kept_of(done)
        lost = done - kept
        segment = Segment(
            self.job.name, self.segment_start, now, why, self.segment_nodes, kept - self._saved, lost
        )
        self.segments += 1
        self.running_time += now - self.segment_start
        self._lost += lost
        if segment.kept <= 0 and why != "completed":
            self.barren += 1
        self._saved, self._progress, self.segment_start, self._overhead_left = kept, 0, None, 0
        return segment

    def _kept_of(self, done: int) -> int:
        """Work that a checkpoint holds when so much is done."""
        if self.checkpoint_interval == FROM_ZERO:
            return self._saved_on_notice
        if self.checkpoint_interval == 0:
            return done
        step = self.checkpoint_interval * self.job.pods
        return max(self._saved + (done - self._saved) // step * step, self._saved_on_notice)

    def completion_time(self, now: int) -> int:
        """When it ends if nothing changes. It must run."""
        left = self.needed - self._saved - self._progress
        return now + self._overhead_left + -(-left // self.counts[RUNNING])

    @property
    def is_running(self) -> bool:
        """Whether at least its minimum runs."""
        return self.segment_start is not None

    @property
    def on_nodes(self) -> int:
        """Pods that have capacity."""
        return self.counts[BOUND] + self.counts[RUNNING] + self.counts[RELEASING]

    def times(self) -> PodTimes:
        """Where its time went, up to the last settlement."""
        done = self._saved + self._progress
        if self.segment_start is None or done >= self.needed:
            return PodTimes(done, self._lost, 0, self._overhead, self._terminating)
        kept = self._kept_of(done)
        return PodTimes(kept, self._lost, done - kept, self._overhead, self._terminating)

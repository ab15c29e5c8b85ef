"""The Slurm adapter: ports of the integration kit on Slurm's commands, and the lock that elects a leader."""

import logging
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tenure.integration.leadership_term import TermControl
from tenure.integration.ports import ClusterError
from tenure.integration.reconciler import ClusterPorts
from tenure.slurm.applier import JobApplier
from tenure.slurm.comments import CommentWriter
from tenure.slurm.lost_requeues import LostRequeues
from tenure.slurm.observe.cluster import Reading, Scope, is_owned, job_key
from tenure.slurm.observe.comment_marks import PREFIX
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.refused_starts import RefusedStarts
from tenure.slurm.observe.rows import JobRow
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import LiveJob, Slurm
from tenure.slurm.release import Releaser
from tenure.slurm.starter import JobStarter
from tenure.slurm.state_file import StateFile
from tenure.v1.snapshot_pb2 import Queue

FULL_SECONDS: Final = 10.0
"""How often the adapter lists everything at least: comments of users may have changed."""
SETTLE_SECONDS: Final = 15.0
"""How long nodes may take to report to a restarted slurmctld, and to end what it forgot."""
_FULL_PART: Final = 10
"""And at most a listing in this many times what the last one took."""
_RESTING: Final = "BeginTime"
"""Why a requeued job is not started by Slurm yet."""
_LOG: Final = logging.getLogger(__name__)


class HostClock:
    """The clock of this machine, in nanoseconds since 1970."""

    def read(self) -> int:
        """Now."""
        return time.time_ns()


class Adoption:
    """Holds jobs that wait and that Slurm could start, as the administrator: owners cannot release them.

    A job that runs is not held. When it is requeued, Slurm lets it rest, and within that time it is held.
    """

    def __init__(self, slurm: Slurm, scope: Scope) -> None:
        self._slurm, self._scope = slurm, scope
        self._adopted: set[tuple[str, int]] = set()
        """Ids and submit times of jobs that were held."""

    def adopt(self, jobs: Iterable[LiveJob], released: Container[str]) -> None:
        """Hold new and requeued jobs, but those that the adapter has released. Raises LeaseLost."""
        listed = [job for job in jobs if job.reference not in released]
        self._adopted.intersection_update((job.job_id, job.submit) for job in listed)
        due = [job for job in listed if self._is_due(job)]
        for job in due:
            if not job.is_held and job.reason != _RESTING:
                _LOG.warning("Job %s was not held and is %s: holding it", job.reference, job.state)
        self._slurm.hold(due)
        self._adopted.update((job.job_id, job.submit) for job in due)

    def release_moved(self, jobs: Iterable[JobRow]) -> None:
        """Release jobs that were moved into a partition of others, where Slurm starts them.

        One that cannot be changed costs no listing: the next pass repeats it. Raises LeaseLost, and
        ClusterError if slurmctld is away.
        """
        moved = [
            job_key(job)
            for job in jobs
            if job.state == "PENDING"
            and job.is_held
            and (job.admin_comment or "").startswith(PREFIX.strip())
            and not is_owned(job.partition, self._scope)
        ]
        self._slurm.release(moved)
        self._slurm.clear_admin_comments(moved)

    def _is_due(self, job: LiveJob) -> bool:
        if job.state != "PENDING" or not is_owned(job.partition, self._scope):
            return False
        is_new = (job.job_id, job.submit) not in self._adopted
        return not job.is_held or (is_new and job.reason != "JobHeldAdmin")


class SlurmObservation:
    """The ports of one leadership term, and the threads that follow the cluster and write comments."""

    def __init__(
        self, scope: Scope, queues: Sequence[Queue], state: StateFile, term: TermControl, period: float
    ) -> None:
        self._slurm, self._term, self._state, self._period = Slurm(term.may_act), term, state, period
        self._memories = JobMemories(state.memories())
        self._adoption = Adoption(self._slurm, scope)
        self._lost_requeues = LostRequeues(self._slurm, scope, self._memories)
        self._live: Mapping[str, LiveJob] = {}
        self._pause = FULL_SECONDS
        """Seconds between two listings without a change."""
        self._ended = threading.Event()
        refused = RefusedStarts()
        source = SlurmSource(
            scope, queues, self._read, self._memories, state.fields, self._has_observed, refused
        )
        self._source = source
        state.is_listed = lambda uid: uid in source.jobs
        store = self._store_memories
        before, settling = (lambda: self._live), self._settling
        releaser = Releaser(self._slurm, source, self._memories, store, before, settling)
        starter = JobStarter(self._slurm, source, self._memories, releaser, refused)
        self._starter = starter
        source.rechecks.append(lambda: starter.recheck_seconds)
        self._comments = CommentWriter(self._slurm, source)
        applier = JobApplier(self._slurm, source, starter, self._memories, store)
        self.ports = ClusterPorts(
            source,
            applier,
            state,
            self._comments,
            starter,
            on_set_aside=self._comments.set_aside,
            find_refusals=starter.find_refusals,
            take_finished=source.take_finished,
        )
        self.problem = ""
        """Why the cluster may have changed unseen; "": it has not."""
        self._threads = [
            threading.Thread(target=self._follow, name="tenure-slurm-poll", daemon=True),
            threading.Thread(target=self._comments.run, name="tenure-slurm-comments", daemon=True),
        ]

    @property
    def stuck(self) -> str:
        """Why only a restart helps; "": not stuck."""
        is_dead = not self._ended.is_set() and any(not thread.is_alive() for thread in self._threads)
        return "the cluster is no longer observed" if is_dead else ""

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads."""
        self._ended.set()
        self._comments.close()
        for thread in self._threads:
            thread.join()

    def _read(self) -> Reading:
        """List the cluster. The lines of squeue are older than the rows: a change in between shows.

        Jobs are held before the long listing: a slurmctld that was restarted starts those that are not.
        """
        began = time.monotonic()
        self._live = self._slurm.live_jobs()
        self._adoption.adopt(self._live.values(), self._starter.released)
        reading = self._slurm.read()
        if self._lost_requeues.repeat(reading.jobs):
            reading = self._slurm.read()
        self._adoption.release_moved(reading.jobs)
        self._pause = max(FULL_SECONDS, _FULL_PART * (time.monotonic() - began))
        return reading

    def _settling(self) -> float:
        """Seconds until jobs may start with a restarted slurmctld.

        It may have forgotten jobs that its nodes still run, and learns of them when the nodes report.
        """
        boot_time, known = self._slurm.boot_time(), self._state.boot_time()
        left = boot_time + SETTLE_SECONDS - time.time()
        if boot_time == known or (known and left > 0):
            return 0.0 if boot_time == known else min(left, SETTLE_SECONDS)
        self._state.store_boot_time(boot_time)
        return 0.0

    def _has_observed(self) -> None:
        self._store_memories()
        self._state.forget_others()

    def _store_memories(self) -> None:
        self._state.store_memories(self._memories.changes)
        self._memories.changes = {}

    def _follow(self) -> None:
        """Wake the reconciler when a job or a node changed, and from time to time."""
        last, listed_at = b"", 0.0
        while not self._ended.wait(self._period):
            try:
                now = self._slurm.fingerprint()
                self.problem = ""
            except ClusterError as error:
                self.problem = str(error)
                continue
            if now != last or time.monotonic() > listed_at + self._pause:
                last, listed_at = now, time.monotonic()
                self._term.wake()


class SlurmConnection:
    """Opens the parts of the adapter for each leadership term."""

    def __init__(self, scope: Scope, queues: Sequence[Queue], state_file: Path, period: float) -> None:
        self._scope, self._queues, self._path, self._period = scope, queues, state_file, period
        self._state: StateFile | None = None

    def journal_store(self, term: TermControl) -> StateFile:
        """The state file, opened for this term. Raises JournalUnreadable."""
        self.close()
        self._state = StateFile(self._path, term.may_act)
        return self._state

    @contextmanager
    def observe(self, term: TermControl) -> Iterator[SlurmObservation]:
        """Observe the cluster. `journal_store` was called before."""
        assert self._state is not None
        observation = SlurmObservation(self._scope, self._queues, self._state, term, self._period)
        observation.start()
        try:
            yield observation
        finally:
            observation.close()

    def close(self) -> None:
        """Close the state file."""
        if self._state is not None:
            self._state.close()
            self._state = None

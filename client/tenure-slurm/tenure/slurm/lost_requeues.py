"""Requeues that slurmctld acknowledged and forgot, because it was killed before they were on disk.

It takes the job for running again, whose processes end or have ended. Then the job completes, fails, or is
missing on its node, and Slurm does not start it again. The adapter requeues it once more:

missing on its node    Slurm says so itself: NODE_FAIL for JobLaunchFailure, after any requeue
ended in another way   the adapter had requeued this run, and slurmctld was started between that and the end

slurmctld may even forget a requeue after the job was listed as waiting: then an earlier run is the last one.
"""

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from tenure.slurm.observe.cluster import Scope, is_owned, job_key
from tenure.slurm.observe.memory import JobMemories, JobMemory
from tenure.slurm.observe.rows import JobRow, number
from tenure.slurm.programs import Slurm

LATEST_END_SECONDS: Final = 120
"""How long after its requeue a run may end because of it: grace of the signal, and retries of the node."""
_OWN_ENDS: Final = frozenset({"CANCELLED", "DEADLINE", "OUT_OF_MEMORY", "TIMEOUT"})
"""Ends with a cause of their own."""
_LOG: Final = logging.getLogger(__name__)


class LostRequeues:
    """Requeues jobs of `scope` again. A job that was not remembered when it ended is left alone."""

    def __init__(self, slurm: Slurm, scope: Scope, memories: JobMemories) -> None:
        self._slurm, self._scope, self._memories = slurm, scope, memories

    def repeat(self, jobs: Sequence[JobRow]) -> bool:
        """Requeue those of the listed jobs that are due. One that Slurm did not requeue is due again.

        Returns whether there were some: the listing is out of date. Raises ClusterError and LeaseLost.
        """
        ended = [job for job in jobs if job.is_over and is_owned(job.partition, self._scope)]
        own = [(job, memory) for job in ended if (memory := self._memories.find(job_key(job)))]
        boot_time = lru_cache(self._slurm.boot_time)
        due = [job_key(job) for job, memory in own if is_lost(job, memory, boot_time)]
        for key in due:
            _LOG.warning("Job %s has ended because slurmctld forgot its requeue: requeueing it again", key)
        self._slurm.requeue_ended(due)
        return bool(due)


def is_lost(job: JobRow, memory: JobMemory, boot_time: Callable[[], int]) -> bool:
    """Whether an ended job was to run again. `boot_time` is when slurmctld started, in seconds since 1970.

    It is a command, and called only for a job that ended soon after the adapter requeued it.
    """
    if not (job.requeue and job.batch_flag) or memory.user_id != job.user_id:
        return False
    if number(job.submit_time) not in memory.submits or job.state in _OWN_ENDS:
        return False
    if job.state == "NODE_FAIL" and job.state_reason == "JobLaunchFailure":
        return True
    start, stopped, end = number(job.start_time) or 0, memory.stopped_at, number(job.end_time) or 0
    ended_soon = stopped and start <= stopped <= end <= stopped + LATEST_END_SECONDS
    return bool(ended_soon and stopped <= boot_time() <= end)

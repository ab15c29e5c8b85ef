"""What the adapter remembers of a job between two listings, because Slurm forgets it.

Slurm gives the id of a job to another one after its state was lost, changes the submit time at each requeue,
and overwrites the nodes that the user requested when the adapter places the job.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from tenure.slurm.observe.cluster import HOLDING
from tenure.slurm.observe.comment_marks import read_marks, read_node_range
from tenure.slurm.observe.hostlist import expand
from tenure.slurm.observe.requests import least_nodes
from tenure.slurm.observe.rows import JobRow, number

_MAX_SUBMITS: Final = 64
"""Number of known submit times of a job; more requeues forget the oldest but the first."""


class JobMemory(msgspec.Struct, frozen=True):
    """What is remembered of one job."""

    user_id: int
    submits: tuple[int, ...]
    """Known submit times, the first one first, in seconds since 1970."""
    restarts: int
    """Number of the run: the restart count that belongs to the last submit time.

    While a requeued job ends, Slurm counts the restart already, and still has the earlier submit time. A
    crash of the controller can turn it back.
    """
    nodes: int
    max_nodes: int
    required_nodes: str
    excluded_nodes: str
    is_placed: bool = False
    """Whether the adapter overwrote the nodes that the user requested."""
    has_started: bool = False
    """Whether this run was started."""
    lost_runs: int = 0
    """Runs that a crash of the controller made pending again, without a requeue."""
    stopped_at: int = 0
    """When the adapter requeued the job last, in seconds since 1970; 0: it did not."""

    @property
    def first_submit(self) -> int:
        """When the job was submitted, in seconds since 1970."""
        return self.submits[0]


def remember(job: JobRow, known: JobMemory | None) -> JobMemory:
    """What to remember of a job. The result equals `known` if nothing changed.

    A job with another user, or with a new submit time that no requeue explains, is another job with the same
    id. A crash of the controller can forget a requeue and bring another one before the next listing: then the
    count of restarts is the same as before.
    """
    submit = number(job.submit_time) or 0
    if known is None or known.user_id != job.user_id:
        return _new(job, submit)
    has_started = job.state in HOLDING
    if submit in known.submits:
        if not known.is_placed and job.state == "PENDING":
            new = _new(job, submit)  # the user may have edited it
            return msgspec.structs.replace(new, submits=known.submits)
        run = min(known.restarts, job.restart_cnt)
        if known.has_started and job.state == "PENDING":
            lost = known.lost_runs + 1
            return msgspec.structs.replace(known, restarts=run, has_started=False, lost_runs=lost)
        return msgspec.structs.replace(known, restarts=run, has_started=known.has_started or has_started)
    if job.restart_cnt < max(known.restarts, 1):
        return _new(job, submit)
    is_again = known.has_started and job.restart_cnt == known.restarts
    submits = (known.first_submit, *known.submits[1:][-_MAX_SUBMITS + 2 :], submit)
    fresh = {"restarts": job.restart_cnt, "lost_runs": known.lost_runs + is_again}
    return msgspec.structs.replace(known, submits=submits, has_started=has_started, **fresh)


def as_submitted(job: JobRow, memory: JobMemory) -> JobRow:
    """A job with the nodes that its user requested, in place of those that the adapter chose."""
    return msgspec.structs.replace(
        job,
        node_count=memory.nodes,
        max_nodes=memory.max_nodes,
        required_nodes=memory.required_nodes,
        excluded_nodes=memory.excluded_nodes,
    )


def _new(job: JobRow, submit: int) -> JobMemory:
    marks, nodes = read_marks(job.admin_comment), read_node_range(job.admin_comment)
    lists = marks.get("nodelist", ""), marks.get("exclude", "")
    if (held := job.nodes) or job.restart_cnt:
        count = len(expand(held)) if held else least_nodes(job)
        least, most = nodes or (count, count)
        return JobMemory(job.user_id, (submit,), job.restart_cnt, least, most, *lists, is_placed=True)
    least, most = nodes or (least_nodes(job), number(job.max_nodes) or 0)
    required, excluded = job.required_nodes or "", job.excluded_nodes or ""
    return JobMemory(job.user_id, (submit,), job.restart_cnt, least, most, required, excluded)


class JobMemories:
    """Memories of all jobs, by job key. `changes` are those to be stored; None: forget it."""

    def __init__(self, stored: Iterable[tuple[str, JobMemory]] = ()) -> None:
        self._known = dict(stored)
        self.changes: dict[str, JobMemory | None] = {}

    def find(self, key: str) -> JobMemory | None:
        """What is known of a job."""
        return self._known.get(key)

    def update(self, key: str, job: JobRow) -> JobMemory:
        """Remember a job, and return what is known."""
        known = self._known.get(key)
        memory = remember(job, known)
        if memory != known:
            self._known[key] = self.changes[key] = memory
        return memory

    def mark_placed(self, key: str) -> None:
        """The adapter is about to overwrite the nodes that the user of a job requested."""
        self._mark(key, is_placed=True)

    def mark_started(self, key: str) -> None:
        """The adapter started a job."""
        self._mark(key, has_started=True)

    def mark_stopped(self, key: str, at: int) -> None:
        """The adapter is about to requeue a job."""
        self._mark(key, stopped_at=at)

    def keep_only(self, keys: set[str]) -> None:
        """Forget all others: jobs that are no longer listed."""
        for key in self._known.keys() - keys:
            del self._known[key]
            self.changes[key] = None

    def _mark(self, key: str, **fields: object) -> None:
        known = self._known.get(key)
        if known is not None and (memory := msgspec.structs.replace(known, **fields)) != known:
            self._known[key] = self.changes[key] = memory

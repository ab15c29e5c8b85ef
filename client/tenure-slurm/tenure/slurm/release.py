"""Releases jobs on the nodes that were decided for them, after all checks.

check      held, pending, and requested as when the decision was made
place      set the nodes of all jobs that are due, in one command; read them
release    those that have exactly their nodes, and that no owner has held since the cluster was listed, if
           slurmctld was not restarted

Each command of Slurm waits for a slurmctld that is restarted, and succeeds with the next one. A job that this
one starts before its nodes have reported to it runs twice, or leaves its GPUs counted as used for ever.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.integration.ports import APPLIED, ApplyResult, precondition_failed, retry
from tenure.slurm.observe.cluster import RELEASING
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.options import is_held
from tenure.slurm.observe.source import ObservedJob, SlurmSource
from tenure.slurm.programs import LiveJob, Slurm
from tenure.v1.decision_pb2 import Decision

REST_SECONDS: Final = 2.0
"""How long after its requeue a job starts again at the earliest."""
AWAY_SECONDS: Final = 5.0
ENDING_SECONDS: Final = 2.0
ENDING: Final = "other jobs still end on the nodes"
SETTLING: Final = "slurmctld has just started: its nodes report first"
HELD: Final = "its owner holds it"
RUNS: Final = frozenset({"RUNNING", "CONFIGURING"})


class Start(NamedTuple):
    """A job that is to be started on nodes."""

    job: ObservedJob
    nodes: tuple[str, ...]
    decisions: tuple[Decision, ...]

    @property
    def reference(self) -> str:
        """What scontrol calls the job."""
        return self.job.run.reference

    @property
    def key(self) -> tuple[str, int, tuple[str, ...]]:
        """Equal for one run of the job on the same nodes."""
        return self.reference, self.job.run.submit, self.nodes


class Results:
    """Results of the bindings of one pass, by decision id."""

    def __init__(self) -> None:
        self.started: dict[str, ApplyResult] = {}
        """All results that are known."""
        self.held: dict[str, ApplyResult | None] = {}
        """Bindings that must not be sent; None: their start goes on."""

    def set(self, start: Start, result: ApplyResult | None) -> None:
        """Set the result of all decisions of a start; None: it goes on."""
        for decision in start.decisions:
            self.set_one(decision, result)

    def set_one(self, decision: Decision, result: ApplyResult | None) -> None:
        """Set the result of a decision."""
        if result is not None:
            self.started[decision.id] = result
        if result is APPLIED:
            self.held.pop(decision.id, None)
        else:
            self.held[decision.id] = result


class Releaser:
    """Releases jobs.

    `before` is what squeue said when the cluster was observed last, `settling` how many seconds no job may be
    started.
    """

    def __init__(
        self,
        slurm: Slurm,
        source: SlurmSource,
        memories: JobMemories,
        store_memories: Callable[[], None],
        before: Callable[[], Mapping[str, LiveJob]],
        settling: Callable[[], float],
    ) -> None:
        self._slurm, self._source = slurm, source
        self._memories, self._store_memories, self.before = memories, store_memories, before
        self.settling = settling
        self.refused: set[str] = set()
        """References of jobs that Slurm did not start."""

    def release(self, starts: Sequence[Start], results: Results) -> list[Start]:
        """Release those of these jobs that may start. Returns them; the others have a result."""
        ready = self._check(starts, results) if starts else []
        for start in ready:
            self._memories.mark_placed(start.job.run.key)
        self._store_memories()
        self._slurm.place({one.reference: (one.nodes, not self._has_exact_number(one)) for one in ready})
        placed = self._confirm_placed(ready, results)
        if placed and (pause := self.settling()):
            for start in placed:
                results.set(start, retry(SETTLING, pause))
            return []
        if placed:
            self._slurm.start(start.reference for start in placed)
        return placed

    def ending_nodes(self) -> frozenset[str]:
        """Nodes on which jobs still end."""
        jobs = self._slurm.live_jobs().values()
        return frozenset(node for job in jobs if job.state in RELEASING for node in job.node_names)

    def _check(self, starts: Sequence[Start], results: Results) -> list[Start]:
        """Starts whose jobs wait as decided. A job that runs as decided has been started before."""
        live, before = self._slurm.live_jobs([one.reference for one in starts]), self.before()
        again = self.refused.intersection(start.reference for start in starts)
        ending = self.ending_nodes() if again else frozenset[str]()
        ready: list[Start] = []
        for start in starts:
            now, then = live.get(start.reference), before.get(start.reference)
            if now is None or now.submit != start.job.run.submit:
                results.set(start, precondition_failed("the job has ended, or was requeued"))
            elif now.state in RUNS:
                self._judge_running(start, now, results)
            elif now.state != "PENDING" or not now.is_held:
                results.set(start, precondition_failed(f"the job is {now.state}, and not held"))
            elif then is None or now.request != then.request:
                results.set(start, precondition_failed("the job was changed after the decision"))
            elif not self._source.have_reported(start.nodes):
                results.set(start, retry(SETTLING, AWAY_SECONDS))
            elif (pause := self._rest(start)) > 0:
                results.set(start, retry("its last run has just ended", pause))
            elif start.reference in again and self._source.have_lost_gpus(start.nodes):
                results.set(start, precondition_failed("Slurm counts GPUs as used that no job has"))
            elif start.reference in again and not ending.isdisjoint(start.nodes):
                results.set(start, retry(ENDING, ENDING_SECONDS))
            else:
                ready.append(start)
        return ready

    def _rest(self, start: Start) -> float:
        """Seconds until a requeued job may start again; 0 or less: now.

        slurmd refuses a job whose last run was stopped in the same second, and Slurm then fails the job.
        """
        run = start.job.run
        return run.submit + REST_SECONDS - time.time() if run.job.restart_cnt else 0.0

    def _judge_running(self, start: Start, now: LiveJob, results: Results) -> None:
        if set(now.node_names) == set(start.nodes):
            self._memories.mark_started(start.job.run.key)
            results.set(start, APPLIED)
        else:
            results.set(start, precondition_failed(f"the job runs on {now.nodes}"))

    def _has_exact_number(self, start: Start) -> bool:
        """Whether the job itself says the number of its nodes: then it must not be set."""
        job = start.job.run.job
        return job.max_nodes == job.node_count == len(start.nodes)

    def _confirm_placed(self, starts: Sequence[Start], results: Results) -> list[Start]:
        references = [one.reference for one in starts]
        live = self._slurm.live_jobs(references) if starts else {}
        comments = self._slurm.comments(references)
        placed: list[Start] = []
        for start in starts:
            now = live.get(start.reference)
            if is_held(comments.get(start.reference, "")):
                results.set(start, precondition_failed(HELD))
            elif now is not None and now.is_held and _names(now.required_nodes) == set(start.nodes):
                placed.append(start)
            else:
                results.set(start, precondition_failed("Slurm did not accept the nodes"))
        return placed


def _names(nodes: str) -> set[str]:
    try:
        return set(expand(nodes))
    except HostListError:
        return set()

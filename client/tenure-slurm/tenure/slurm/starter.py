"""Starts jobs. Implements BindingPreparer: Slurm starts a job as a whole, the server binds one pod at a time.

check      held, pending, and requested as when the decision was made
place      set the nodes of all jobs that are due, in one command; read them
release    those that have exactly their nodes, if slurmctld was not restarted; wait until Slurm runs them
hold       those that run, so that a requeue brings them back held; those that do not run, so that they
           never start later on nodes that others have by then; again when no job ends on their nodes

Each command of Slurm waits for a slurmctld that is restarted, and succeeds with the next one. A job that this
one starts before its nodes have reported to it runs twice, or leaves its GPUs counted as used for ever.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.integration.ports import APPLIED, ApplyResult, ClusterError, precondition_failed, retry
from tenure.slurm.observe.cluster import RELEASING
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.source import ObservedJob, SlurmSource
from tenure.slurm.programs import LiveJob, Slurm
from tenure.v1.decision_pb2 import Decision

START_SECONDS: Final = 10.0
"""How long a released job may take to run, before it is held again."""
REST_SECONDS: Final = 2.0
"""How long after its requeue a job starts again at the earliest."""
_POLL_SECONDS: Final = 0.1
_AWAY_SECONDS: Final = 5.0
_ENDING_SECONDS: Final = 2.0
_ENDING: Final = "other jobs still end on the nodes"
_SETTLING: Final = "slurmctld has just started: its nodes report first"
_RUNS: Final = frozenset({"RUNNING", "CONFIGURING"})
_LOG: Final = logging.getLogger(__name__)


class _Start(NamedTuple):
    """A job that is to be started on nodes."""

    job: ObservedJob
    nodes: tuple[str, ...]
    decisions: tuple[Decision, ...]

    @property
    def reference(self) -> str:
        return self.job.run.reference


class JobStarter:
    """Starts the jobs of bindings.

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
        self._memories, self._store_memories, self._before = memories, store_memories, before
        self._settling = settling
        self._refused: set[str] = set()
        """References of jobs that Slurm did not start."""
        self.started: dict[str, ApplyResult] = {}
        """Results of the bindings of the last pass, by decision id."""

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Start the jobs of all bindings. Returns the bindings of jobs that do not run, with results."""
        self.started = {}
        starts: list[_Start] = []
        held: dict[str, ApplyResult | None] = {}
        for decision_group in groups:
            for start in self._find_starts(decision_group, held):
                starts.append(start)
        try:
            self._start(starts, held)
        except ClusterError as error:
            for start in starts:
                self._set(held, start, retry(str(error), _AWAY_SECONDS))
        return held

    def close(self) -> None:
        """Nothing runs between passes."""

    def _find_starts(
        self, decisions: Sequence[Decision], held: dict[str, ApplyResult | None]
    ) -> list[_Start]:
        by_job: dict[str, dict[int, Decision]] = {}
        for decision in decisions:
            if (found := self._source.pods.get(decision.bind.pod)) is None:
                held[decision.id] = precondition_failed("the job has ended, or was requeued")
            else:
                job, number = found
                by_job.setdefault(job.rows.group.uid, {})[number] = decision
        starts: list[_Start] = []
        for uid, found_pods in by_job.items():
            job = self._source.jobs[uid]
            ordered = tuple(found_pods[number] for number in sorted(found_pods))
            start = _Start(job, tuple(decision.bind.node for decision in ordered), ordered)
            if len(ordered) != len(job.rows.pods):
                text = (
                    f"Slurm starts a job as a whole: {len(ordered)} of {len(job.rows.pods)} nodes are decided"
                )
                self._set(held, start, precondition_failed(text))
            elif len(set(start.nodes)) != len(start.nodes):
                self._set(held, start, precondition_failed("a node is named twice"))
            else:
                starts.append(start)
        return starts

    def _start(self, starts: Sequence[_Start], held: dict[str, ApplyResult | None]) -> None:
        ready = self._check(starts, held) if starts else []
        for start in ready:
            self._memories.mark_placed(start.job.run.key)
        self._store_memories()
        self._slurm.place({one.reference: (one.nodes, not self._has_exact_number(one)) for one in ready})
        placed = self._confirm_placed(ready, held)
        pause = self._settling() if placed else 0.0
        if pause:
            for start in placed:
                self._set(held, start, retry(_SETTLING, pause))
        elif placed:
            self._slurm.release(start.reference for start in placed)
            self._await(placed, held)

    def _check(self, starts: Sequence[_Start], held: dict[str, ApplyResult | None]) -> list[_Start]:
        """Starts whose jobs wait as decided. A job that runs as decided has been started before."""
        live, before = self._slurm.live_jobs([one.reference for one in starts]), self._before()
        again = self._refused.intersection(start.reference for start in starts)
        ending = self._ending_nodes() if again else frozenset[str]()
        ready: list[_Start] = []
        for start in starts:
            now, then = live.get(start.reference), before.get(start.reference)
            if now is None or now.submit != start.job.run.submit:
                self._set(held, start, precondition_failed("the job has ended, or was requeued"))
            elif now.state in _RUNS:
                self._judge_running(start, now, held)
            elif now.state != "PENDING" or not now.is_held:
                self._set(held, start, precondition_failed(f"the job is {now.state}, and not held"))
            elif then is None or now.request != then.request:
                self._set(held, start, precondition_failed("the job was changed after the decision"))
            elif not self._source.have_reported(start.nodes):
                self._set(held, start, retry(_SETTLING, _AWAY_SECONDS))
            elif (pause := self._rest(start)) > 0:
                self._set(held, start, retry("its last run has just ended", pause))
            elif start.reference in again and self._source.have_lost_gpus(start.nodes):
                self._set(held, start, precondition_failed("Slurm counts GPUs as used that no job has"))
            elif start.reference in again and not ending.isdisjoint(start.nodes):
                self._set(held, start, retry(_ENDING, _ENDING_SECONDS))
            else:
                ready.append(start)
        return ready

    def _rest(self, start: _Start) -> float:
        """Seconds until a requeued job may start again; 0 or less: now.

        slurmd refuses a job whose last run was stopped in the same second, and Slurm then fails the job.
        """
        run = start.job.run
        return run.submit + REST_SECONDS - time.time() if run.job.restart_cnt else 0.0

    def _ending_nodes(self) -> frozenset[str]:
        """Nodes on which jobs still end."""
        jobs = self._slurm.live_jobs().values()
        return frozenset(node for job in jobs if job.state in RELEASING for node in job.node_names)

    def _judge_running(self, start: _Start, now: LiveJob, held: dict[str, ApplyResult | None]) -> None:
        if set(now.node_names) == set(start.nodes):
            self._slurm.hold([start.reference])
            self._memories.mark_started(start.job.run.key)
            self._set(held, start, APPLIED)
        else:
            self._set(held, start, precondition_failed(f"the job runs on {now.nodes}"))

    def _has_exact_number(self, start: _Start) -> bool:
        """Whether the job itself says the number of its nodes: then it must not be set."""
        job = start.job.run.job
        return job.max_nodes == job.node_count == len(start.nodes)

    def _confirm_placed(self, starts: Sequence[_Start], held: dict[str, ApplyResult | None]) -> list[_Start]:
        live = self._slurm.live_jobs([one.reference for one in starts]) if starts else {}
        placed: list[_Start] = []
        for start in starts:
            now = live.get(start.reference)
            if now is not None and now.is_held and _names(now.required_nodes) == set(start.nodes):
                placed.append(start)
            else:
                self._set(held, start, precondition_failed("Slurm did not accept the nodes"))
        return placed

    def _await(self, starts: Sequence[_Start], held: dict[str, ApplyResult | None]) -> None:
        """Wait until the jobs run, and hold all of them: no requeue starts one again.

        Also if slurmctld is restarted meanwhile: it would start them at once.
        """
        waiting = {start.reference: start for start in starts}
        reasons: dict[str, str] = {}
        end, pause = time.monotonic() + START_SECONDS, 0.0
        try:
            while waiting and not pause and time.monotonic() < end:
                live = self._slurm.live_jobs(list(waiting))
                for reference in list(waiting):
                    now = live.get(reference)
                    if now is not None and now.state == "PENDING":
                        reasons[reference] = now.reason
                    else:
                        self._end(waiting.pop(reference), now, held)
                if all(live[reference].is_held for reference in waiting):
                    break  # Slurm tried in vain, and holds them itself
                if not (pause := self._settling()):
                    time.sleep(_POLL_SECONDS)
        finally:
            self._slurm.hold(start.reference for start in starts)
        live = self._slurm.live_jobs(list(waiting)) if waiting else {}
        ending = self._ending_nodes() if waiting else frozenset[str]()
        self._refused = {*self._refused.intersection(self._before()), *waiting}
        for reference, start in waiting.items():
            now = live.get(reference)
            if now is None or now.state != "PENDING":
                self._end(start, now, held)
            elif pause:
                self._set(held, start, retry(_SETTLING, pause))
            else:
                why = reasons.get(reference, now.reason)
                _LOG.warning("Slurm did not start job %s on %s: %s", reference, ",".join(start.nodes), why)
                text = f"Slurm did not start the job: {why}"
                is_free = ending.isdisjoint(start.nodes)
                self._set(held, start, retry(text) if is_free else retry(_ENDING, _ENDING_SECONDS))

    def _end(self, start: _Start, now: LiveJob | None, held: dict[str, ApplyResult | None]) -> None:
        """The result of a job that Slurm has started, or that has already ended."""
        if now is not None and now.state in _RUNS and set(now.node_names) != set(start.nodes):
            _LOG.error("Job %s runs on %s instead of %s", start.reference, now.nodes, start.nodes)
            self._set(held, start, precondition_failed(f"the job runs on {now.nodes}"))
        else:
            self._memories.mark_started(start.job.run.key)
            self._set(held, start, APPLIED)

    def _set(self, held: dict[str, ApplyResult | None], start: _Start, result: ApplyResult) -> None:
        for decision in start.decisions:
            self.started[decision.id] = result
            if result is not APPLIED:
                held[decision.id] = result


def _names(nodes: str) -> set[str]:
    try:
        return set(expand(nodes))
    except HostListError:
        return set()

"""Starts jobs. Implements BindingPreparer: Slurm starts a job as a whole, the server binds one pod at a time.

release    on the nodes that were decided
watch      until Slurm runs them: a pass waits a moment for them, and later passes look at slow ones
hold       those that do not run, so that they never start later on nodes that others have by then; again when
           no job ends on their nodes. One that Slurm refuses waits until something changed for it

It also tells whether Slurm would start a job, before others are requeued for it: of a job that is released on
nodes in use, Slurm says whether it waits for them, or for something else. Then it is held again. The pass
waits for the answer, some seconds if the scheduler is slow, and takes silence for a no.
"""

import logging
import re
import time
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple

from tenure.integration.ports import (
    APPLIED,
    ApplyResult,
    ClusterError,
    LeaseLost,
    precondition_failed,
    retry,
)
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.options import is_held
from tenure.slurm.observe.refused_starts import KEPT_HELD, RefusedStarts, has_judged, is_in_use, kind_of
from tenure.slurm.observe.source import ObservedJob, SlurmSource
from tenure.slurm.programs import LiveJob, Slurm
from tenure.slurm.release import (
    AWAY_SECONDS,
    ENDING,
    ENDING_SECONDS,
    HELD,
    RUNS,
    SETTLING,
    Releaser,
    Results,
    Start,
)
from tenure.v1.decision_pb2 import Decision, DecisionGroup

START_SECONDS: Final = 10.0
"""How long a released job may take to run, before it is held again."""
FAST_SECONDS: Final = 1.0
"""How long a pass waits for the jobs that it released: most run by then."""
PROBE_SECONDS: Final = 4.0
"""How long Slurm may take at least to say what a job waits for."""
LONGEST_PROBE_SECONDS: Final = 15.0
"""How long a pass waits for that at most, whatever batch_sched_delay is."""
_BATCH_DELAY: Final = re.compile(r"(?:^|,)\s*batch_sched_delay=(\d{1,9})(?=,|\s|$)", re.IGNORECASE)
_DEFAULT_BATCH_DELAY: Final = 3
_POLL_SECONDS: Final = 0.1
_HELD: Final = ("JobHeldAdmin", "JobHeldUser", "None", "")
_GONE: Final = "the job has ended, or was requeued"
_UNKNOWN: Final = "whether Slurm would start the job cannot be known now"
_PARTIAL: Final = "Slurm starts a job as a whole: not all of its nodes are decided"
_RUNS_ALREADY: Final = "the job runs already"
_HELD_MEANWHILE: Final = "the job was held meanwhile"
_LOG: Final = logging.getLogger(__name__)


class _Watched(NamedTuple):
    """A job that was released."""

    start: Start
    end: float
    """When it is held again, on the clock of this process."""
    reason: str = ""
    """Why it did not run yet, as Slurm said last."""
    was_kept_held: bool = False
    """Whether Slurm did not take what was set for a release."""


class JobStarter:
    """Starts the jobs of bindings."""

    def __init__(
        self,
        slurm: Slurm,
        source: SlurmSource,
        memories: JobMemories,
        releaser: Releaser,
        refused: RefusedStarts,
    ) -> None:
        self._slurm, self._source, self._memories = slurm, source, memories
        self._releaser, self._refused_starts = releaser, refused
        self._watched: dict[str, _Watched] = {}
        """Jobs that were released and neither run nor are held yet, by reference."""
        self._unsettled: set[str] = set()
        """References of others that may be released: by a command that failed, or for an answer of Slurm."""
        self.started: dict[str, ApplyResult] = {}
        """Results of the bindings of the last pass, by decision id."""

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Start the jobs of all bindings. Returns the bindings of jobs that do not run, with results."""
        results = Results()
        self.started = results.started
        starts = [start for decisions in groups for start in self._find_starts(decisions, results)]
        try:
            starts = self._leave_watched(starts, results)
            self._unsettled = {start.reference for start in starts}
            released = self._releaser.release(starts, results)
            end = time.monotonic() + START_SECONDS
            self._watched.update((start.reference, _Watched(start, end)) for start in released)
            self._unsettled = set()
            if released:
                self._await(released, results)
        except ClusterError as error:
            for start in starts:
                results.set(start, retry(str(error), AWAY_SECONDS))
        return results.held

    def find_refusals(self, groups: Sequence[DecisionGroup]) -> Mapping[str, str]:
        """Why groups that evict are not accepted, by id: Slurm would not start the job that they are for.

        Each of them needs an answer of its own: what Slurm answered before may no longer be so. Raises
        ClusterError and LeaseLost.
        """
        partial: dict[str, str] = {}
        probed: dict[str, Start] = {}
        for group in groups:
            if (job := self._job_to_probe(group)) is None:
                continue
            if (start := _start_of(job, group)) is None:
                partial[group.id] = _PARTIAL
            else:
                probed[group.id] = start
        if not probed:
            return partial
        seconds = probe_seconds(self._slurm.configuration())
        self._unsettled = {start.reference for start in probed.values()}
        released = {start.reference for start in self._releaser.release(list(probed.values()), Results())}
        answers = self._probe([start for start in probed.values() if start.reference in released], seconds)
        self._unsettled = set()
        unknown = {id: _UNKNOWN for id, start in probed.items() if start.reference not in released}
        found = {id: answers.get(start.reference, "") for id, start in probed.items()}
        return partial | unknown | {id: why for id, why in found.items() if why}

    def _job_to_probe(self, group: DecisionGroup) -> ObservedJob | None:
        """The waiting job for which a group evicts or gives notice; None: there is none."""
        job = self._source.jobs.get(group.beneficiary)
        kinds = {decision.WhichOneof("kind") for decision in group.decisions}
        is_waiting = job is not None and job.run.job.state == "PENDING"
        return job if is_waiting and not kinds.isdisjoint(("evict", "notify")) else None

    def _probe(self, starts: Sequence[Start], seconds: float) -> Mapping[str, str]:
        """Why Slurm would not start jobs that were released, by reference, in some seconds. Holds them again.

        Jobs that, as Slurm says, wait for their nodes are not in the result. Silence counts as a refusal.
        """
        left, reasons = {start.reference: start for start in starts}, dict[str, str]()
        pending: dict[str, str] = {}
        end = time.monotonic() + seconds
        while left and time.monotonic() < end:
            live = self._slurm.live_jobs(list(left))
            for reference in list(left):
                now = live.get(reference)
                if now is None or now.state != "PENDING":
                    reasons[reference] = _RUNS_ALREADY
                elif has_judged(now.reason):  # Slurm itself holds a job of bad constraints
                    reasons[reference] = now.reason
                elif now.is_held:
                    by_owner = self._is_held_by_owner(now)
                    reasons[reference] = _HELD_MEANWHILE if by_owner else KEPT_HELD
                else:
                    pending[reference] = "" if now.reason in _HELD else now.reason
                    continue
                del left[reference]
            if left:
                time.sleep(_POLL_SECONDS)
        self._slurm.hold(self._slurm.live_jobs([start.reference for start in starts]).values())
        answers: dict[str, str] = {}
        for start in starts:
            run, reason, at = start.job.run, reasons.get(start.reference, ""), int(time.time())
            if reason in (_RUNS_ALREADY, _HELD_MEANWHILE):
                answers[start.reference] = reason
            elif reason == KEPT_HELD:
                answers[start.reference] = self._keep_held(start)
            elif reason and not is_in_use(reason):
                _LOG.warning("Slurm would not start job %s: %s", start.reference, reason)
                answers[start.reference] = self._refused_starts.add(run, reason, start.nodes, at)
            elif not reason:
                last = pending.get(start.reference, "")
                text = self._refused_starts.add_silence(run, last, start.nodes, seconds, at)
                _LOG.warning("Job %s: %s", start.reference, text)
                answers[start.reference] = text
        return answers

    @property
    def released(self) -> Set[str]:
        """References of jobs that wait because of Slurm, and not because they are held."""
        late = time.monotonic() - AWAY_SECONDS  # without a server, no pass looks at them
        return {reference for reference, watched in self._watched.items() if watched.end > late}

    @property
    def recheck_seconds(self) -> float | None:
        """When a released job is held again at the latest, in seconds since 1970; None: there is none."""
        ends = [watched.end for watched in self._watched.values()]
        return time.time() + min(ends) - time.monotonic() if ends else None

    def _leave_watched(self, starts: Sequence[Start], results: Results) -> list[Start]:
        """Look at the jobs that were released in earlier passes. Returns the other starts.

        A job whose start is no longer decided is held.
        """
        wanted = {start.key: start for start in starts}
        gone = [one.start for one in self._watched.values() if one.start.key not in wanted]
        self._give_up(gone)
        for reference, watched in list(self._watched.items()):
            self._watched[reference] = watched._replace(start=wanted[watched.start.key])
        known = {watched.start.key for watched in self._watched.values()}
        if known:
            self._look(results)
        return [start for start in starts if start.key not in known]

    def close(self) -> None:
        """Hold jobs that were released and do not run: Slurm would start them, and no pass looks at them.

        If that fails, the next adapter that observes the cluster holds them.
        """
        references = sorted({*self._watched, *self._unsettled})
        self._watched, self._unsettled = {}, set()
        if not references:
            return
        try:
            live = self._slurm.live_jobs(references)
            self._slurm.hold(job for job in live.values() if job.state == "PENDING")
        except (ClusterError, LeaseLost) as error:
            why = str(error) or "the lease is lost"
            _LOG.warning("Jobs %s may be released, and cannot be held: %s", ",".join(references), why)

    def _find_starts(self, decisions: Sequence[Decision], results: Results) -> list[Start]:
        by_job: dict[str, dict[int, Decision]] = {}
        for decision in decisions:
            if (found := self._source.pods.get(decision.bind.pod)) is None:
                results.set_one(decision, precondition_failed(_GONE))
            else:
                job, number = found
                by_job.setdefault(job.rows.group.uid, {})[number] = decision
        starts: list[Start] = []
        for uid, found_pods in by_job.items():
            job = self._source.jobs[uid]
            ordered = tuple(found_pods[number] for number in sorted(found_pods))
            start = Start(job, tuple(decision.bind.node for decision in ordered), ordered)
            if len(ordered) != len(job.rows.pods):
                text = (
                    f"Slurm starts a job as a whole: {len(ordered)} of {len(job.rows.pods)} nodes are decided"
                )
                results.set(start, precondition_failed(text))
            elif len(set(start.nodes)) != len(start.nodes):
                results.set(start, precondition_failed("a node is named twice"))
            else:
                starts.append(start)
        return starts

    def _await(self, starts: Sequence[Start], results: Results) -> None:
        """Wait a moment until these jobs run."""
        end = time.monotonic() + FAST_SECONDS
        self._look(results)
        while time.monotonic() < end and any(start.reference in self._watched for start in starts):
            time.sleep(_POLL_SECONDS)
            self._look(results)

    def _look(self, results: Results) -> None:
        """Look at all jobs that were released: those that run, have ended, or will not run are left.

        All are held if slurmctld is restarted meanwhile: it would start them at once.
        """
        live, pause = self._slurm.live_jobs(list(self._watched)), self._releaser.settling()
        late: dict[str, _Watched] = {}
        for reference, before in list(self._watched.items()):
            now = live.get(reference)
            if now is None or now.state != "PENDING":
                del self._watched[reference]
                self._end(before.start, now, results)
                continue
            if now.is_held and not has_judged(now.reason) and self._is_held_by_owner(now):
                del self._watched[reference]
                results.set(before.start, precondition_failed(HELD))
                continue
            reason = before.reason if now.reason in _HELD else now.reason
            self._watched[reference] = watched = before._replace(reason=reason, was_kept_held=now.is_held)
            if pause or now.is_held or kind_of(reason) or time.monotonic() > watched.end:
                late[reference] = watched
            else:
                results.set(watched.start, None)
        if late:
            self._slurm.hold(live[reference] for reference in late)
            self._judge_late(late, pause, results)

    def _is_held_by_owner(self, job: LiveJob) -> bool:
        """Whether the owner of a held job holds it: with the gate its comment says so, without it Slurm."""
        comment = self._slurm.comments([job.reference]).get(job.reference, "")
        return job.reason == "JobHeldUser" or is_held(comment)

    def _judge_late(self, late: Mapping[str, _Watched], pause: float, results: Results) -> None:
        """Results of jobs that were released, did not run, and were held again."""
        live, ending = self._slurm.live_jobs(list(late)), self._releaser.ending_nodes()
        releaser = self._releaser
        releaser.refused = {*releaser.refused.intersection(releaser.before()), *late}
        for reference, (start, _, reason, was_kept_held) in late.items():
            del self._watched[reference]
            now = live.get(reference)
            if now is None or now.state != "PENDING":
                self._end(start, now, results)
            elif pause:
                results.set(start, retry(SETTLING, pause))
            elif not kind_of(reason) and not ending.isdisjoint(start.nodes):
                results.set(start, retry(ENDING, ENDING_SECONDS))
            elif was_kept_held and not has_judged(reason):
                results.set(start, precondition_failed(self._keep_held(start)))
            else:
                why = reason or now.reason
                _LOG.warning("Slurm did not start job %s on %s: %s", reference, ",".join(start.nodes), why)
                text = self._refused_starts.add(start.job.run, why, start.nodes, int(time.time()))
                results.set(start, precondition_failed(text))

    def _keep_held(self, start: Start) -> str:
        """Remember that Slurm kept a job held, and return that."""
        text = self._refused_starts.add_hold(start.job.run, start.nodes, int(time.time()))
        _LOG.warning("Job %s: %s", start.reference, text)
        return text

    def _give_up(self, starts: Sequence[Start]) -> None:
        """Hold jobs whose start is no longer decided."""
        if starts:
            live = self._slurm.live_jobs([start.reference for start in starts])
            self._slurm.hold(job for job in live.values() if job.state == "PENDING")
        for start in starts:
            del self._watched[start.reference]

    def _end(self, start: Start, now: LiveJob | None, results: Results) -> None:
        """The result of a job that Slurm has started, or that has already ended."""
        if now is not None and now.state in RUNS and set(now.node_names) != set(start.nodes):
            _LOG.error("Job %s runs on %s instead of %s", start.reference, now.nodes, start.nodes)
            results.set(start, precondition_failed(f"the job runs on {now.nodes}"))
        else:
            self._memories.mark_started(start.job.run.key)
            results.set(start, APPLIED)


def probe_seconds(configuration: Mapping[str, str]) -> float:
    """How long Slurm may take to say what a released job waits for, by the settings of its scheduler."""
    found = _BATCH_DELAY.search(configuration.get("SchedulerParameters", ""))
    delay = int(found[1]) if found else _DEFAULT_BATCH_DELAY
    return min(max(PROBE_SECONDS, delay + 1.0), LONGEST_PROBE_SECONDS)


def _start_of(job: ObservedJob, group: DecisionGroup) -> Start | None:
    """The start that a group prepares; None: it does not name one node for each pod of the job."""
    places = {pod.uid: "" for pod in job.rows.pods}
    for decision in group.decisions:
        for one in (decision.reserve, decision.bind):
            if one.pod in places:
                places[one.pod] = one.node
    nodes = tuple(dict.fromkeys(places.values()))
    return Start(job, nodes, ()) if all(nodes) and len(nodes) == len(places) else None

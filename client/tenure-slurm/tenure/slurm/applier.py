"""Applies evictions, notices, and bindings that JobStarter has carried out. Implements DecisionApplier.

The server evicts pods; Slurm stops a job as a whole. The first eviction of a job stops it, the others find it
stopped. A decision is compared with the rows that the server was sent, with the other preconditions and again
directly before each command. A job is cancelled only if its comment, read again, or its queue asks for that.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from tenure.integration.ownership import (
    UNREQUESTED,
    Refusals,
    find_foreign,
    permits_fate,
    pod_of,
)
from tenure.integration.ports import (
    APPLIED,
    ApplyResult,
    EvictionBudget,
    failed,
    precondition_failed,
    retry,
)
from tenure.slurm.observe.cluster import HOLDING
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.options import read_fate
from tenure.slurm.observe.source import ObservedJob, SlurmSource
from tenure.slurm.programs import CommandFailed, LiveJob, Slurm
from tenure.slurm.starter import JobStarter
from tenure.v1.decision_pb2 import NOTICE_SIGNAL_CHECKPOINT, Decision
from tenure.v1.snapshot_pb2 import (
    FATE_DELETE,
    FATE_SUSPEND,
    POD_STATUS_RELEASING,
    PREEMPTIBILITY_PREEMPTIBLE,
    PREEMPTIBILITY_SEMI_PREEMPTIBLE,
)

_GIVEN: Final = (PREEMPTIBILITY_PREEMPTIBLE, PREEMPTIBILITY_SEMI_PREEMPTIBLE)
"""What a job was given resources under that its owner must not have changed to "cannot be requeued"."""
CHECKPOINT_SIGNAL: Final = "USR1"
"""Sent to the batch script of a job that asks for it: the signal ends a script that does not handle it."""


class JobApplier:
    """For several threads, except `preconditions`."""

    def __init__(
        self,
        slurm: Slurm,
        source: SlurmSource,
        starter: JobStarter,
        memories: JobMemories,
        store_memories: Callable[[], None],
    ) -> None:
        self._slurm, self._source, self._starter = slurm, source, starter
        self._memories, self._store_memories = memories, store_memories
        self._stopping = threading.Lock()
        self._refusals = Refusals()

    def preconditions(self) -> Callable[[Decision], str]:
        """A check against the cluster as observed last."""
        return self._find_violation

    def budgets(self) -> Callable[[Decision], Sequence[EvictionBudget]]:
        """Slurm has none."""
        return lambda decision: ()

    def is_visible(self, decision: Decision) -> bool:
        """Whether the last listing shows the effect."""
        match decision.WhichOneof("kind"):
            case "bind":
                found = self._source.pods.get(decision.bind.pod)
                return found is not None and found[0].rows.pods[found[1]].node == decision.bind.node
            case "evict":
                return self._is_stopped(decision)
        return False

    def look_up(self, decision: Decision) -> ApplyResult | None:
        """The effect of a decision that may have been sent before; JobStarter looks up bindings."""
        if decision.HasField("evict"):
            return APPLIED if self._is_stopped(decision) else None
        if decision.HasField("bind"):
            return self._starter.started.get(decision.id)
        return None

    def apply(self, decision: Decision) -> ApplyResult:
        """Apply a decision. An error of Slurm is a result. Raises LeaseLost."""
        try:
            if foreign := self._refuse(decision):
                return precondition_failed(foreign)
            match decision.WhichOneof("kind"):
                case "bind":
                    return self._starter.started.get(decision.id) or retry("the job is not started yet")
                case "evict":
                    return self._evict(decision)
                case "notify":
                    return self._notify(decision)
                case _:
                    return self._withdraw(decision)
        except CommandFailed as failure:
            return failed(failure.text) if failure.is_final else retry(failure.text)

    def _find_violation(self, decision: Decision) -> str:
        found = self._source.pods.get(pod_of(decision))
        if found is None:
            return "the job has ended, or was requeued"
        if foreign := self._refuse(decision):
            return foreign
        row = found[0].rows.pods[found[1]]
        if decision.HasField("bind"):
            is_placed = row.node and row.node != decision.bind.node
            return f"the job runs on node {row.node}" if is_placed else ""
        expected = decision.evict.node or decision.notify.node
        return f"the job runs on node {row.node or 'none'}" if expected and row.node != expected else ""

    def _refuse(self, decision: Decision) -> str:
        """Why the job of a decision is not its own, or must not end, which is logged and counted; "": none.

        A job that has ended or was requeued since is neither.
        """
        found = self._source.pods.get(pod_of(decision))
        if found is None:
            return ""
        why = find_foreign(decision, self._source)
        if not why and decision.evict.fate == FATE_SUSPEND:
            why = "a job that is suspended keeps its GPUs"
        if not why and not permits_fate(decision.evict, self._source):
            why = UNREQUESTED
        return self._refused(decision, found[0], why) if why else ""

    def _refused(self, decision: Decision, job: ObservedJob, why: str) -> str:
        self._refusals.add(decision.WhichOneof("kind") or "", f"job {job.run.reference}", why)
        return why

    def _is_stopped(self, decision: Decision) -> bool:
        found = self._source.pods.get(decision.evict.pod)
        return found is None or found[0].rows.pods[found[1]].status == POD_STATUS_RELEASING

    def _evict(self, decision: Decision) -> ApplyResult:
        found = self._source.pods.get(decision.evict.pod)
        if found is None:
            return APPLIED
        job = found[0]
        with self._stopping:
            live = self._live(job)
            if live is None or live.state not in HOLDING:
                return APPLIED
            if decision.evict.node not in live.node_names:
                return precondition_failed(f"the job runs on {live.nodes}")
            if decision.evict.fate == FATE_DELETE:
                own = read_fate(self._slurm.comment(job.run.reference))
                if not permits_fate(decision.evict, self._source, own):
                    return precondition_failed(self._refused(decision, job, UNREQUESTED))
                self._slurm.cancel(job.run.reference)
            else:
                self._memories.mark_stopped(job.run.key, int(time.time()))
                self._store_memories()
                if not job.run.job.requeue and job.rows.group.grant.preemptibility in _GIVEN:
                    self._slurm.permit_requeue(job.run.reference)
                self._slurm.requeue(job.run.reference)
            live = self._live(job)
        if live is not None and live.state in HOLDING:
            return retry(f"the job is still {live.state}")
        return APPLIED

    def _notify(self, decision: Decision) -> ApplyResult:
        notify = decision.notify
        job = self._running(notify.pod)
        if job is None:
            return precondition_failed("the job does not run")
        at = datetime.fromtimestamp(notify.evict_time.seconds, UTC)
        self._slurm.notify(job.run.reference, f"tenure: this job will be requeued at {at:%Y-%m-%d %H:%M:%SZ}")
        if notify.signal == NOTICE_SIGNAL_CHECKPOINT and job.rows.group.checkpoint_on_notice:
            self._slurm.signal(job.run.reference, CHECKPOINT_SIGNAL)
        return APPLIED

    def _withdraw(self, decision: Decision) -> ApplyResult:
        job = self._running(decision.withdraw_notice.pod)
        if job is not None:
            self._slurm.notify(job.run.reference, "tenure: this job will not be requeued")
        return APPLIED

    def _running(self, pod: str) -> ObservedJob | None:
        found = self._source.pods.get(pod)
        if found is None:
            return None
        live = self._live(found[0])
        return found[0] if live is not None and live.state in HOLDING else None

    def _live(self, job: ObservedJob) -> LiveJob | None:
        """The job as it is now; None if it has ended, was requeued, or is another one with the same id."""
        live = self._slurm.live_jobs([job.run.reference]).get(job.run.reference)
        return live if live is not None and live.submit == job.run.submit else None

"""Jobs and their pods on the cluster: rows of the state, accounts of work, and the events that follow."""

from collections.abc import Iterable, Mapping

from tenure.simulator.cluster import shape_id
from tenure.simulator.events import EventKind, EventQueue
from tenure.simulator.job_run import BOUND, PENDING, RELEASING, RUNNING, JobRun
from tenure.simulator.jobs import FROM_ZERO, Job
from tenure.simulator.meter import Meter
from tenure.simulator.results import Eviction, JobResult, Results
from tenure.simulator.settings import RunSettings
from tenure.simulator.state_rows import StateRows
from tenure.terms.durations import SECOND
from tenure.v1.decision_pb2 import Bind, DecisionGroup
from tenure.v1.snapshot_pb2 import Pod, PodGroup, PodStatus, QueueRuntimes
from tenure.wire.runtime_history import add_runtime
from tenure.wire.timestamps import span, timestamp

NODE_FAILED = "failed"
"""Why a segment ended: a node was lost."""


class Workloads:
    """The unfinished jobs of a run.

    Methods that change pods note the job. `settle_changes` then begins and ends segments, once per instant,
    so that a gang whose pods move one by one moves as a whole.
    """

    def __init__(
        self, rows: StateRows, events: EventQueue, meter: Meter, settings: RunSettings, results: Results
    ) -> None:
        self._rows, self._events, self._meter = rows, events, meter
        self._settings, self._results = settings, results
        self._runs: dict[str, JobRun] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """Rows of the pods of each job."""
        self._changed: dict[str, str] = {}
        """Jobs whose pods moved at this instant, and the reason."""
        self._failures: dict[str, int] = {}
        self.arrived = 0
        self.pending = 0
        """Pods that wait for a node."""
        self._on_nodes = 0

    @property
    def unfinished(self) -> int:
        """Jobs that were submitted and have not ended."""
        return len(self._runs)

    @property
    def is_moving(self) -> bool:
        """Whether a pod is on a node, so that something will happen by itself."""
        return self._on_nodes > 0

    def arrive(self, job: Job, now: int) -> None:
        """Submit a job."""
        self.arrived += 1
        row = PodGroup(
            uid=job.name,
            name=job.name,
            namespace=job.queue[:63],
            queue=job.queue,
            priority=job.priority,
            preemptibility=f"PREEMPTIBILITY_{job.preemptibility.name}",
            min_member=job.least_pods,
            creation_time=timestamp(job.submit),
        )
        if job.expected_runtime:
            row.expected_runtime.CopyFrom(span(job.expected_runtime))
        if job.time_limit:
            row.time_limit.CopyFrom(span(job.time_limit))
        run = self._runs[job.name] = JobRun(job, self._settings.checkpoint_interval)
        if run.checkpoint_interval != FROM_ZERO:
            row.checkpoint_interval.CopyFrom(span(max(run.checkpoint_interval, SECOND)))
        if self._settings.restart_overhead:
            row.restart_cost.CopyFrom(span(self._settings.restart_overhead))
        if job.notice is not None or self._settings.notice:
            row.notice.CopyFrom(span(self._settings.notice if job.notice is None else job.notice))
        row.checkpoint_on_notice = job.saves_on_notice(self._settings.checkpoint_on_notice)
        self._rows.put("pod_groups", row)
        run.settle(now)
        self._pods[job.name] = {}
        for _ in range(job.pods):
            self._create_pod(run, now)
        self._meter.demand(job.queue, job.total_gpu_milli)

    def complete(self, name: str, ticket: int, now: int) -> bool:
        """End a job, unless the event is out of date."""
        run = self._runs.get(name)
        if run is None or run.ticket != ticket:
            return False
        run.settle(now)
        self._results.segments.append(run.end_segment(now, "completed"))
        for pod in list(self._pods.pop(name).values()):
            self._remove_pod(run, pod)
        self._rows.remove("pod_groups", name)
        self._rows.drop_records(name)
        self._meter.demand(run.job.queue, -run.job.total_gpu_milli)
        del self._runs[name]
        self._results.jobs.append(self._result(run, now))
        self._note_runtime(run, now)
        return True

    def _note_runtime(self, run: JobRun, now: int) -> None:
        """Add the runtime of a finished job to the history of its queue."""
        row = QueueRuntimes(queue=run.job.queue)
        known = self._rows.get("queue_runtimes").get(run.job.queue)
        if known is not None:
            row.CopyFrom(known)
        add_runtime(row, run.job.total_gpu_milli, run.running_time // SECOND, now // SECOND)
        self._rows.put("queue_runtimes", row)

    def bind(self, bind: Bind, now: int) -> None:
        """Place a pending pod. It runs at once, or after the start delay."""
        row = self._rows.get("pods").get(bind.pod)
        if row is None or row.status != PENDING:
            return
        row.node = bind.node
        row.gpu_groups[:] = bind.gpu_groups
        delay = self._settings.start_delay
        self._move(row, BOUND if delay else RUNNING, now, "")
        if delay:
            self._events.add(now + delay, EventKind.STARTED, row.uid)

    def started(self, uid: str, now: int) -> bool:
        """A bound pod runs."""
        row = self._rows.get("pods").get(uid)
        if row is None or row.status != BOUND:
            return False
        self._move(row, RUNNING, now, "")
        return True

    def evict(self, uid: str, now: int) -> str | None:
        """Terminate a pod that is on a node. Returns its pod group; None if it is not there."""
        row = self._rows.get("pods").get(uid)
        if row is None or row.status not in (BOUND, RUNNING):
            return None
        self._move(row, RELEASING, now, "evicted")
        self._events.add(now + self._settings.termination_time, EventKind.TERMINATION_DONE, uid)
        return str(row.pod_group)

    def terminated(self, uid: str, now: int) -> bool:
        """An evicted pod is gone; its owner creates another one."""
        row = self._rows.get("pods").get(uid)
        if row is None or row.status != RELEASING:
            return False
        run = self._runs[row.pod_group]
        run.settle(now)
        self._remove_pod(run, row)
        self._create_pod(run, now)
        return True

    def lose_node(self, node: str, now: int) -> None:
        """Pods of a node are gone. A job that is left with less than its minimum restarts as a whole."""
        lost = [row for row in self._rows.get("pods").values() if row.node == node and row.status != PENDING]
        for row in lost:
            run = self._runs[row.pod_group]
            run.settle(now)
            self._remove_pod(run, row)
            self._create_pod(run, now)
            self._changed[row.pod_group] = NODE_FAILED
        for name in dict.fromkeys(row.pod_group for row in lost):
            run = self._runs[name]
            if run.counts[RUNNING] + run.counts[BOUND] < run.job.least_pods:
                for row in list(self._pods[name].values()):
                    if row.status in (BOUND, RUNNING):
                        self.evict(row.uid, now)
                self._changed[name] = NODE_FAILED

    def give_notice(self, name: str, now: int) -> None:
        """Give a job notice of an eviction. It keeps running, and saves its work if it does so on notice."""
        run, row = self._runs[name], self._rows.get("pod_groups")[name]
        if row.checkpoint_on_notice:
            run.settle(now)
            run.save()
            row.last_checkpoint_time.CopyFrom(timestamp(now))
            self._rows.changed("pod_groups", name)

    def end_notice(self, name: str) -> None:
        """A notice was carried out or withdrawn. From then on its checkpoints are those at intervals."""
        row = self._rows.get("pod_groups").get(name)
        if row is not None and row.HasField("last_checkpoint_time") and row.HasField("checkpoint_interval"):
            row.ClearField("last_checkpoint_time")
            self._rows.changed("pod_groups", name)

    def note_evictions(self, group: DecisionGroup, evicted: Mapping[str, int], now: int) -> None:
        """Keep a row for each pod group that a decision group evicts."""
        for victim, pods in evicted.items():
            run = self._runs[victim]
            self._changed[victim] = group.action
            if group.action == NODE_FAILED:
                continue  # of a history: nothing decided it
            self._results.evictions.append(
                Eviction(
                    now,
                    victim,
                    pods,
                    group.beneficiary,
                    group.action,
                    group.id,
                    run.last_start,
                    run.counts[RUNNING] + run.counts[BOUND],
                )
            )

    def settle_changes(self, now: int) -> None:
        """Begin and end segments of jobs whose pods moved, and schedule their completion."""
        changed, self._changed = self._changed, {}
        for name, why in changed.items():
            run = self._runs.get(name)
            if run is None:
                continue
            run.settle(now)
            has_minimum = run.counts[RUNNING] >= max(run.job.least_pods, 1)
            if run.is_running and not has_minimum:
                segment = run.end_segment(now, why)
                self._results.segments.append(segment)
                if why == NODE_FAILED:
                    self._failures[name] = self._failures.get(name, 0) + 1
                else:
                    run.evictions += 1
            elif not run.is_running and has_minimum:
                nodes = [row.node for row in self._pods[name].values() if row.status == RUNNING]
                run.begin_segment(now, tuple(sorted(set(nodes))), self._settings.restart_overhead)
            run.ticket += 1
            if run.is_running:
                self._events.add(run.completion_time(now), EventKind.COMPLETION, name, run.ticket)

    def finish(self, now: int, jobs: Iterable[Job]) -> None:
        """Keep results of the submitted jobs that did not end, in the order of the trace."""
        for run in self._runs.values():
            run.settle(now)
            self._results.jobs.append(self._result(run, None))
        known = {result.job.name: result for result in self._results.jobs}
        self._results.jobs = [
            known.get(job.name) or self._result(JobRun(job, self._settings.checkpoint_interval), None)
            for job in jobs
            if job.submit <= now
        ]

    def _result(self, run: JobRun, end: int | None) -> JobResult:
        failures = self._failures.get(run.job.name, 0)
        is_open = run.is_running
        running = run.running_time + (self._results.end - run.last_start if is_open else 0)
        segments = run.segments + is_open
        return JobResult(
            run.job, run.first_start, end, running, segments, run.evictions, failures, run.barren, run.times()
        )

    def _create_pod(self, run: JobRun, now: int) -> None:
        run.incarnation += 1
        uid = f"{run.job.name}/{run.incarnation:04d}"
        row = Pod(
            uid=uid,
            name=uid,
            pod_group=run.job.name,
            shape=shape_id(run.job),
            status=PENDING,
            creation_time=timestamp(now),
        )
        self._pods[run.job.name][uid] = row
        self._rows.put("pods", row)
        run.counts[PENDING] += 1
        self.pending += 1
        self._meter.pending += run.job.gpu_milli

    def _remove_pod(self, run: JobRun, row: Pod) -> None:
        self._account(run.job, row.status, None)
        run.counts[row.status] -= 1
        self._pods.get(run.job.name, {}).pop(row.uid, None)
        self._rows.remove("pods", row.uid)

    def _move(self, row: Pod, status: PodStatus, now: int, why: str) -> None:
        run = self._runs[row.pod_group]
        run.settle(now)
        self._account(run.job, row.status, status)
        run.move(row.status, status)
        row.status = status
        self._rows.changed("pods", row.uid)
        self._changed.setdefault(row.pod_group, why)

    def _account(self, job: Job, before: int, after: int | None) -> None:
        """Meter a pod whose status changes; None: it is gone."""
        gpus, meter = job.gpu_milli, self._meter
        if before == PENDING:
            self.pending -= 1
            meter.pending -= gpus
        else:
            self._on_nodes -= 1
            meter.used -= gpus
            if before != RELEASING:
                meter.allocate(job.queue, -gpus)
        if after is not None:
            self._on_nodes += 1
            meter.used += gpus
            if after != RELEASING:
                meter.allocate(job.queue, gpus)

"""The observed cluster as rows. Implements ClusterSource.

Each pass lists everything, because Slurm tells no changes. Rows are made again only for jobs and nodes whose
listing changed, so that a pass costs little beside Slurm's own commands.
"""

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.ports import FinishedRun
from tenure.slurm.observe.capacity_rows import QueueTree, node_row
from tenure.slurm.observe.cluster import (
    HOLDING,
    RELEASING,
    Reading,
    Run,
    Scope,
    foreign_partitions,
    job_key,
    list_runs,
)
from tenure.slurm.observe.limits import judge
from tenure.slurm.observe.lost_gpus import LostGpus
from tenure.slurm.observe.memory import JobMemories, JobMemory
from tenure.slurm.observe.pod_group_rows import JobRows, job_rows, priority_of, queue_name
from tenure.slurm.observe.refused_starts import RefusalKind, RefusedStarts, Wait
from tenure.slurm.observe.requests import Capacity, read_capacity
from tenure.slurm.observe.reservations import active_by_node, closing_nodes
from tenure.slurm.observe.rows import JobRow, NodeRow, number
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Node, Pod, PodGroup, PodShape, Queue
from tenure.v1.state_pb2 import StateDelta

_MAX_WARNINGS: Final = 10_000
"""Number of remembered warnings, after which they may be repeated."""
_LOG: Final = logging.getLogger(__name__)
_Row = TypeVar("_Row", bound=Message)


class ObservedJob(NamedTuple):
    """A job of the last pass, with what its rows were made of."""

    run: Run
    memory: JobMemory
    rows: JobRows
    fields: PodGroup | None
    wait: Wait | None = None
    """Why Slurm does not start it."""
    closing: frozenset[str] = frozenset()
    """Nodes that a reservation takes before it would end."""


class _Rows(NamedTuple):
    """All rows of a pass, by key."""

    nodes: dict[str, Node]
    queues: dict[str, Queue]
    pod_groups: dict[str, PodGroup]
    pods: dict[str, Pod]
    shapes: dict[str, PodShape]


class _ObservedNode(NamedTuple):
    """A node of the last pass, with what its row was made of."""

    node: NodeRow
    reservations: tuple[str, ...]
    lost_gpus: int
    row: Node


_ON_NODES: Final = HOLDING | RELEASING
_NONE: Final = _Rows({}, {}, {}, {}, {})


class SlurmSource:
    """Rows of one leadership term.

    `read` lists the cluster, `stored_fields` finds fields of a pod group that the server computed, and
    `has_observed` is called after each pass. `queues` are configured rows.
    """

    def __init__(
        self,
        scope: Scope,
        queues: Sequence[Queue],
        read: Callable[[], Reading],
        memories: JobMemories,
        stored_fields: Callable[[str], PodGroup | None] = lambda uid: None,
        has_observed: Callable[[], None] = lambda: None,
        refused: RefusedStarts | None = None,
    ) -> None:
        self._scope, self._queues, self._read = scope, queues, read
        self._refused = refused or RefusedStarts()
        self._memories, self._stored_fields = memories, stored_fields
        self._has_observed = has_observed
        self._last = _NONE
        self._version = 0
        self._nodes: dict[str, _ObservedNode] = {}
        self._lost_gpus = LostGpus()
        self._capacity, self._has_new_capacity = Capacity(), True
        self._warned: set[tuple[str, str]] = set()
        self.jobs: dict[str, ObservedJob] = {}
        """Jobs of the last pass, by uid of the pod group."""
        self.pods: dict[str, tuple[ObservedJob, int]] = {}
        """Job of each pod of the last pass, and its number among the pods of the job."""
        self._finished: list[FinishedRun] = []
        """What finished since it was taken last."""
        self._begins_at: int | None = None
        """When a job may begin, in seconds since 1970; None: none waits for that."""
        self.rechecks: list[Callable[[], float | None]] = [lambda: self._begins_at, self._refused_until]
        """When rows may change through time alone, in seconds since 1970; None: never."""

    @property
    def recheck_seconds(self) -> float | None:
        """When rows may change through time alone, in seconds since 1970. None: never."""
        times = (find() for find in self.rechecks)
        return min((time for time in times if time is not None), default=None)

    def _refused_until(self) -> float | None:
        return self._refused.recheck_seconds

    def snapshot(self, now: Timestamp) -> ClusterSnapshot:
        """All rows. Raises ClusterError."""
        self._last = rows = self._observe(now)
        self._version += 1
        scope = self._scope
        snapshot = ClusterSnapshot(
            cluster_id=scope.cluster_id, node_pool=scope.node_pool, version=self._version
        )
        snapshot.now.CopyFrom(now)
        for name, found in rows._asdict().items():
            getattr(snapshot, name).extend(found.values())
        return snapshot

    def delta(self, now: Timestamp) -> StateDelta:
        """Changed rows. Raises ClusterError."""
        before, after = self._last, self._observe(now)
        delta = StateDelta(version=self._version + 1, now=now)
        delta.base.cluster_id, delta.base.node_pool = self._scope.cluster_id, self._scope.node_pool
        delta.base.version = self._version
        for name in _Rows._fields:
            old: dict[str, Message] = getattr(before, name)
            new: dict[str, Message] = getattr(after, name)
            getattr(delta.upserts, name).extend(_changed(old, new))
            getattr(delta.removals, name).extend(sorted(old.keys() - new.keys()))
        self._version += 1
        self._last = after
        return delta

    def take_finished(self) -> list[FinishedRun]:
        """Jobs that ran in an earlier pass and have completed since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def have_reported(self, nodes: Iterable[str]) -> bool:
        """Whether these nodes have reported to the slurmctld that runs now, as listed in the last pass."""
        return all(node in self._nodes and self._nodes[node].node.has_reported for node in nodes)

    def have_lost_gpus(self, nodes: Iterable[str]) -> bool:
        """Whether GPUs of one of these nodes are lost, as of the last pass."""
        return any(node in self._nodes and self._nodes[node].lost_gpus for node in nodes)

    def pod_group(self, uid: str) -> PodGroup | None:
        """Row of a pod group as last returned."""
        return self._last.pod_groups.get(uid)

    def pod(self, uid: str) -> Pod | None:
        """Row of a pod as last returned."""
        return self._last.pods.get(uid)

    def queue(self, name: str) -> Queue | None:
        """Row of a queue as last returned."""
        return self._last.queues.get(name)

    def has_node(self, name: str) -> bool:
        """Whether a node had a row in what was returned last."""
        return name in self._last.nodes

    def _observe(self, now: Timestamp) -> _Rows:
        """One pass. Garbage collections wait for its end: they would walk through all rows, which stay."""
        gc.disable()
        try:
            return self._make_rows(self._read(), now)
        finally:
            gc.enable()

    def _make_rows(self, reading: Reading, now: Timestamp) -> _Rows:
        jobs = self._observe_jobs(reading, now.seconds)
        self.jobs = jobs
        self.pods = {
            pod.uid: (job, number) for job in jobs.values() for number, pod in enumerate(job.rows.pods)
        }
        begins = [job.rows.begins_at for job in jobs.values() if job.rows.begins_at is not None]
        self._begins_at = min(begins, default=None)
        self._has_observed()
        queues = self._observe_queues(reading, jobs.values())
        return _Rows(
            self._observe_nodes(reading, now.seconds),
            queues,
            {uid: job.rows.group for uid, job in jobs.items()},
            {uid: job.rows.pods[number] for uid, (job, number) in self.pods.items()},
            {id: shape for job in jobs.values() for id, shape in job.rows.shapes.items()},
        )

    def _observe_jobs(self, reading: Reading, now: int) -> dict[str, ObservedJob]:
        self._refused.observe(reading, now)
        parts = set(self._scope.partitions)
        capacity = read_capacity([node for node in reading.nodes if not parts.isdisjoint(node.partitions)])
        self._has_new_capacity = capacity != self._capacity
        self._capacity = capacity
        jobs: dict[str, ObservedJob] = {}
        known = {job.run.reference: job for job in self.jobs.values()}
        self._finished += _finished_runs(reading.jobs, self.jobs.values())
        keys = {job_key(job) for job in reading.jobs if job.is_over}  # a requeue may have been forgotten
        runs = list(list_runs(reading.jobs, self._scope))
        waits, none = self._find_waits(reading, runs), frozenset[str]()
        later = [one for one in reading.reservations if not one.is_active]
        for run in runs:
            keys.add(run.key)
            closing = closing_nodes(run.job, later, now) if later and run.job.state == "PENDING" else none
            job = self._observe_job(run, known.get(run.reference), now, waits.get(run.key), closing)
            jobs[job.rows.group.uid] = job
        self._memories.keep_only(keys)
        return jobs

    def _find_waits(self, reading: Reading, runs: Iterable[Run]) -> dict[str, Wait]:
        """Why jobs wait for Slurm, by key: limits that they exceed, and starts that it refused."""
        bounds = reading.associations.bounds
        running = (job for job in reading.jobs if job.state in HOLDING)
        waiting = [run for run in runs if run.job.state == "PENDING"] if bounds.qos else []
        waiting.sort(
            key=lambda run: (-priority_of(run.job, self._scope), run.submit, run.job.job_id, run.key)
        )
        pairs = ((run.key, run.job) for run in waiting if not run.is_dependent)
        waits: dict[str, Wait] = {}
        for key, standing in judge(running, pairs, bounds, self._scope.queue_from).items():
            if standing.exceeded:
                waits[key] = Wait(f"Slurm's limit {standing.exceeded} is reached", RefusalKind.LIMIT)
            elif standing.contested:
                waits[key] = Wait(f"jobs before it may reach Slurm's limit {standing.contested}", None)
        return waits | {run.key: wait for run in runs if (wait := self._refused.find(run)) is not None}

    def _observe_job(
        self,
        run: Run,
        known: ObservedJob | None,
        now: int,
        wait: Wait | None,
        closing: frozenset[str],
    ) -> ObservedJob:
        is_same = known is not None and known.run == run and known[4:] == (wait, closing)
        is_same = is_same and not self._has_new_capacity
        if known is not None and is_same and known.memory is self._memories.find(run.key):
            begin, uid = known.rows.begins_at, known.rows.group.uid
            if (begin is None or begin > now) and self._stored_fields(uid) is known.fields:
                return known
        memory = self._memories.update(run.key, run.job)
        rows = job_rows(run, memory, self._scope, now, wait, self._capacity, closing)
        self._warn(run.reference, rows.warnings)
        fields = self._stored_fields(rows.group.uid)
        if fields is not None:
            rows.group = _with_fields(rows.group, fields)
        return ObservedJob(run, memory, rows, fields, wait, closing)

    def _observe_queues(self, reading: Reading, jobs: Iterable[ObservedJob]) -> dict[str, Queue]:
        """All queues, and the queue of each job."""
        known = reading.associations
        by_kind = {"account": known.accounts, "qos": known.qos}
        gpu_milli = sum(1_000 * gpus * count for _, _, gpus, count in self._capacity.kinds)
        tree = QueueTree(self._queues, by_kind.get(self._scope.queue_from, ()), self._scope, gpu_milli)
        for job in jobs:
            queue = tree.find(queue_name(job.run.job, self._scope))
            if job.rows.group.queue != queue:
                job.rows.group = group = _with_fields(job.rows.group, PodGroup())
                group.queue = queue
        for limit in known.limits:
            if not (limit.is_of_queue and limit.kind == self._scope.queue_from):
                subject = f"{limit.kind} {limit.example} and others of its kind"
                self._warn(
                    subject, [f"have the limit {limit.name}, which no queue has: only Slurm enforces it"]
                )
        tree.sum_quotas()
        return tree.rows

    def _observe_nodes(self, reading: Reading, now: int) -> dict[str, Node]:
        parts = set(self._scope.partitions)
        owned = [node for node in reading.nodes if not parts.isdisjoint(node.partitions)]
        for partition, names in foreign_partitions(owned, self._scope).items():
            self._warn(f"partition {partition}", [f"shares nodes with Tenure, such as {names[0]}"])
        lost_gpus = self._lost_gpus.count(owned, _held_gpus(self.jobs.values()), now)
        made: dict[str, _ObservedNode] = {}
        reserved, mixed = active_by_node(reading.reservations), self._capacity.mixed_types
        for node in owned:
            holders, lost = reserved.get(node.name, ()), lost_gpus.get(node.name, 0)
            before = self._nodes.get(node.name)
            if self._has_new_capacity or before is None or before[:3] != (node, holders, lost):
                before = _ObservedNode(node, holders, lost, node_row(node, holders, lost, mixed))
            made[node.name] = before
        self._nodes = made
        return {name: observed.row for name, observed in made.items()}

    def _warn(self, subject: str, texts: Iterable[str]) -> None:
        """Log each warning once."""
        if len(self._warned) > _MAX_WARNINGS:
            self._warned.clear()
        for text in texts:
            if (subject, text) not in self._warned:
                self._warned.add((subject, text))
                _LOG.warning("%s: %s", subject, text)


def _finished_runs(listed: Iterable[JobRow], before: Iterable[ObservedJob]) -> Iterator[FinishedRun]:
    """Of the jobs that ran in the pass before, those that are now listed as completed."""
    running = {job.run.key: job for job in before if job.run.job.state in _ON_NODES}
    for job in listed if running else ():
        known = running.get(job_key(job))
        start, end = number(job.start_time), number(job.end_time)
        if known is not None and job.state == "COMPLETED" and start and end:
            gpu_milli = 1_000 * sum(known.rows.gpus)
            yield FinishedRun(known.rows.group.queue, gpu_milli, max(end - start, 0), end)


def _held_gpus(jobs: Iterable[ObservedJob]) -> Counter[str]:
    """GPUs that jobs have, by node."""
    held: Counter[str] = Counter()
    for job in jobs:
        for node, gpus in zip(job.rows.nodes, job.rows.gpus, strict=False):
            held[node] += gpus
    return held


def _changed(old: Mapping[str, _Row], new: Mapping[str, _Row]) -> list[_Row]:
    """New rows; a row that was not made again is the same object."""
    pairs = ((old.get(key), row) for key, row in new.items())
    return [row for before, row in pairs if before is not row and before != row]


def _with_fields(row: PodGroup, fields: PodGroup) -> PodGroup:
    """A row with the fields that the server computed; what Slurm says now has precedence."""
    merged = PodGroup()
    merged.CopyFrom(fields)
    merged.MergeFrom(row)
    return merged

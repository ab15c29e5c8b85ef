"""Simple policies to compare with: first come, first served; first that fits; EASY backfill.

They know no queues, priorities or evictions. Jobs go in order of submission, then of name. Pods are
placed on the node with the least free GPUs that is enough.
"""

import heapq
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from tenure.simulator.jobs import GPU_KIND_LABEL
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodGroup, PodShape, PodStatus
from tenure.v1.state_pb2 import StateDelta

ACTION: Final = "allocate"
_UNKNOWN: Final = 1 << 62
"""End of a job without an expected runtime."""


class Baseline(StrEnum):
    """Names of the policies."""

    FIFO = "fifo"
    """Strict: a job that does not fit holds up all jobs after it."""
    FIRST_FIT = "first-fit"
    """A job that does not fit is passed over."""
    EASY = "easy"
    """The first job that does not fit gets a reservation; others start if they do not delay it, by their
    expected runtimes. The reservation counts the GPUs of the whole cluster, so it is exact on one node only.
    """


class _Waiting(NamedTuple):
    created: int
    uid: str


_Size = tuple[int, str]
"""Pods of a job and the shape of each: what decides whether it fits."""
_Amounts = tuple[int, int, int]
"""GPUs and CPU in thousandths, and bytes of memory."""


class _Shape(NamedTuple):
    amounts: _Amounts
    kinds: frozenset[str]
    """Kinds of GPUs of the nodes that it may use; empty: any."""


class _Placed(NamedTuple):
    node: str
    amounts: _Amounts
    pod_group: str


class _Job(NamedTuple):
    row: PodGroup
    pods: list[Pod]
    shape: _Shape
    """Of each pod."""

    @property
    def size(self) -> _Size:
        return len(self.pods), self.pods[0].shape

    @property
    def total(self) -> int:
        """Thousandths of a GPU of all pods."""
        return len(self.pods) * self.shape.amounts[0]


class BaselineDecider:
    """Decides by one of the policies, by GPUs, CPU, memory and kinds of GPUs. Pods of a job are alike."""

    def __init__(self, policy: Baseline) -> None:
        self._policy = policy
        self._free: dict[str, _Amounts] = {}
        self._usable: dict[str, bool] = {}
        self._kinds: dict[str, str] = {}
        """Kind of the GPUs of each node."""
        self._shapes: dict[str, _Shape] = {}
        self._groups: dict[str, PodGroup] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """Pending pods of each pod group."""
        self._placed: dict[str, _Placed] = {}
        """Pods on nodes."""
        self._waiting: dict[_Size, list[_Waiting]] = {}
        """Heaps of complete pending jobs by size."""
        self._queued: set[str] = set()
        self._ends: dict[str, int] = {}
        """Expected ends of running jobs."""

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """Start the jobs that the policy lets start."""
        if not self._free:
            self._read(snapshot(), delta)
        else:
            self._read(delta.upserts, delta)
        response, now = DecideResponse(), delta.now.ToNanoseconds()
        blocked: set[_Size] = set()
        while (size := self._first_size(blocked)) is not None:
            heap = self._waiting[size]
            job = self._job(heap[0].uid)
            if job is not None and not (nodes := self._place(job)):
                if self._policy is Baseline.FIFO:
                    break
                if self._policy is Baseline.EASY:
                    self._backfill(response, job, now)
                    break
                blocked.add(size)
                continue
            self._queued.discard(heapq.heappop(heap).uid)
            if job is not None:
                self._start(response, job, nodes, now)
        return response

    def _first_size(self, blocked: set[_Size]) -> _Size | None:
        """Size of the first job whose size is not blocked; None: there is no such job."""
        heads = [(heap[0], size) for size, heap in self._waiting.items() if heap and size not in blocked]
        return min(heads)[1] if heads else None

    def _backfill(self, response: DecideResponse, first: _Job, now: int) -> None:
        """Start later jobs that do not delay the first one."""
        shadow, spare = self._shadow(first, now)
        started: set[str] = set()
        for waiting in sorted(waiting for heap in self._waiting.values() for waiting in heap):
            job = self._job(waiting.uid)
            if job is None or job.row.uid == first.row.uid:
                continue
            is_over = self._expected_end(job, now) <= shadow
            if (is_over or job.total <= spare) and (nodes := self._place(job)):
                spare -= 0 if is_over else job.total
                started.add(job.row.uid)
                self._start(response, job, nodes, now)
        self._queued -= started
        for size, heap in self._waiting.items():
            self._waiting[size] = [waiting for waiting in heap if waiting.uid not in started]
            heapq.heapify(self._waiting[size])

    def _job(self, uid: str) -> _Job | None:
        """A job with pods that all wait; None: it has ended, or some of its pods are on nodes."""
        row = self._groups.get(uid)
        pods = self._pods.get(uid)
        if row is None or not pods or len(pods) < row.min_member:
            return None
        rows = list(pods.values())
        return _Job(row, rows, self._shapes[rows[0].shape])

    def _place(self, job: _Job) -> list[str]:
        """A node for each pod; empty if they do not fit."""
        gpu, cpu, memory = wanted = job.shape.amounts
        if self._free_gpus() < job.total:
            return []
        by_free = sorted(
            (free[0], name)
            for name, free in self._free.items()
            if self._usable[name]
            and free[0] >= gpu
            and free[1] >= cpu
            and free[2] >= memory
            and (not job.shape.kinds or self._kinds[name] in job.shape.kinds)
        )
        nodes: list[str] = []
        for _, name in by_free:
            free = self._free[name]
            while len(nodes) < len(job.pods) and all(a >= b for a, b in zip(free, wanted, strict=True)):
                free = _minus(free, wanted)
                nodes.append(name)
            if len(nodes) == len(job.pods):
                return nodes
        return []

    def _free_gpus(self) -> int:
        return sum(free[0] for name, free in self._free.items() if self._usable[name])

    def _start(self, response: DecideResponse, job: _Job, nodes: list[str], now: int) -> None:
        """Bind its pods."""
        group = response.groups.add(id=f"{now}/{job.row.uid}", action=ACTION, beneficiary=job.row.uid)
        for pod, node in zip(job.pods, nodes, strict=True):
            bind = group.decisions.add().bind
            bind.pod, bind.node = pod.uid, node
            self._free[node] = _minus(self._free[node], job.shape.amounts)
            self._placed[pod.uid] = _Placed(node, job.shape.amounts, job.row.uid)
        self._pods[job.row.uid] = {}
        self._ends[job.row.uid] = self._expected_end(job, now)

    def _expected_end(self, job: _Job, now: int) -> int:
        expected = job.row.expected_runtime.ToNanoseconds()
        return now + expected if expected else _UNKNOWN

    def _shadow(self, job: _Job, now: int) -> tuple[int, int]:
        """When the job can start at the latest, and the GPUs that it leaves then."""
        free = self._free_gpus()
        held: dict[str, int] = {}
        for placed in self._placed.values():
            held[placed.pod_group] = held.get(placed.pod_group, 0) + placed.amounts[0]
        for end, uid in sorted((self._ends.get(uid, _UNKNOWN), uid) for uid in held):
            free += held[uid]
            if free >= job.total:
                return max(end, now), free - job.total
        return _UNKNOWN, 0

    def _read(self, rows: ClusterSnapshot, delta: StateDelta) -> None:
        for shape in rows.shapes:
            self._shapes[shape.id] = _shape(shape)
        for node in rows.nodes:
            self._usable[node.name] = not node.unready_conditions and not node.unschedulable
            if node.name not in self._free:
                amounts = node.allocatable
                self._free[node.name] = amounts.gpu_milli, amounts.cpu_milli, amounts.memory_bytes
                self._kinds[node.name] = node.labels.get(GPU_KIND_LABEL, "")
        for uid in delta.removals.pods:
            if (placed := self._placed.pop(uid, None)) is not None:
                self._free[placed.node] = _plus(self._free[placed.node], placed.amounts)
        for uid in delta.removals.pod_groups:
            self._groups.pop(uid, None)
            self._pods.pop(uid, None)
            self._ends.pop(uid, None)
        for group in rows.pod_groups:
            self._groups[group.uid] = group
        for pod in rows.pods:
            if pod.status == PodStatus.POD_STATUS_PENDING:
                self._pods.setdefault(pod.pod_group, {})[pod.uid] = pod
                self._enqueue(pod.pod_group)

    def _enqueue(self, uid: str) -> None:
        job = self._job(uid)
        if job is not None and uid not in self._queued:
            self._queued.add(uid)
            waiting = _Waiting(job.row.creation_time.ToNanoseconds(), uid)
            heapq.heappush(self._waiting.setdefault(job.size, []), waiting)


def _shape(shape: PodShape) -> _Shape:
    gpu = shape.gpu.devices * (shape.gpu.portion_milli or 1000)
    kinds = [
        value
        for term in shape.node_affinity
        for requirement in term.requirements
        for value in requirement.values
        if requirement.key == GPU_KIND_LABEL
    ]
    return _Shape((gpu, shape.requests.cpu_milli, shape.requests.memory_bytes), frozenset(kinds))


def _minus(amounts: _Amounts, taken: _Amounts) -> _Amounts:
    return amounts[0] - taken[0], amounts[1] - taken[1], amounts[2] - taken[2]


def _plus(amounts: _Amounts, freed: _Amounts) -> _Amounts:
    return amounts[0] + freed[0], amounts[1] + freed[1], amounts[2] + freed[2]

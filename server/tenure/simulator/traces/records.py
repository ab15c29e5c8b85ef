"""Records of decisions as a trace: the jobs of a real cluster, and what happened to them.

A pod group is a job. It was submitted when it was created, ran while at least its minimum was on nodes, and
completed when it or its last pod was gone. Its runtime is the work that it kept, by the checkpoint interval
and the restart overhead of the simulation, so that its history played again ends when it really ended.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.simulator.history import History, Moment
from tenure.simulator.jobs import BadLine, Job, Trace, TraceError, in_order
from tenure.simulator.settings import RunSettings
from tenure.simulator.traces.observed import ENDED, Observed, job_of, kept_work, measure, minimum
from tenure.simulator.workloads import NODE_FAILED
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Node, Pod, PodGroup, PodShape, PodStatus, Queue
from tenure.wire.columns import from_columns

_ON_NODES: Final = (
    PodStatus.POD_STATUS_BINDING,
    PodStatus.POD_STATUS_BOUND,
    PodStatus.POD_STATUS_RUNNING,
)


class RecordedCycle(NamedTuple):
    """A response and the state that it is based on, with the time of the cycle."""

    number: int
    """ID of the record."""
    snapshot: ClusterSnapshot
    response: DecideResponse


class Recorded(NamedTuple):
    """What records say about a cluster."""

    trace: Trace
    nodes: Sequence[Node]
    queues: Sequence[Queue]
    history: History


def read_records(cycles: Iterable[RecordedCycle], settings: RunSettings) -> Recorded:
    """The jobs of recorded cycles of one cluster, in order of time. Raises TraceError."""
    reader = _Reader()
    for cycle in cycles:
        reader.read(cycle)
    return reader.finish(settings)


class _Reader:
    """Follows every pod group from record to record."""

    def __init__(self) -> None:
        self._groups: dict[str, Observed] = {}
        self._evicted: dict[str, Moment] = {}
        """Last eviction of each pod group that is not yet seen in a state."""
        self._bound: set[str] = set()
        """Pod groups that the last response binds."""
        self._nodes: dict[str, Node] = {}
        self._queues: Sequence[Queue] = ()
        self._ready: set[str] = set()
        self._cycles = self._changing_nodes = 0
        self._first = self._before = self._now = 0

    def read(self, cycle: RecordedCycle) -> None:
        """Compare a state with the one before."""
        snapshot = cycle.snapshot
        if (now := snapshot.now.ToNanoseconds()) < self._now:
            return  # the clock of the caller went back; the next state shows what changed
        self._before, self._now = self._now, now
        self._first = self._first if self._cycles else self._now
        self._read_nodes(snapshot)
        self._queues = list(snapshot.queues)
        pods: dict[str, list[Pod]] = {}
        for pod in _pods_of(snapshot):
            pods.setdefault(pod.pod_group, []).append(pod)
        shapes = {shape.id: shape for shape in snapshot.shapes}
        present = set()
        for row in snapshot.pod_groups:
            present.add(row.uid)
            seen = self._groups.get(row.uid)
            if seen is None:
                seen = self._groups[row.uid] = Observed(row, cycle.number, self._submit(row))
            if not seen.is_done:
                self._follow(seen, row, pods.get(row.uid, []), shapes)
        for uid, seen in self._groups.items():
            if uid not in present and not seen.is_done:
                self._end(seen)
        self._evicted = dict(_evictions(snapshot, cycle.response, self._now))
        self._bound = set(_subjects(snapshot, cycle.response, "bind"))
        self._cycles += 1

    def _read_nodes(self, snapshot: ClusterSnapshot) -> None:
        ready = {node.name: node for node in snapshot.nodes if not node.unready_conditions}
        if self._cycles and set(ready) != self._ready:
            self._changing_nodes += 1
        self._ready = set(ready)
        for name, node in ready.items():
            self._nodes.setdefault(
                name, Node(name=name, allocatable=node.allocatable, gpu_memory_mib=node.gpu_memory_mib)
            )

    def _submit(self, row: PodGroup) -> int:
        created = row.creation_time.ToNanoseconds()
        return min(max(created, self._first), self._now) if created else self._now

    def _follow(
        self, seen: Observed, row: PodGroup, pods: Sequence[Pod], shapes: Mapping[str, PodShape]
    ) -> None:
        seen.row = row
        measure(seen, pods, shapes)
        placed = [pod for pod in pods if pod.status in _ON_NODES]
        if pods and all(pod.status in ENDED for pod in pods):
            self._end(seen)
        elif len(placed) >= minimum(row, seen.pods):
            if seen.started is None:
                seen.started = self._start(row)
                seen.moments.append(Moment(seen.started, row.uid, tuple([pod.node for pod in placed])))
        elif seen.started is not None:
            stopped = self._evicted.get(row.uid, Moment(self._now, row.uid, why=NODE_FAILED))
            seen.spans.append((seen.started, stopped.time))
            seen.started = None
            seen.moments.append(stopped)

    def _start(self, row: PodGroup) -> int:
        """When it started: as the state says, else when it was bound, else now."""
        last = row.last_start_time.ToNanoseconds()
        if self._cycles and self._before < last <= self._now:
            return last
        return self._before if row.uid in self._bound else self._now

    def _end(self, seen: Observed) -> None:
        """End a job that left the trace: completed if it was running, else cancelled."""
        seen.is_done = True
        if seen.started is not None:
            seen.spans.append((seen.started, self._now))
            seen.started = None
        elif not seen.spans:
            seen.problem = seen.problem or "was removed before it ran"

    def finish(self, settings: RunSettings) -> Recorded:
        """All jobs, and the history of those that are played."""
        if not self._cycles:
            raise TraceError("there are no records of this cluster")
        leaves = {queue.name for queue in self._queues} - {queue.parent for queue in self._queues}
        played: list[Job] = []
        bad: list[BadLine] = []
        moments: list[Moment] = []
        names = _names([seen.row for seen in self._groups.values()])
        cut = 0
        for uid, seen in self._groups.items():
            if not seen.is_done and seen.started is not None:
                seen.spans.append((seen.started, self._now))
            if not seen.spans:
                seen.problem = seen.problem or "did not run, so its runtime is not known"
            if seen.row.queue not in leaves:
                seen.problem = (
                    seen.problem or f"its queue {seen.row.queue!r} is no leaf queue of the last record"
                )
            if seen.problem:
                bad.append(BadLine(seen.number, f"job {names[uid]}: {seen.problem}", "record"))
                continue
            cut += not seen.is_done
            played.append(job_of(seen, names[uid], kept_work(seen.spans, settings)))
            moments += [
                each._replace(job=names[uid], beneficiary=names.get(each.beneficiary, each.beneficiary))
                for each in seen.moments
            ]
        moments.sort(key=lambda moment: moment.time)
        trace = Trace(in_order(played), bad, tuple(self._notes(cut)))
        return Recorded(trace, list(self._nodes.values()), self._queues, History(moments))

    def _notes(self, cut: int) -> Iterator[str]:
        yield (
            f"Records: {self._cycles:,} cycles. Jobs are pod groups with equal pods; constraints apart from "
            "CPU, memory and GPUs are not played."
        )
        if cut:
            yield (
                f"{cut:,} of the jobs had not ended in the last record; they are played with their work "
                "until then."
            )
        if self._changing_nodes:
            yield (
                f"Ready nodes changed {self._changing_nodes:,} times; all nodes that were ever ready are "
                "played from the beginning."
            )


def _pods_of(snapshot: ClusterSnapshot) -> Iterator[Pod]:
    yield from snapshot.pods
    yield from from_columns(snapshot.pod_columns)


def _evictions(snapshot: ClusterSnapshot, response: DecideResponse, now: int) -> Iterator[tuple[str, Moment]]:
    for group in response.groups:
        for uid in _subjects(snapshot, DecideResponse(groups=[group]), "evict"):
            yield uid, Moment(now, uid, (), group.action, group.beneficiary)


def _subjects(snapshot: ClusterSnapshot, response: DecideResponse, kind: str) -> Iterator[str]:
    """Pod groups of the pods that decisions of a kind are about."""
    pods = {
        getattr(decision, kind).pod
        for group in response.groups
        for decision in group.decisions
        if decision.WhichOneof("kind") == kind
    }
    if pods:
        yield from [pod.pod_group for pod in _pods_of(snapshot) if pod.uid in pods]


def _names(rows: Sequence[PodGroup]) -> dict[str, str]:
    """Namespaces and names by uid; with the uid where a name occurs again."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for row in rows:
        name = f"{row.namespace}/{row.name}" if row.name else row.uid
        found[row.uid] = f"{name} ({row.uid})" if name in used else name
        used.add(name)
    return found

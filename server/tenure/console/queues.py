"""Rows of the page Queues: the tree with shares, use, and what siblings lend and borrow."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from tenure.console.view import View
from tenure.console.workloads import State, workloads
from tenure.v1.decide_pb2 import QueueStatus, ResourceShare
from tenure.v1.snapshot_pb2 import Queue

HISTORY: Final = 48
"""Cycles in the history of a queue."""


class Resource(StrEnum):
    """A resource that queues share, by its field."""

    GPU = "gpu_milli"
    CPU = "cpu_milli"
    MEMORY = "memory_bytes"


class MinRuntime(NamedTuple):
    """A minimum runtime that applies to a queue; None: not set in the tree."""

    nanoseconds: int
    source: str


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue. Amounts are those of one resource, in its unit; -1 is unlimited."""

    queue: Queue
    depth: int
    is_leaf: bool
    quota: int
    limit: int
    weight: float
    fair_share: int
    allocated: int
    after: int
    """Allocated when the decisions of the newest cycle are applied."""
    requested: int
    running: int
    """Running pod groups of the queue and those below it."""
    waiting: int
    preempt_min_runtime: MinRuntime | None
    reclaim_min_runtime: MinRuntime | None
    history: Sequence[int]
    """Allocated in recent cycles, oldest first."""

    @property
    def over_quota(self) -> int:
        """What it uses beyond its quota."""
        return max(0, self.allocated - self.quota) if self.quota >= 0 else 0

    @property
    def unused_quota(self) -> int:
        """What others can use of its quota."""
        return max(0, self.quota - self.allocated) if self.quota >= 0 else 0

    @property
    def reach(self) -> int:
        """The largest amount of its bar."""
        return max(self.quota, self.fair_share, self.allocated, self.after)


class Lending(NamedTuple):
    """Children of one queue of which some use more than their quota, and others less."""

    parent: str
    borrowers: Sequence[QueueRow]
    lenders: Sequence[QueueRow]


def queue_rows(view: View, resource: Resource, only: frozenset[str] | None = None) -> Sequence[QueueRow]:
    """The tree, children below their parents; `only` are the queues that the reader may see."""
    counts = _counts(view)
    history = _history(view, resource)
    rows = [_row(view, queue, depth, resource, counts, history) for depth, queue in _tree(view)]
    return [row for row in rows if only is None or row.queue.name in only]


def lendings(rows: Sequence[QueueRow]) -> Sequence[Lending]:
    """Where siblings use each other's quota, in the order of the tree."""
    children: defaultdict[str, list[QueueRow]] = defaultdict(list)
    for row in rows:
        children[row.queue.parent].append(row)
    found = [
        Lending(parent, [row for row in below if row.over_quota], [row for row in below if row.unused_quota])
        for parent, below in children.items()
    ]
    return [each for each in found if each.borrowers and each.lenders]


def _tree(view: View) -> Iterator[tuple[int, Queue]]:
    children: defaultdict[str, list[Queue]] = defaultdict(list)
    for queue in sorted(view.snapshot.queues, key=lambda queue: queue.name, reverse=True):
        children[queue.parent].append(queue)
    stack = [(0, queue) for queue in children[""]]
    while stack:
        depth, queue = stack.pop()
        yield depth, queue
        stack.extend((depth + 1, child) for child in children[queue.name])


def _row(
    view: View,
    queue: Queue,
    depth: int,
    resource: Resource,
    counts: tuple[Counter[str], Counter[str]],
    history: dict[str, list[int]],
) -> QueueRow:
    share = getattr(queue, resource)
    is_set = queue.HasField(resource.value)
    status = view.queue_status.get(queue.name, QueueStatus())
    return QueueRow(
        queue=queue,
        depth=depth,
        is_leaf=not any(other.parent == queue.name for other in view.snapshot.queues),
        quota=share.quota if is_set else -1,
        limit=share.limit if is_set and share.HasField("limit") else -1,
        weight=share.over_quota_weight if is_set and share.HasField("over_quota_weight") else 1,
        fair_share=_amount(status.fair_share, resource),
        allocated=_amount(status.allocated_before, resource),
        after=_amount(status.allocated_after, resource),
        requested=_amount(status.requested, resource),
        running=counts[0][queue.name],
        waiting=counts[1][queue.name],
        preempt_min_runtime=_min_runtime(view, queue.name, "preempt_min_runtime"),
        reclaim_min_runtime=_min_runtime(view, queue.name, "reclaim_min_runtime"),
        history=history.get(queue.name, []),
    )


def _amount(share: ResourceShare, resource: Resource) -> int:
    return int(getattr(share, resource))


def _min_runtime(view: View, name: str, field: str) -> MinRuntime | None:
    for each in view.path_of(name):
        queue = view.queues[each]
        if queue.HasField(field):
            source = "" if each == name else each
            return MinRuntime(getattr(queue, field).ToNanoseconds(), source)
    return None


def _counts(view: View) -> tuple[Counter[str], Counter[str]]:
    """Running and waiting pod groups by queue, ancestors included."""
    running: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for row in workloads(view):
        for queue in view.path_of(row.group.queue):
            running[queue] += row.running > 0
            waiting[queue] += row.waiting > 0 and row.state is not State.FINISHED
    return running, waiting


def _history(view: View, resource: Resource) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for cycle in view.cycles[-HISTORY:]:
        for status in cycle.response.queues:
            found[status.name].append(_amount(status.allocated_before, resource))
    return found

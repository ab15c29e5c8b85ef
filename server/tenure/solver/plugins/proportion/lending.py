"""Lending limits: what queues keep of their unused quotas (semantics R19.5).

A queue with a lending limit keeps its guarantee, which is its quota less the limit, as far as it does not use
it; an inner queue keeps at least what its children keep. A start must leave what the other queues keep, of
the cluster and of every ancestor with a limit. Amounts are kept, not nodes.
"""

from collections.abc import Sequence
from typing import Final, final

from tenure.solver.model.queue import Queue
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import NO_SHARE, UNLIMITED, Share
from tenure.solver.plugins.proportion.queue_rules import guarantees
from tenure.solver.plugins.proportion.usage import Usage
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode

_RESOURCES: Final = (0, 1, 2)
_NAMES: Final = ("CPU", "memory", "GPU")


@final
class LendingGate:
    """What every queue keeps; follows usage. Sums are updated along the path of a queue that changes."""

    def __init__(self, queues: Sequence[Queue], usage: Usage, total: Share) -> None:
        self._queues, self._usage, self._total = queues, usage, total
        self._guarantees = guarantees(queues, total)
        self._kept: list[Share] = [NO_SHARE] * len(queues)
        self._below: list[Share] = [NO_SHARE] * len(queues)
        """Sums of what the children of a queue keep."""
        self._top: Share = NO_SHARE
        """Sum of what top-level queues keep."""
        self._used: list[Share] = [usage.used(queue.index) for queue in queues]
        """Usage that the sums follow from."""
        self._all = NO_SHARE
        """Usage of all top-level queues."""
        self.is_idle = all(guarantee == NO_SHARE for guarantee in self._guarantees)
        """Whether no queue keeps anything."""
        for queue in queues:
            if queue.parent is None:
                self._all = _sum(self._all, self._used[queue.index])
        for queue in sorted(queues, key=lambda queue: -len(queue.path)):
            self._keep(queue.index, self._used[queue.index])

    def kept(self, queue: int) -> Share:
        """What a queue keeps of its quota now, with what its children keep."""
        return self._kept[queue]

    def follow(self, path: Sequence[int]) -> None:
        """Usage of these queues, from a leaf up, changed."""
        for queue in path:
            used = self._usage.used(queue)
            if self._queues[queue].parent is None:
                self._all = _sum(self._all, _difference(used, self._used[queue]))
            self._used[queue] = used
            self._keep(queue, used)

    def follow_all(self) -> None:
        """Usage of any queue may have changed."""
        for queue in self._queues:
            if queue.is_leaf:
                self.follow(queue.path[::-1])

    def find_rejection(self, path: Sequence[int], demand: Share) -> Rejection | None:
        """Rejection of a demand of a leaf queue that would take what another queue keeps.

        A demand that is within what its own queues keep changes no sum, and passes.
        """
        more = NO_SHARE
        """By how much the sum of what siblings keep changes; negative."""
        for queue in path:
            below = _sum(self._below[queue], more)
            short = _shortage(self._used[queue], demand, more, below, self._queues[queue].facts.limit)
            if short >= 0:
                return self._rejection(self._queues[queue].children, path, short)
            own = _missing(self._guarantees[queue], _sum(self._used[queue], demand))
            more = _difference(_most(own, below), self._kept[queue])
        short = _shortage(self._all, demand, more, _sum(self._top, more), self._total)
        if short < 0:
            return None
        tops = [queue.index for queue in self._queues if queue.parent is None]
        return self._rejection(tops, path, short)

    def _keep(self, queue: int, used: Share) -> None:
        kept = _most(_missing(self._guarantees[queue], used), self._below[queue])
        change = _difference(kept, self._kept[queue])
        if change == NO_SHARE:
            return
        self._kept[queue] = kept
        parent = self._queues[queue].parent
        if parent is None:
            self._top = _sum(self._top, change)
        else:
            self._below[parent] = _sum(self._below[parent], change)

    def _rejection(self, siblings: Sequence[int], path: Sequence[int], resource: int) -> Rejection:
        keepers = [self._queues[each].facts.name for each in siblings if self._kept[each][resource]]
        others = [name for name in keepers if name not in {self._queues[each].facts.name for each in path}]
        name, more = (others or keepers)[0], len(others or keepers) - 1
        who = f"queue {name} and {format_count(more, 'other')} keep" if more else f"queue {name} keeps"
        detail = f"{who} a part of the {_NAMES[resource]} quota, which is not lent"
        return Rejection(ReasonCode.KEPT_FOR_LENDER, detail)


def _shortage(used: Share, demand: Share, more: Share, kept: Share, bound: Share) -> int:
    """The resource of which the bound does not cover usage, demand and what is kept; -1: none.

    `more` is by how much the demand changes what is kept.
    """
    for i in _RESOURCES:
        is_more = demand[i] > 0 and demand[i] + more[i] > 0
        if is_more and kept[i] and bound[i] != UNLIMITED and used[i] + demand[i] + kept[i] > bound[i]:
            return i
    return -1


def _sum(a: Share, b: Share) -> Share:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _difference(a: Share, b: Share) -> Share:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _most(a: Share, b: Share) -> Share:
    return (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]))


def _missing(guarantee: Share, used: Share) -> Share:
    return (
        max(0, guarantee[0] - used[0]),
        max(0, guarantee[1] - used[1]),
        max(0, guarantee[2] - used[2]),
    )

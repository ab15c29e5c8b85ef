"""Which queue's minimum runtime applies to a victim (semantics R7.10-R7.15)."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tenure.solver.model.queue import Queue

LCA: Final = "lca"
QUEUE: Final = "queue"


class ResolvedMinRuntime(NamedTuple):
    """A minimum runtime in nanoseconds, and the queue that sets it (None: the plugin's default).

    `is_missing`: a queue does not exist, so that the default applies.
    """

    minimum: int
    queue: int | None
    is_missing: bool = False


class Resolver:
    """Walks the queue tree. Stores results per queue and per pair of queues, never per pod group."""

    def __init__(self, queues: Sequence[Queue], preempt: int, reclaim: int, method: str) -> None:
        self._queues = queues
        self._default_preempt = preempt
        self._default_reclaim = reclaim
        self._method = method
        self._preempt: dict[int, ResolvedMinRuntime] = {}
        self._reclaim: dict[int, dict[int, ResolvedMinRuntime]] = {}
        """By reclaimer's and victim's queue."""

    def preempt(self, victim: int | None) -> ResolvedMinRuntime:
        """The first value from the victim's leaf queue up to the root (semantics R7.10, R7.13)."""
        if victim is None:
            return ResolvedMinRuntime(self._default_preempt, None, is_missing=True)
        if victim not in self._preempt:
            path = self._queues[victim].path
            self._preempt[victim] = self._first(path, _preempt_value, self._default_preempt)
        return self._preempt[victim]

    def reclaim(self, reclaimer: int | None, victim: int | None) -> ResolvedMinRuntime:
        """The value by the configured method (semantics R7.11-R7.13)."""
        if reclaimer is None or victim is None:
            return ResolvedMinRuntime(self._default_reclaim, None, is_missing=True)
        known = self._reclaim.get(reclaimer)
        if known is None:
            known = self._reclaim[reclaimer] = {}
        resolved = known.get(victim)
        if resolved is None:
            path = self._queues[victim].path
            if self._method == LCA:
                path = path[: self.level(reclaimer, victim) + 1]
            resolved = known[victim] = self._first(path, _reclaim_value, self._default_reclaim)
        return resolved

    def level(self, reclaimer: int, victim: int) -> int:
        """Depth on the victim's path at which the walk starts: one step below the lowest common ancestor.

        Queues of different top-level queues meet at the victim's top-level queue; where the path ends at the
        common ancestor, the walk starts there.
        """
        mine, theirs = self._queues[reclaimer].path, self._queues[victim].path
        common = 0
        while common < min(len(mine), len(theirs)) and mine[common] == theirs[common]:
            common += 1
        return min(common, len(theirs) - 1)

    def _first(
        self, path: Sequence[int], value: Callable[[Queue], int | None], default: int
    ) -> ResolvedMinRuntime:
        for queue in reversed(path):
            minimum = value(self._queues[queue])
            if minimum is not None:
                return ResolvedMinRuntime(minimum, queue)
        return ResolvedMinRuntime(default, None)


def _preempt_value(queue: Queue) -> int | None:
    return queue.preempt_min_runtime


def _reclaim_value(queue: Queue) -> int | None:
    return queue.reclaim_min_runtime


def protection_end(last_start: int | None, minimum: int) -> int | None:
    """When the protection ends or ended; None without start time or minimum (semantics R7.20)."""
    if last_start is None or minimum <= 0:
        return None
    return last_start + minimum

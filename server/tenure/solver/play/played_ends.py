"""Known ends of the pod groups that run in a play, by time (semantics R17.1)."""

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple, final

from tenure.solver.ends import End
from tenure.solver.model.caller_state import Certainty


class AwaitedEnd(NamedTuple):
    """The end of a pod group that frees what another one starts on."""

    pod_group: int
    time: int
    certainty: Certainty


@final
class PlayedEnds:
    """Ends to come. An end is forgotten when its pod group is evicted, and found out of date in the heap."""

    def __init__(self, end_at: Callable[[End], int | None], ends: Mapping[int, End]) -> None:
        """`end_at` chooses between the times of an end; None: it is not known. `ends` are by pod group."""
        self._end_at = end_at
        self._ends = dict(ends)
        self._heap: list[tuple[int, int]] = []
        for pod_group, end in ends.items():
            time = end_at(end)
            if time is None:
                del self._ends[pod_group]
            else:
                self._heap.append((time, pod_group))
        heapify(self._heap)

    def add(self, pod_group: int, end: End) -> None:
        """A pod group began to run."""
        time = self._end_at(end)
        if time is not None:
            self._ends[pod_group] = end
            heappush(self._heap, (time, pod_group))

    def forget(self, pod_groups: Iterable[int]) -> None:
        """They do not run any more."""
        for pod_group in pod_groups:
            self._ends.pop(pod_group, None)

    def unknown(self, running: set[int]) -> tuple[int, ...]:
        """Those of the running pod groups without a known end, in order."""
        return tuple(sorted(running.difference(self._ends)))

    def next_time(self) -> int | None:
        """The first end; None: none is known."""
        while self._heap and self._is_stale(*self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_until(self, until: int) -> list[AwaitedEnd]:
        """Take the ends up to a time, in order."""
        found: list[AwaitedEnd] = []
        while self._heap and self._heap[0][0] <= until:
            time, pod_group = heappop(self._heap)
            if not self._is_stale(time, pod_group):
                end = self._ends.pop(pod_group)
                certainty = Certainty.BOUNDED if time == end.hard else end.certainty
                found.append(AwaitedEnd(pod_group, time, certainty))
        return found

    def _is_stale(self, time: int, pod_group: int) -> bool:
        known = self._ends.get(pod_group)
        return known is None or self._end_at(known) != time

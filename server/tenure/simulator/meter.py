"""Integrals over time: GPUs by queue against their entitlement, and means by interval for pictures."""

from collections.abc import Mapping, Sequence
from typing import Final

from tenure.simulator.results import QueueTotals, Results, SeriesPoint
from tenure.terms.durations import SECOND

INTERVAL: Final = 3_600 * SECOND
"""Length of the intervals of the series."""
BELOW: Final = (9, 10)
"""Part of its entitlement below which a queue is short."""


class Meter:
    """Adds up what holds between two instants. Amounts are in milli-GPUs."""

    def __init__(self, results: Results, queues: Sequence[str], usable: int) -> None:
        self._results = results
        self._index = {name: i for i, name in enumerate(queues)}
        results.queue_names = tuple(queues)
        results.queues = {name: QueueTotals() for name in queues}
        self._totals = [results.queues[name] for name in queues]
        size = len(queues)
        self._allocated, self._demand = [0] * size, [0] * size
        self._share: list[int | None] = [None] * size
        """Fair shares of the last cycle; None: not known."""
        self._below: list[int | None] = [None] * size
        """Since when a queue is short."""
        self.usable, self.used, self.pending = usable, 0, 0
        self._now: int | None = None
        self._interval = 0
        self._sums = [0] * (3 + 2 * size)

    def allocate(self, queue: str, gpu_milli: int) -> None:
        """Change what runs and starts in a queue."""
        self._allocated[self._index[queue]] += gpu_milli

    def demand(self, queue: str, gpu_milli: int) -> None:
        """Change what the unfinished jobs of a queue ask for."""
        self._demand[self._index[queue]] += gpu_milli

    def set_shares(self, shares: Mapping[str, int]) -> None:
        """The fair shares of a cycle."""
        for name, i in self._index.items():
            if name in shares:
                self._share[i] = shares[name]

    def advance(self, now: int) -> None:
        """Add the time since the last call."""
        if self._now is None:
            self._now = self._results.start = now
            self._interval = now - now % INTERVAL
            return
        entitled = self._entitled()
        while self._now < now:
            until = min(now, self._interval + INTERVAL)
            self._add(until - self._now, entitled)
            self._now = until
            if until == self._interval + INTERVAL:
                self._end_interval(until)
                self._interval = until
        self._note_short(now, entitled)

    def finish(self, now: int) -> None:
        """End the run."""
        self.advance(now)
        if self._now is not None and self._now > self._interval:
            self._end_interval(self._now)
        for i, since in enumerate(self._below):
            if since is not None:
                self._totals[i].longest_below = max(self._totals[i].longest_below, now - since)
        self._results.end = now

    def _entitled(self) -> list[int]:
        return [
            0 if share is None else min(share, demand)
            for share, demand in zip(self._share, self._demand, strict=True)
        ]

    def _add(self, elapsed: int, entitled: list[int]) -> None:
        results, sums = self._results, self._sums
        results.usable += elapsed * self.usable
        results.used += elapsed * self.used
        sums[0] += elapsed * self.usable
        sums[1] += elapsed * self.used
        sums[2] += elapsed * self.pending
        size, total, squares, queues = len(entitled), 0.0, 0.0, 0
        for i in range(size):
            allocated, share, totals = self._allocated[i], entitled[i], self._totals[i]
            if not allocated and not self._demand[i]:
                continue
            totals.allocated += elapsed * allocated
            totals.demand += elapsed * self._demand[i]
            totals.entitled += elapsed * share
            if share > allocated:
                totals.shortfall += elapsed * (share - allocated)
            else:
                totals.excess += elapsed * (allocated - share)
            sums[3 + i] += elapsed * allocated
            sums[3 + size + i] += elapsed * share
            if share:
                ratio = allocated / share
                total, squares, queues = total + ratio, squares + ratio * ratio, queues + 1
        if squares:
            results.jain_sum += elapsed * total * total / (queues * squares)
            results.jain_time += elapsed

    def _end_interval(self, end: int) -> None:
        size, start = len(self._totals), max(self._interval, self._results.start)
        means = [amount / (end - start) for amount in self._sums]
        self._results.series.append(
            SeriesPoint(
                start, means[0], means[1], means[2], tuple(means[3 : 3 + size]), tuple(means[3 + size :])
            )
        )
        self._sums = [0] * len(self._sums)

    def _note_short(self, now: int, entitled: list[int]) -> None:
        for i, share in enumerate(entitled):
            is_short = self._allocated[i] * BELOW[1] < share * BELOW[0]
            since = self._below[i]
            if since is None and is_short:
                self._below[i] = now
            elif since is not None and not is_short:
                self._totals[i].longest_below = max(self._totals[i].longest_below, now - since)
                self._below[i] = None

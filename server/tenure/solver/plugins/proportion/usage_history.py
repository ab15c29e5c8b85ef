"""Past use of queues, in which older use counts less (semantics R18).

Time is cut into steps of a 1,024th of the half-life, aligned to the epoch. At the end of a step, the average
moves towards what was held during the step. Use is integrated, not sampled: what a cycle saw is charged until
the next cycle. All arithmetic is on integers, so it is the same on every machine.
"""

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import (
    MILLION,
    MILLIONTHS,
    QUEUE_USAGE,
    WHOLE_CLUSTER,
    Queue,
    QueueStatus,
    QueueUsage,
    UsageMean,
    average_of,
    mean_at_start,
    rate_of,
)
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, Share
from tenure.solver.plugins.proportion.usage_settings import STEPS, UsageSettings, usage_settings
from tenure.terms.durations import SECOND

Parts = tuple[float, float, float]
"""Parts of the CPU, memory and GPUs."""
_HALVINGS: Final = 10
"""STEPS is 2 to this power."""
_BITS: Final = 96
"""Binary digits of a factor after the point."""
_MAX_PART: Final = 4.0
"""Most past use relative to the share of the parent (semantics R18.9)."""


def _factors() -> tuple[int, ...]:
    """2 to the power of -n / STEPS, for n from 0, as fixed-point numbers, rounded down."""
    root = 1 << (2 * _BITS - 1)  # a half
    for _ in range(_HALVINGS):
        root = isqrt(root << (2 * _BITS))
    factors = [1 << (2 * _BITS)]
    for _ in range(STEPS - 1):
        factors.append(factors[-1] * root >> (2 * _BITS))
    return tuple(factor >> _BITS for factor in factors)


_FACTORS: Final = _factors()


def _towards(average: int, level: int, steps: int) -> int:
    """An average after some steps at a level."""
    if steps == 0:
        return average
    halvings, rest = divmod(steps, STEPS)
    return level + ((average - level) * _FACTORS[rest] >> (_BITS + halvings))


def _follow_one(
    average: int, held: int, rate: int, scale: int, begin: int, end: int, step: int
) -> tuple[int, int]:
    """Average and use held after a time at a rate, for one resource."""
    boundary = begin - begin % step + step
    if end < boundary:
        return average, held + rate * (end - begin)
    held += rate * (boundary - begin)
    average = _towards(average, held * scale // step, 1)
    whole, rest = divmod(end - boundary, step)
    return _towards(average, rate * scale, whole), rate * rest


def follow(mean: UsageMean, begin: int, end: int, step: int, charged: int) -> UsageMean:
    """A mean at a later time, in seconds; after `charged` nothing was held. Earlier times change nothing."""
    if end <= begin:
        return mean
    charged = min(end, charged)
    averages, held = list(mean.average), list(mean.held)
    for i in (CPU, MEMORY, GPU):
        now = _follow_one(averages[i], held[i], mean.rate[i], MILLIONTHS[i], begin, charged, step)
        if charged < end:
            now = _follow_one(*now, 0, MILLIONTHS[i], charged, end, step)
        averages[i], held[i] = now
    return UsageMean(
        (averages[CPU], averages[MEMORY], averages[GPU]), (held[CPU], held[MEMORY], held[GPU]), mean.rate
    )


class UsageHistory:
    """Past use of the queues of a cluster at its time."""

    def __init__(self, cluster: Cluster, total: Share, settings: UsageSettings | None) -> None:
        self._queues = cluster.queues
        self._settings = settings
        self._stored = {row.queue: row for row in cluster.carried.rows(QUEUE_USAGE)}
        self._capacity = rate_of(total)
        self._now = cluster.now // SECOND
        self._rows: dict[int, QueueUsage] = {}
        """Rows at the time of the cluster, of queues with a history that was looked at."""

    def parts(self) -> list[Parts]:
        """Past use of each queue as a part of the cluster, or of the share of its parent."""
        return [self._part(queue) for queue in self._queues]

    def next_rows(self, queues: Sequence[QueueStatus], settings: UsageSettings) -> tuple[QueueUsage, ...]:
        """Rows to store after the cycle, of those that changed (semantics R18.4)."""
        rows = [self._next(WHOLE_CLUSTER, self._capacity, None, settings)]
        for status in queues:
            stored = self._stored.get(status.queue)
            if stored is None or stored.normalized is None:
                is_parent = settings.is_relative_to_parent and self._queues[status.queue].children
                entitled = rate_of(status.fair_share) if is_parent else None
                rows.append(self._next(status.queue, rate_of(status.allocated_after), entitled, settings))
        return tuple([row for row in rows if row is not None])

    def next_wake(self, settings: UsageSettings) -> int:
        """When the averages move next, in nanoseconds."""
        step = settings.step
        next_step, next_patch = self._now - self._now % step + step, self._now + max(settings.max_gap // 2, 1)
        if settings.reset is not None:
            next_step = min(next_step, settings.reset.last(self._now) + settings.reset.period)
        return min(next_step, next_patch) * SECOND

    def _row(self, queue: int) -> QueueUsage | None:
        """The row of a queue at the time of the cluster."""
        known = self._rows.get(queue)
        if known is None and self._settings is not None and queue in self._stored:
            known = self._rows[queue] = self._at_now(self._stored[queue], self._settings)
        return known

    def _at_now(self, row: QueueUsage, settings: UsageSettings) -> QueueUsage:
        now = max(self._now, row.time)
        charged = now if row.queue == WHOLE_CLUSTER else row.time + settings.max_gap
        begin, used, entitled = row.time, row.used, row.entitled
        if settings.reset is not None and begin < (reset := settings.reset.last(now)):
            begin = reset
            if used is not None:
                is_capacity = row.queue == WHOLE_CLUSTER
                used = mean_at_start(used.rate, average_of(used.rate) if is_capacity else NO_SHARE)
            if entitled is not None:
                entitled = mean_at_start(entitled.rate, average_of(entitled.rate))
        if used is not None:
            used = follow(used, begin, now, settings.step, max(charged, begin))
        if entitled is not None:
            entitled = follow(entitled, begin, now, settings.step, now)
        return QueueUsage(row.queue, now, used, entitled, row.normalized)

    def _next(
        self, queue: int, rate: Share, entitled: Share | None, settings: UsageSettings
    ) -> QueueUsage | None:
        """The row of a queue after the cycle; None: as it is stored."""
        stored = self._stored.get(queue)
        share = None if entitled is None else mean_at_start(entitled, average_of(entitled))
        if stored is None or stored.used is None:
            average = average_of(rate) if queue == WHOLE_CLUSTER else NO_SHARE
            return QueueUsage(queue, self._now, mean_at_start(rate, average), share)
        if self._now < stored.time:  # the clock was set back
            return None
        is_same = rate == stored.used.rate and (stored.entitled.rate if stored.entitled else None) == entitled
        is_fresh = self._now - stored.time < max(settings.max_gap // 2, 1)
        is_reset = settings.reset is not None and stored.time < settings.reset.last(self._now)
        is_step = self._now // settings.step == stored.time // settings.step
        if is_same and is_fresh and is_step and not is_reset:
            return None
        row = self._row(queue)
        assert row is not None
        assert row.used is not None
        if entitled is not None and row.entitled is not None:
            share = row.entitled._replace(rate=entitled)
        return QueueUsage(queue, self._now, row.used._replace(rate=rate), share)

    def _part(self, queue: Queue) -> Parts:
        stored, row = self._stored.get(queue.index), self._row(queue.index)
        if stored is not None and stored.normalized is not None:
            cpu, memory, gpu = stored.normalized
            return (cpu / MILLION, memory / MILLION, gpu / MILLION)
        if row is None or row.used is None:
            return (0.0, 0.0, 0.0)
        whole, most = self._whole(queue)
        used = row.used.average
        return (
            _ratio(used[CPU], whole[CPU], most),
            _ratio(used[MEMORY], whole[MEMORY], most),
            _ratio(used[GPU], whole[GPU], most),
        )

    def _whole(self, queue: Queue) -> tuple[Share, float | None]:
        """What the use of a queue is a part of, and the largest part."""
        if self._settings is not None and self._settings.is_relative_to_parent and queue.parent is not None:
            parent = self._row(queue.parent)
            if parent is not None and parent.entitled is not None:
                return parent.entitled.average, _MAX_PART
        capacity = self._row(WHOLE_CLUSTER)
        if capacity is None or capacity.used is None:
            return average_of(self._capacity), None
        return capacity.used.average, None


def history_of(cluster: Cluster, total: Share, arguments: Mapping[str, str]) -> UsageHistory | None:
    """History by the arguments of the plugin proportion; None: no queue has any."""
    has_rows = bool(cluster.carried.rows(QUEUE_USAGE))
    return UsageHistory(cluster, total, usage_settings(arguments)) if has_rows else None


def in_millionths(parts: Parts) -> Share:
    """Parts as whole millionths."""
    return (round(parts[CPU] * MILLION), round(parts[MEMORY] * MILLION), round(parts[GPU] * MILLION))


def _ratio(used: int, whole: int, most: float | None) -> float:
    if whole <= 0:
        return 0.0
    part = used / whole
    return part if most is None or part < most else most

"""Gauges of the last cycle of each shard, such as shares of queues. Histogram buckets.

Gauges are read when metrics are collected, so a cycle only stores its summary. Callers choose the names of
clusters, node pools and queues, so their number is limited: the shards with the latest cycles, and the first
queues of each by name; other queues are summed as `other`. The SDK never forgets a series, so the number of
names since the start is limited as well, by shard: renaming queues hides no queue of another shard.
"""

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation
from tenure.codec.decisions.planned_starts import PlannedStartCounts
from tenure.codec.encoded_response import CycleSummary, QueueSummary
from tenure.process.telemetry import MAX_SERIES
from tenure.server.shard import Shard
from tenure.solver.model.disruption_limits import TOKEN, EvictionRateStatus
from tenure.solver.model.resources import Share
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.enum_labels import enum_label

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Buckets from a small response to the longest search."""
NOTICE_SECONDS: Final = (5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 86_400.0)
"""Buckets from a notice to end a write to one of a day."""

MAX_SHARDS: Final = 32
MAX_QUEUES: Final = 100
"""Maximum number of queues of a shard."""
MAX_NAMES_OF_SHARD: Final = 3 * MAX_QUEUES
"""Maximum number of names of queues of a shard since the start."""
OTHER: Final = "other"
LONGEST_IDLE: Final = 900 * SECOND
"""What is reserved and free counts for no longer until the next cycle."""
_OTHERS: Final = (OTHER, OTHER)
"""All other queues and classes."""
_METER: Final = metrics.get_meter("tenure.server")
_MILLIONTH: Final = 1e-6
_GPU: Final = 1e-3
_UNITS: Final = (("cpu", 1e-3), ("memory", 1.0), ("gpu", _GPU))
"""Components of a share: label, and divisor to cores, bytes and devices."""
MAX_NAMES: Final = MAX_SERIES // len(_UNITS)
"""Maximum number of names of queues of all shards since the start."""


class ExportedNames:
    """Names of queues that have series of their own, since the start. Thread-safe."""

    def __init__(self) -> None:
        self._of_shard: dict[Shard, set[Hashable]] = {}
        self._left = MAX_NAMES
        self._changing = threading.Lock()

    def add(self, shard: Shard, name: Hashable) -> bool:
        """Whether a queue of a shard, or a class of nodes of a queue, has series of its own, from now on."""
        with self._changing:
            names = self._of_shard.get(shard, set())
            if name not in names and self._left and len(names) <= MAX_NAMES_OF_SHARD:
                names.add(name)
                self._of_shard[shard] = names
                self._left -= 1
            return name in names


class _Last(NamedTuple):
    """Summary of the last cycle of a shard."""

    time: float
    queues: Sequence[QueueSummary]
    protected: Mapping[str, int]
    """Pod groups by the guard that protects them."""
    rates: Sequence[EvictionRateStatus]
    planned_starts: PlannedStartCounts
    held: Mapping[str, int]
    """Pod groups by what holds them."""
    now: int
    """Time of the snapshot, in nanoseconds."""

    def gpu_seconds(self, until: int) -> float:
        """GPU-seconds that reserved capacity is free, from the cycle until the next one."""
        time = min(max(0, until - self.now), LONGEST_IDLE) / SECOND
        return (self.planned_starts.idle or 0) * _GPU * time


class LastCycles:
    """Last cycle of each shard. Thread-safe."""

    def __init__(self) -> None:
        self._last: OrderedDict[Shard, _Last] = OrderedDict()
        self._names, self._classes = ExportedNames(), ExportedNames()
        self._changing = threading.Lock()

    def update(self, summary: CycleSummary) -> float:
        """Store the values of a cycle. GPU-seconds that reserved capacity was free since the one before."""
        shard = Shard(summary.cluster_id, summary.node_pool)
        with self._changing:
            before = self._last.get(shard)
            self._last[shard] = _Last(
                time.time(),
                summary.queues,
                summary.protected,
                summary.eviction_rates,
                summary.planned_starts,
                summary.held,
                summary.now,
            )
            self._last.move_to_end(shard)
            if len(self._last) > MAX_SHARDS:
                self._last.popitem(last=False)
        return 0.0 if before is None else before.gpu_seconds(summary.now)

    def times(self, _: CallbackOptions) -> Iterable[Observation]:
        """Time of the last cycle of each shard."""
        for shard, last in self._all():
            yield Observation(last.time, _labels(shard))

    def protected(self, _: CallbackOptions) -> Iterable[Observation]:
        """Pod groups by guard."""
        for shard, last in self._all():
            for guard, number in last.protected.items():
                yield Observation(number, {**_labels(shard), "guard": guard})

    def tokens(self, _: CallbackOptions) -> Iterable[Observation]:
        """Tokens of the eviction rates, whose number is limited by the configuration."""
        for shard, last in self._all():
            for rate in last.rates:
                yield Observation(rate.after / TOKEN, {**_labels(shard), "rate": rate.name})

    def planned_starts(self, _: CallbackOptions) -> Iterable[Observation]:
        """Planned starts by certainty."""
        for shard, last in self._all():
            for certainty, number in last.planned_starts.by_certainty.items():
                label = enum_label(pb.Certainty, certainty)
                yield Observation(number, {**_labels(shard), "certainty": label})

    def reserved_idle(self, _: CallbackOptions) -> Iterable[Observation]:
        """What is reserved and free, where a profile plans starts."""
        for shard, last in self._all():
            if last.planned_starts.idle is not None:
                yield Observation(last.planned_starts.idle, _labels(shard))

    def class_allocated(self, _: CallbackOptions) -> Iterable[Observation]:
        """GPUs of queues by the classes of nodes that they have limits for."""
        for shard, last in self._all():
            used: defaultdict[tuple[str, str], float] = defaultdict(float)
            for pair, amount in _by_class(last.queues):
                if self._classes.add(shard, _OTHERS):
                    used[pair if self._classes.add(shard, pair) else _OTHERS] += amount * _GPU
            for (queue, name), gpus in used.items():
                yield Observation(gpus, {**_labels(shard), "queue": queue, "class": name})

    def pods_with_notice(self, _: CallbackOptions) -> Iterable[Observation]:
        """Pods with notice of each queue."""
        for shard, last in self._all():
            named = self._named(shard, last)
            pods: defaultdict[str, int] = defaultdict(int)
            for queue in last.queues if named is not None else ():
                pods[queue.name if queue.name in (named or ()) else OTHER] += queue.pods_with_notice
            for queue_name, number in pods.items():
                yield Observation(number, {**_labels(shard), "queue": queue_name})

    def held(self, _: CallbackOptions) -> Iterable[Observation]:
        """Pod groups by what holds them."""
        for shard, last in self._all():
            for why, number in last.held.items():
                yield Observation(number, {**_labels(shard), "why": why})

    def some_shares(
        self, share_of: Callable[[QueueSummary], Share | None], factors: Sequence[float]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """A share that few clusters have, of each queue with series of its own."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            for shard, last in self._all():
                known = [
                    (queue.name, share) for queue in last.queues if (share := share_of(queue)) is not None
                ]
                named = (self._named(shard, last) if known else None) or ()
                for name, share in (each for each in known if each[0] in named):
                    labels = {**_labels(shard), "queue": name}
                    for (resource, _unit), factor, amount in zip(_UNITS, factors, share, strict=True):
                        yield Observation(amount * factor, {**labels, "resource": resource})

        return observe

    def shares(
        self, share_of: Callable[[QueueSummary], Share]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """A share of each queue."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            for shard, last in self._all():
                named = self._named(shard, last)
                if named is None:
                    continue
                for (queue, resource), amount in _amounts(last.queues, share_of, named).items():
                    yield Observation(amount, {**_labels(shard), "queue": queue, "resource": resource})

        return observe

    def _named(self, shard: Shard, last: _Last) -> Collection[str] | None:
        """Queues that have series of their own; None: the shard has none, not even for the others."""
        if not self._names.add(shard, OTHER):
            return None
        return {each.name for each in last.queues[:MAX_QUEUES] if self._names.add(shard, each.name)}

    def _all(self) -> list[tuple[Shard, _Last]]:
        with self._changing:
            return list(self._last.items())


LAST_CYCLES: Final = LastCycles()
"""Metrics of this process."""

_METER.create_observable_gauge(
    "tenure_last_cycle_timestamp_seconds",
    [LAST_CYCLES.times],
    description="End of the last cycle of a cluster and node pool, in seconds since 1970.",
)
_METER.create_observable_gauge(
    "tenure_guard_protected_pod_groups",
    [LAST_CYCLES.protected],
    description="Running pod groups that a guard protected in the last cycle.",
)
_METER.create_observable_gauge(
    "tenure_eviction_rate_tokens",
    [LAST_CYCLES.tokens],
    description="Tokens of an eviction rate after the last cycle; below 0 is a debt.",
)
_METER.create_observable_gauge(
    "tenure_reservations",
    [LAST_CYCLES.planned_starts],
    description="Planned starts after the last cycle, by certainty.",
)
_METER.create_observable_gauge(
    "tenure_reserved_idle_gpu_milli",
    [LAST_CYCLES.reserved_idle],
    description="What is reserved and free after the last cycle, in thousandths of a GPU.",
)
_METER.create_observable_gauge(
    "tenure_pods_with_notice",
    [LAST_CYCLES.pods_with_notice],
    description="Pods of a queue whose notice of eviction stands after the last cycle.",
)
_METER.create_observable_gauge(
    "tenure_queue_fair_share",
    [LAST_CYCLES.shares(attrgetter("fair_share"))],
    description="Fair share of a queue in the last cycle, in cores, bytes of memory and GPUs.",
)
_METER.create_observable_gauge(
    "tenure_held_pod_groups",
    [LAST_CYCLES.held],
    description="Pod groups that are held, by what holds them, in the last cycle.",
)
_METER.create_observable_gauge(
    "tenure_queue_kept",
    [LAST_CYCLES.some_shares(attrgetter("kept"), [factor for _, factor in _UNITS])],
    description="What is kept free of the quota of a queue, which it does not lend, after the last cycle.",
)
_METER.create_observable_gauge(
    "tenure_queue_class_allocated",
    [LAST_CYCLES.class_allocated],
    description="GPUs of a queue on nodes of a class that it has a limit for, after the last cycle.",
)
_METER.create_observable_gauge(
    "tenure_queue_usage",
    [LAST_CYCLES.some_shares(attrgetter("past_use"), [_MILLIONTH] * len(_UNITS))],
    description="Past use of a queue that its fair share follows, as a part of the cluster or of its parent.",
)
_METER.create_observable_gauge(
    "tenure_queue_allocated",
    [LAST_CYCLES.shares(attrgetter("allocated"))],
    description="Allocation of a queue after the last cycle, in cores, bytes of memory and GPUs.",
)


def _by_class(queues: Sequence[QueueSummary]) -> list[tuple[tuple[str, str], int]]:
    return [((queue.name, name), amount) for queue in queues for name, amount in queue.by_class]


def _amounts(
    queues: Sequence[QueueSummary], share_of: Callable[[QueueSummary], Share], named: Collection[str]
) -> dict[tuple[str, str], float]:
    amounts: defaultdict[tuple[str, str], float] = defaultdict(float)
    for status in queues:
        queue = status.name if status.name in named else OTHER
        for (resource, factor), amount in zip(_UNITS, share_of(status), strict=True):
            amounts[queue, resource] += amount * factor
    return amounts


def _labels(shard: Shard) -> dict[str, str]:
    return {"cluster": shard.cluster_id, "node_pool": shard.node_pool}

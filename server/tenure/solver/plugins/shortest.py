"""Order by expected runtime: within a queue and a priority, shorter pod groups go first (semantics R17.30).

    due time = creation + min(maxDelay, weight * expected runtime)

The pod group with the earliest due time goes first. So none is overtaken by one that was created more than
`maxDelay` after it, nor by one that is not shorter. The order needs no new cycle as time passes: while pod
groups wait, their due times do not change.

An expected runtime is the first that is known of `sources`: what the pod group says, its time limit, what the
history of its queue predicts, and what its queue says. It counts here alone: guards and requeue read none of
these predictions. What ran longer than expected is expected to run at least twice as long in later cycles.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.plugin_api import (
    GPU,
    LAST_RUNTIMES,
    QUEUE_RUNTIMES,
    SECOND,
    Counts,
    PluginContext,
    PodGroup,
    PodGroupOrder,
    QueueRuntimes,
    parse_duration,
)

NAME: Final = "shortest"
_EXPECTED: Final = "expected"
_LIMIT: Final = "limit"
_HISTORY: Final = "history"
_QUEUE: Final = "queue"
SOURCES: Final = (_EXPECTED, _LIMIT, _HISTORY, _QUEUE)
_DEFAULTS: Final[Mapping[str, str]] = {
    "weight": "3",
    "maxDelay": "36h",
    "sources": ", ".join(SOURCES),
}
_MOST_WEIGHT: Final = 1_000


def runtime_weight(text: str) -> int:
    """A whole number. Raises ValueError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 4) or not 1 <= int(text) <= _MOST_WEIGHT:
        raise ValueError(f"{text!r} is not a whole number from 1 to {_MOST_WEIGHT}")
    return int(text)


def most_delay(text: str) -> int:
    """Nanoseconds. Raises ValueError for less than a second."""
    if (delay := parse_duration(text)) < SECOND:
        raise ValueError(f"{text!r} is too short: write at least 1s")
    return delay


def runtime_sources(text: str) -> tuple[str, ...]:
    """Names of sources, in their order. Raises ValueError."""
    names = tuple([name.strip() for name in text.split(",") if name.strip()])
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{text!r} does not name each source once; known: {', '.join(SOURCES)}")
    for name in names:
        if name not in SOURCES:
            raise ValueError(f"{name!r} is no source of runtimes; known: {', '.join(SOURCES)}")
    return names


class Shortest(PodGroupOrder):
    """Pod groups with an earlier due time first."""

    ARGUMENTS: ClassVar = {"weight": runtime_weight, "maxDelay": most_delay, "sources": runtime_sources}
    DEFAULTS: ClassVar[Mapping[str, str]] = _DEFAULTS

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        values = {**_DEFAULTS, **arguments}
        self._context = context
        self._groups, self._queues = context.cluster.pod_groups, context.cluster.queues
        self._tasks = context.cluster.tasks
        self._weight, self._most = runtime_weight(values["weight"]), most_delay(values["maxDelay"])
        self._sources = runtime_sources(values["sources"])
        self._predicted = Predictions(context) if _HISTORY in self._sources else None
        self._keys: dict[int, int] = {}

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """The due time in nanoseconds. The same for the whole cycle."""
        key = self._keys.get(pod_group)
        if key is None:
            key = self._keys[pod_group] = self._due(self._groups[pod_group])
        return key

    def _due(self, group: PodGroup) -> int:
        runtime = self.expected_runtime(group)
        delay = self._most if runtime is None else min(self._most, self._weight * runtime)
        return group.facts.creation + delay

    def expected_runtime(self, group: PodGroup) -> int | None:
        """Nanoseconds; None: not known. More than it ran without a break until now, or its last eviction."""
        expected = None
        for source in self._sources:
            expected = self._from(source, group)
            if expected:
                break
        if not expected:
            return None
        ran = self._last_run(group)
        return expected if ran < expected else expected << (ran // expected).bit_length()

    def _from(self, source: str, group: PodGroup) -> int | None:
        if source == _EXPECTED:
            return group.facts.requeue.expected_runtime.value
        if source == _LIMIT:
            return group.facts.victim.time_limit
        if group.queue is None:
            return None
        if source == _HISTORY:
            return None if self._predicted is None else self._predicted.runtime(group)
        queue = self._queues[group.queue]
        return queue.nearest_runtime or queue.nearest_time_limit

    def _last_run(self, group: PodGroup) -> int:
        """How long it runs, or ran before it was evicted; 0: it did not."""
        start, eviction = group.facts.last_start, group.facts.last_eviction
        if start is None:
            return 0
        for task in group.tasks:
            if self._tasks[task].placement.use:
                return max(0, self._context.now - start)
        return 0 if eviction is None else max(0, eviction - start)


class Predictions:
    """Runtimes that the history of queues predicts: the median of the last ones (semantics R17.32)."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._rows: Mapping[int, QueueRuntimes] = {
            row.queue: row for row in context.cluster.carried.rows(QUEUE_RUNTIMES)
        }
        self._known: dict[tuple[int, int], int] = {}
        """Medians by queue and GPUs; 0: none."""

    def runtime(self, group: PodGroup) -> int | None:
        """Nanoseconds; None: none of its size finished in its queue."""
        if not self._rows or group.queue is None or group.queue not in self._rows:
            return None
        gpu = self._context.demand(group.tasks)[GPU]
        key = (group.queue, gpu)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = predict(self._rows[group.queue].sizes, gpu) * SECOND
        return found or None


def predict(sizes: Iterable[tuple[int, Sequence[int]]], gpu_milli: int) -> int:
    """The lower median of the last runtimes of a size, in seconds; 0: there are none.

    `sizes` has thousandths of a GPU with runtimes in seconds, the oldest first.
    """
    for size, runs in sizes:
        if size == gpu_milli and runs:
            last = sorted(runs[-LAST_RUNTIMES:])
            return max(1, last[(len(last) - 1) // 2])
    return 0

"""Resolve settings: the pod group's value, else that of the nearest queue with one (R12.72, R14.34)."""

from collections.abc import Callable, Sequence
from typing import Final

from tenure.solver.model.fate import AtEvictionLimit, Fate
from tenure.solver.model.queue import Queue
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup

OWN_EXPECTED_RUNTIME: Final = "its own expected runtime"
"""Source of an expected runtime that no queue sets."""


def expected_runtime(group: PodGroup, queues: Sequence[Queue]) -> tuple[ParsedValue, str]:
    """Expected runtime and its source; unset if there is none.

    An invalid value of the pod group stays invalid: the queue's value does not replace it.
    """
    own = group.facts.requeue.expected_runtime
    if own.is_set:
        return own, OWN_EXPECTED_RUNTIME
    return _queue_runtime(group, queues)


def runtime_at_start(group: PodGroup, queues: Sequence[Queue]) -> tuple[ParsedValue, str]:
    """Expected runtime when a running pod group started, and its source (semantics R8.43).

    The present one, if its caller stores no grants, or does not know.
    """
    grant = group.facts.grant
    if grant is None or not grant.queue:
        return expected_runtime(group, queues)
    if grant.expected_runtime is not None and grant.queue == group.facts.queue_name:
        return ParsedValue(grant.expected_runtime), OWN_EXPECTED_RUNTIME
    return _queue_runtime(group, queues)


def _queue_runtime(group: PodGroup, queues: Sequence[Queue]) -> tuple[ParsedValue, str]:
    value, source = _inherited(group, queues, lambda queue: queue.facts.expected_runtime)
    return ParsedValue(value or None), source if value else ""


def queue_runtime(group: PodGroup, queues: Sequence[Queue]) -> int | None:
    """Expected runtime of pod groups of a queue that say none."""
    return None if group.queue is None else queues[group.queue].nearest_runtime


def requeue_delay(group: PodGroup, queues: Sequence[Queue], default: int) -> int:
    """Requeue delay in nanoseconds; an invalid value counts as unset (semantics R12.44)."""
    own = group.facts.requeue.delay.value
    if own is not None:
        return own
    value, _ = _inherited(group, queues, lambda queue: queue.facts.requeue_delay)
    return default if value is None else value


def fate_on_evict(group: PodGroup, queues: Sequence[Queue]) -> Fate:
    """What becomes of the pod group when its core is evicted; UNSPECIFIED: none is set."""
    if group.facts.victim.on_evict:
        return group.facts.victim.on_evict
    value, _ = _inherited(group, queues, lambda queue: queue.facts.on_evict or None)
    return Fate(value or 0)


def fate_at_time_limit(group: PodGroup, queues: Sequence[Queue]) -> Fate:
    """What becomes of the pod group at its time limit: HOLD, unless it or a queue sets something else."""
    value: int | None = group.facts.victim.on_time_limit
    if not value:
        value, _ = _inherited(group, queues, lambda queue: queue.facts.on_time_limit or None)
    fate = Fate(value or Fate.HOLD)
    return Fate.HOLD if fate is Fate.SUSPEND and not group.facts.victim.suspendable else fate


def at_eviction_limit(group: PodGroup, queues: Sequence[Queue]) -> AtEvictionLimit:
    """What happens to the pod group at the limit of evictions; UNSPECIFIED: no queue sets it."""
    value, _ = _inherited(group, queues, lambda queue: queue.facts.at_eviction_limit or None)
    return AtEvictionLimit(value or 0)


def notice_period(group: PodGroup, queues: Sequence[Queue], default: int) -> tuple[int, str]:
    """Nanoseconds of notice before an eviction, 0 if none, and where that is set (semantics R16.1)."""
    own = group.facts.victim.notice
    if own is not None:
        return max(0, own), "its own notice"
    value, source = _inherited(group, queues, lambda queue: queue.facts.notice)
    return (default, "option defaultNotice") if value is None else (max(0, value), source)


def time_limit(group: PodGroup, queues: Sequence[Queue]) -> int | None:
    """Nanoseconds that the pod group runs at most: its own limit, capped by the queue (semantics R17.1)."""
    value = None if group.queue is None else queues[group.queue].nearest_time_limit
    own = group.facts.victim.time_limit
    return min(own, value) if own and value else own or value


def _inherited(
    group: PodGroup, queues: Sequence[Queue], value_of: Callable[[Queue], int | None]
) -> tuple[int | None, str]:
    """First value from the leaf queue up to the root, and the queue that has it."""
    path = () if group.queue is None else queues[group.queue].path
    for index in reversed(path):
        value = value_of(queues[index])
        if value is not None:
            return value, f"queue {queues[index].facts.name}"
    return None, ""

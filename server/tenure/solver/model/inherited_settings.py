"""Resolve settings: the pod group's value, else that of the nearest queue with one (R12.72, R14.34)."""

from collections.abc import Callable, Sequence
from typing import Final

from tenure.solver.model.fate import Fate
from tenure.solver.model.queue import Queue
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup

OWN_NOTICE: Final = "its own notice"
"""Source of a notice that the pod group sets itself."""


def expected_runtime(group: PodGroup, queues: Sequence[Queue]) -> tuple[ParsedValue, str]:
    """Expected runtime and its source; unset if there is none.

    An invalid value of the pod group stays invalid: the queue's value does not replace it.
    """
    own = group.facts.requeue.expected_runtime
    if own.is_set:
        return own, "its own expected runtime"
    value, source = _inherited(group, queues, lambda queue: queue.expected_runtime)
    return ParsedValue(value or None), source if value else ""


def requeue_delay(group: PodGroup, queues: Sequence[Queue], default: int) -> int:
    """Requeue delay in nanoseconds; an invalid value counts as unset (semantics R12.44)."""
    own = group.facts.requeue.delay.value
    if own is not None:
        return own
    value, _ = _inherited(group, queues, lambda queue: queue.requeue_delay)
    return default if value is None else value


def fate_on_evict(group: PodGroup, queues: Sequence[Queue]) -> Fate:
    """What becomes of the pod group when its core is evicted; UNSPECIFIED: none is set."""
    if group.facts.victim.on_evict:
        return group.facts.victim.on_evict
    value, _ = _inherited(group, queues, lambda queue: queue.on_evict or None)
    return Fate(value or 0)


def notice_period(group: PodGroup, queues: Sequence[Queue], most: int) -> int:
    """Nanoseconds of notice before an eviction, at most `most` (semantics R16.1)."""
    return min(wanted_notice(group, queues)[0], most) if most else 0


def wanted_notice(group: PodGroup, queues: Sequence[Queue]) -> tuple[int, str]:
    """Nanoseconds of notice that are asked for, 0 if none, and where that is set."""
    own, source = group.facts.victim.notice, OWN_NOTICE
    if own is None:
        own, source = _inherited(group, queues, lambda queue: queue.notice)
    return max(0, own or 0), source


def _inherited(
    group: PodGroup, queues: Sequence[Queue], value_of: Callable[[Queue], int | None]
) -> tuple[int | None, str]:
    """First value from the leaf queue up to the root, and the queue that has it."""
    path = () if group.queue is None else queues[group.queue].path
    for index in reversed(path):
        value = value_of(queues[index])
        if value is not None:
            return value, f"queue {queues[index].name}"
    return None, ""

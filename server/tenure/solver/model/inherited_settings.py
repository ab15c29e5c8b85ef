"""Whose word counts: the pod group's own, else that of the nearest queue that says anything (R12.72)."""

from collections.abc import Callable, Sequence

from tenure.solver.model.queue import Queue
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup


def expected_runtime(group: PodGroup, queues: Sequence[Queue]) -> tuple[ParsedValue, str]:
    """How long it is expected to run, and who says so; unset when nobody does.

    A bad value of the pod group stays a bad value: the queue's does not replace it.
    """
    own = group.requeue.expected_runtime
    if own.is_set:
        return own, "its own expected runtime"
    value, source = _inherited(group, queues, lambda queue: queue.expected_runtime)
    return ParsedValue(value or None), source if value else ""


def requeue_delay(group: PodGroup, queues: Sequence[Queue], default: int) -> int:
    """Nanoseconds it is left alone after a requeue; a bad value counts as unset (semantics R12.44)."""
    own = group.requeue.delay.value
    if own is not None:
        return own
    value, _ = _inherited(group, queues, lambda queue: queue.requeue_delay)
    return default if value is None else value


def _inherited(
    group: PodGroup, queues: Sequence[Queue], value_of: Callable[[Queue], int | None]
) -> tuple[int | None, str]:
    """The first value from the leaf queue up to the root, and the queue that has it."""
    path = () if group.queue is None else queues[group.queue].path
    for index in reversed(path):
        value = value_of(queues[index])
        if value is not None:
            return value, f"queue {queues[index].name}"
    return None, ""

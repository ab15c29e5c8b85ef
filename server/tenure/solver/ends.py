"""When running pod groups end: what plans of later starts rest on (semantics R17.1, R17.2)."""

from collections.abc import Sequence
from typing import Final, final

from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.inherited_settings import expected_runtime, queue_runtime, time_limit
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup


@final
class End:
    """When a pod group ends, in nanoseconds since the Unix epoch; None: not known."""

    __slots__ = ("certainty", "hard", "likely")

    def __init__(
        self, hard: int | None = None, likely: int | None = None, certainty: Certainty = Certainty.UNKNOWN
    ) -> None:
        self.hard = hard
        """Its last start plus its time limit."""
        self.likely = likely
        """Its last start plus its expected runtime, at most `hard`."""
        self.certainty = certainty
        """Of `likely`."""


UNKNOWN_END: Final = End()
_BOUNDED: Final = Certainty.BOUNDED
_EXPECTED: Final = Certainty.EXPECTED
_ASSUMED: Final = Certainty.ASSUMED


def end_of(group: PodGroup, queues: Sequence[Queue], now: int) -> End:
    """When a running pod group ends; both times are after `now`."""
    start = group.facts.last_start
    return UNKNOWN_END if start is None else end_after(group, queues, start, now)


def end_after(group: PodGroup, queues: Sequence[Queue], start: int, now: int) -> End:
    """When a pod group ends that starts at this time.

    A time that has passed is replaced by the time limit if that has not passed, else by the first later
    one of twice, four times, ... the runtime (semantics R17.1).
    """
    limit, own = time_limit(group, queues), group.facts.requeue.expected_runtime
    runtime = own.value if own.is_set else queue_runtime(group, queues)
    if limit is None and runtime is None:
        return UNKNOWN_END
    hard = start + limit if limit is not None and start + limit > now else None
    if hard is not None and (runtime is None or not now < start + runtime < hard):
        return End(hard, hard, _BOUNDED)
    if runtime is None or (limit is not None and limit < runtime):
        runtime = limit
    assert runtime is not None
    if start + runtime > now:
        return End(hard, start + runtime, _EXPECTED if own.is_set else _ASSUMED)
    doublings = ((now - start) // runtime).bit_length()
    return End(None, start + (runtime << doublings), _ASSUMED)


def is_overdue(group: PodGroup, queues: Sequence[Queue], now: int) -> bool:
    """Whether a running pod group has exceeded its expected runtime or its time limit."""
    start, limit = group.facts.last_start, time_limit(group, queues)
    expected = expected_runtime(group, queues)[0].value
    return start is not None and any(each is not None and start + each <= now for each in (expected, limit))

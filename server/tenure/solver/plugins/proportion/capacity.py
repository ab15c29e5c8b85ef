"""Limits of every queue, and quotas for what is not preemptible (semantics R4.60-R4.65)."""

from collections.abc import Iterable, Mapping, Sequence

from tenure.solver.model.queue import Queue
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.resources import UNLIMITED, Share

Amounts = Sequence[Share] | Mapping[int, Share]
"""By queue index."""
NAMES = ("CPU", "memory", "GPU")


def over_limit(queues: Iterable[Queue], allocated: Amounts, demand: Share) -> Rejection | None:
    """The first queue, from the leaf up, whose limit the demand would exceed."""
    for queue in queues:
        resource = _exceeded(queue.limit, allocated[queue.index], demand)
        if resource:
            return Rejection(ReasonCode.OVER_LIMIT, f"queue {queue.name} would exceed its {resource} limit")
    return None


def over_quota(queues: Iterable[Queue], non_preemptible: Sequence[Share], demand: Share) -> Rejection | None:
    """The first queue whose quota a non-preemptible demand would exceed."""
    for queue in queues:
        resource = _exceeded(queue.quota, non_preemptible[queue.index], demand)
        if resource:
            return Rejection(
                ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA,
                f"its non-preemptible pods would exceed the {resource} quota of queue {queue.name}",
            )
    return None


def _exceeded(bound: Share, used: Share, demand: Share) -> str:
    for name, most, now, more in zip(NAMES, bound, used, demand, strict=True):
        if most != UNLIMITED and more > 0 and most < now + more:
            return name
    return ""

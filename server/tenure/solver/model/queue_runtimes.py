"""Runtimes of finished pod groups of a queue, which a caller writes down (semantics R17.30)."""

from operator import attrgetter
from typing import Final, NamedTuple

from tenure.solver.model.carried import RowKind


class QueueRuntimes(NamedTuple):
    """Runtimes of the pod groups of a queue that finished last."""

    queue: int
    """Index."""
    time: int
    """When the last one finished, in nanoseconds."""
    sizes: tuple[tuple[int, tuple[int, ...]], ...]
    """GPUs of a pod group in thousandths, and runtimes in seconds, the oldest first; by GPUs."""


QUEUE_RUNTIMES: Final[RowKind[QueueRuntimes]] = RowKind("queue_runtimes", attrgetter("queue"))

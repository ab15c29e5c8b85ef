"""Queues: a tree of shares of the cluster, and their status in a cycle."""

from dataclasses import dataclass
from typing import NamedTuple

from tenure.solver.model.fate import Fate
from tenure.solver.model.resources import UNLIMITED, Share


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. `index` is dense; `rank` orders queues by creation time, then name (semantics R2.6)."""

    index: int
    name: str
    parent: int | None
    children: tuple[int, ...]
    path: tuple[int, ...]
    """Queue indices from the top-level queue down to this one."""
    rank: int
    creation: int
    """Nanoseconds since the Unix epoch."""
    priority: int = 100
    quota: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    limit: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    weight: tuple[float, float, float] = (1.0, 1.0, 1.0)
    preempt_min_runtime: int | None = None
    """Nanoseconds; None inherits, 0 is an explicit "no protection" (semantics R7.4)."""
    reclaim_min_runtime: int | None = None
    expected_runtime: int | None = None
    """Nanoseconds, for pod groups without their own; None inherits, 0 is an explicit "unknown"."""
    requeue_delay: int | None = None
    max_min_runtime: int | None = None
    """Longest minimum runtime that pod groups may set for themselves; None inherits."""
    on_evict: Fate = Fate.UNSPECIFIED
    """Fate of its pod groups without their own; UNSPECIFIED inherits."""

    @property
    def is_leaf(self) -> bool:
        """Whether it can contain pod groups (semantics R1.73)."""
        return not self.children


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue that names its parent; empty: top level. Fields as in Queue."""

    name: str
    parent: str = ""
    creation: int = 0
    priority: int = 100
    quota: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    limit: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    weight: tuple[float, float, float] = (1.0, 1.0, 1.0)
    preempt_min_runtime: int | None = None
    reclaim_min_runtime: int | None = None
    expected_runtime: int | None = None
    requeue_delay: int | None = None
    max_min_runtime: int | None = None
    on_evict: Fate = Fate.UNSPECIFIED


class QueueStatus(NamedTuple):
    """Shares and allocations of a queue in the cycle."""

    queue: int
    fair_share: Share
    allocated_before: Share
    allocated_after: Share
    requested: Share

"""Queues: a tree of shares of the cluster, their status in a cycle, and their past use (semantics R18.3)."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from tenure.solver.model.carried import RowKind
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, Share

WHOLE_CLUSTER: Final = -1
"""Stands for a queue: the capacity of the cluster."""
MILLION: Final = 1_000_000
_MIB: Final = 2**20
MILLIONTHS: Final = (1_000, MILLION, 1_000)
"""Millionths of a core, a MiB and a device for each unit of a rate: a milli-core, a MiB, a milli-GPU."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. `index` is dense; `rank` orders queues by creation time, then name (semantics R2.6)."""

    index: int
    parent: int | None
    children: tuple[int, ...]
    path: tuple[int, ...]
    """Queue indices from the top-level queue down to this one."""
    rank: int
    nearest_time_limit: int | None
    """Time limit in force: its own, or that of the nearest ancestor with one; None: no limit."""
    nearest_runtime: int | None
    """Expected runtime in force, likewise; None: unknown."""
    facts: QueueFacts

    @property
    def is_leaf(self) -> bool:
        """Whether it can contain pod groups (semantics R1.73)."""
        return not self.children


class QueueStatus(NamedTuple):
    """Shares and allocations of a queue in the cycle."""

    queue: int
    fair_share: Share
    allocated_before: Share
    allocated_after: Share
    requested: Share
    past_use: Share | None = None
    """Past use that the fair share follows, in millionths; None: no queue has any."""
    by_weight: Share | None = None
    """Fair share without past use, if there is any."""
    kept: Share | None = None
    """What is kept free of its quota after the cycle; None: no queue keeps anything."""
    by_class: tuple[tuple[str, int], ...] = ()
    """What it has of classes of nodes that it has limits for, after the cycle, in thousandths of a GPU."""


class UsageMean(NamedTuple):
    """A mean in which older use counts less, in steps. Each has CPU, memory and GPUs."""

    average: Share
    """Decayed mean at the begin of the current step, in millionths of a core, a MiB and a device."""
    held: Share
    """Use since the begin of the current step: milli-core seconds, MiB seconds, milli-GPU seconds."""
    rate: Share
    """What was held when the last cycle ended: milli-cores, MiB, milli-GPUs."""


class QueueUsage(NamedTuple):
    """History of a queue, or of the capacity of the cluster."""

    queue: int
    """Index, or WHOLE_CLUSTER."""
    time: int
    """Until when it counts, in whole seconds since the Unix epoch."""
    used: UsageMean | None
    """None: it has no history."""
    entitled: UsageMean | None = None
    """Mean of its fair share, for the queues below it; None: not kept."""
    normalized: Share | None = None
    """Past use in millionths of the cluster by the caller's own account; None: by its history."""


QUEUE_USAGE: Final[RowKind[QueueUsage]] = RowKind("queue_usage", attrgetter("queue"))


def rate_of(amount: Share) -> Share:
    """Amounts in milli-cores, bytes and milli-GPUs as a rate."""
    return (amount[CPU], amount[MEMORY] // _MIB, amount[GPU])


def mean_at_start(rate: Share, average: Share = NO_SHARE) -> UsageMean:
    """Mean that begins with an average (semantics R18.5)."""
    return UsageMean(average, NO_SHARE, rate)


def average_of(rate: Share) -> Share:
    """Average of a constant rate."""
    cpu, memory, gpu = MILLIONTHS
    return (rate[CPU] * cpu, rate[MEMORY] * memory, rate[GPU] * gpu)

"""Queues: a tree of shares of the cluster, their status in a cycle, and their past use (semantics R18.3)."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.solver.model.fate import AtEvictionLimit, Fate
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, UNLIMITED, Share

WHOLE_CLUSTER: Final = -1
"""Stands for a queue: the capacity of the cluster."""
MILLION: Final = 1_000_000
_MIB: Final = 2**20
MILLIONTHS: Final = (1_000, MILLION, 1_000)
"""Millionths of a core, a MiB and a device for each unit of a rate: a milli-core, a MiB, a milli-GPU."""


class ClassLimit(NamedTuple):
    """What a queue may use of GPUs on nodes of one class, in thousandths (semantics R19.1)."""

    node_class: str
    quota: int = UNLIMITED
    """For non-preemptible pods."""
    limit: int = UNLIMITED


class QueueRules(NamedTuple):
    """Bounds that few queues have, beside quota and limit (semantics R19)."""

    class_limits: tuple[ClassLimit, ...] = ()
    lending_limit: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    """How much of an unused quota others may use."""
    max_running: int | None = None
    """Pod groups with running pods, of the queue and its descendants; None: unlimited."""
    on_time_limit: Fate = Fate.UNSPECIFIED
    """Fate of its pod groups at their time limit; UNSPECIFIED inherits."""


NO_RULES: Final = QueueRules()


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
    notice: int | None = None
    """Nanoseconds of notice of its pod groups without their own; None inherits."""
    at_eviction_limit: AtEvictionLimit = AtEvictionLimit.UNSPECIFIED
    """What happens to its pod groups at the limit of evictions; UNSPECIFIED inherits."""
    time_limit: int | None = None
    """Nanoseconds that its pod groups run at most; None inherits, 0 is an explicit "no limit"."""
    nearest_time_limit: int | None = None
    """The time limit in force: its own, or that of the nearest ancestor with one; None: no limit."""
    nearest_runtime: int | None = None
    """The same of the expected runtime; None: unknown."""
    rules: QueueRules = NO_RULES

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
    notice: int | None = None
    at_eviction_limit: AtEvictionLimit = AtEvictionLimit.UNSPECIFIED
    time_limit: int | None = None
    rules: QueueRules = NO_RULES


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

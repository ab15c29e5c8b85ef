"""What queues used in the past, as callers carry it between cycles (semantics R18.3)."""

from typing import Final, NamedTuple

from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, Share

WHOLE_CLUSTER: Final = -1
"""Stands for a queue: the capacity of the cluster."""
MILLION: Final = 1_000_000
_MIB: Final = 2**20
MILLIONTHS: Final = (1_000, MILLION, 1_000)
"""Millionths of a core, a MiB and a device for each unit of a rate: a milli-core, a MiB, a milli-GPU."""


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

"""Bounds of queues that contradict each other, and how they are read (semantics R19, edges)."""

from collections.abc import Iterator, Sequence

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import (
    CPU,
    GPU,
    MEMORY,
    NO_BOUNDS,
    NO_SHARE,
    UNLIMITED,
    ClassLimit,
    Share,
)
from tenure.solver.model.workload import add_shares
from tenure.terms.formatting import count_gpus

Guarantees = Sequence[Share]
"""By queue: what is kept of its quota while it does not use it."""


def has_rules(queues: Sequence[Queue]) -> bool:
    """Whether any queue has a class limit, a lending limit or a maximum of running pod groups."""
    return any(
        facts.class_limits or facts.lending_limit != NO_BOUNDS or facts.max_running is not None
        for facts in [queue.facts for queue in queues]
    )


def class_limits(queue: Queue) -> Iterator[ClassLimit]:
    """Class limits of a queue; one below the quota of the class counts for both."""
    for each in queue.facts.class_limits:
        yield each._replace(quota=each.quota_in_force)


def guarantees(queues: Sequence[Queue], total: Share) -> Guarantees:
    """Guarantee of every queue: its quota without what it lends.

    What siblings keep, with their descendants, is at most what their parent keeps and its limit, or `total`
    (nodes may be lost): the first queues keep theirs.
    """
    kept = [_guarantee(queue) for queue in queues]
    needs, below = list(kept), [NO_SHARE] * len(queues)
    upwards = sorted(queues, key=_depth, reverse=True)
    for queue in upwards:
        most = needs[queue.index] = _cut(_more(kept[queue.index], below[queue.index]), queue.facts.limit)
        if queue.parent is not None:
            below[queue.parent] = add_shares(below[queue.parent], most)
    left: dict[int | None, Share] = {None: total}
    for queue in sorted(queues, key=_depth):
        own = left[queue.index] = _cut(needs[queue.index], left[queue.parent])
        kept[queue.index] = _cut(kept[queue.index], own)
        before = left[queue.parent]
        left[queue.parent] = (before[CPU] - own[CPU], before[MEMORY] - own[MEMORY], before[GPU] - own[GPU])
    return kept


def cut_bounds(queue: Queue) -> Iterator[str]:
    """One text for each bound of a queue that contradicts a quota, with the field."""
    for each in queue.facts.class_limits:
        if each.is_cut:
            limit, quota = count_gpus(each.limit), count_gpus(each.quota)
            what = f"class_limits of {each.node_class}"
            yield f"{what}: the limit, {limit}, is below the quota, {quota}, and counts for both"
    names = ("cpu_milli", "memory_bytes", "gpu_milli")
    for name, lent, most in zip(names, queue.facts.lending_limit, queue.facts.quota, strict=True):
        if lent == UNLIMITED:
            continue
        if most == UNLIMITED:
            yield f"{name}.lending_limit: the quota is unlimited; nothing is kept free for it"
        elif lent > most:
            yield f"{name}.lending_limit: {lent} is above the quota, {most}; all of it is lent"


def _guarantee(queue: Queue) -> Share:
    cpu, memory, gpu = [
        0 if UNLIMITED in (quota, lent) else max(0, quota - lent)
        for quota, lent in zip(queue.facts.quota, queue.facts.lending_limit, strict=True)
    ]
    return (cpu, memory, gpu)


def _depth(queue: Queue) -> int:
    return len(queue.path)


def _more(first: Share, second: Share) -> Share:
    return (max(first[0], second[0]), max(first[1], second[1]), max(first[2], second[2]))


def _cut(amounts: Share, most: Share) -> Share:
    """The lesser amounts; `most` may be unlimited."""
    cpu, memory, gpu = [a if b == UNLIMITED else min(a, b) for a, b in zip(amounts, most, strict=True)]
    return (cpu, memory, gpu)

"""Who may reclaim, from whom, and whether the outcome is fair (semantics R4.40-R4.59).

Everything here is about two queues at the level where their paths part: the leveled queues.
"""

from collections.abc import Iterable, Mapping

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.plugins.proportion.shares import within


def leveled(one: Queue, other: Queue) -> tuple[int, int]:
    """Queues of the two paths at the first level where they differ; the last pair when none does."""
    pair = (one.path[0], other.path[0])
    for pair in zip(one.path, other.path, strict=False):
        if pair[0] != pair[1]:
            return pair
    return pair


def may_yield(request: Share, fits_quota: bool, quota: Share, allocated: Share, allocatable: Share) -> bool:
    """Whether a queue at the victim's level is worth reclaiming from (semantics R4.45, R4.46).

    `fits_quota`: the reclaimer stays within the quota of its leveled queue; then only a victim queue below
    its own quota is out of reach, else only one above its allocatable share is in reach.
    """
    if not fits_quota:
        return exceeds(allocated, allocatable)
    cpu = _beyond(request[CPU], quota[CPU], allocated[CPU])
    memory = _beyond(request[MEMORY], quota[MEMORY], allocated[MEMORY])
    gpu = _beyond(request[GPU], quota[GPU], allocated[GPU])
    is_under = cpu < 0 or memory < 0 or gpu < 0
    return cpu > 0 or memory > 0 or gpu > 0 or not is_under


def _beyond(request: int, quota: int, allocated: int) -> int:
    """How far a queue is above its quota of a resource; 0 where nothing is asked for or nothing binds."""
    return allocated - quota if request > 0 and quota != UNLIMITED else 0


def exceeds(amount: Share, bound: Share) -> bool:
    """Whether an amount is above a bound in some resource; -1 is above everything."""
    return not within(amount, bound)


def may_take(remaining: Share, allocatable: Share, quota: Share, fits_quota: bool) -> bool:
    """Whether the next chunk may be taken from a queue that still uses `remaining` (semantics R4.52).

    Either it is above its allocatable share, or it is above its quota and the reclaimer within its own.
    """
    return exceeds(remaining, allocatable) or (fits_quota and exceeds(remaining, quota))


def is_saturated(
    involved: tuple[bool, bool, bool],
    mine: Share,
    my_share: Share,
    theirs: Share,
    their_share: Share,
    multiplier: float,
) -> bool:
    """Whether the reclaimer would be above its share and no less saturated than the victim (R4.55)."""
    cpu, memory, gpu = involved
    return (
        (cpu and _is_saturated(mine[0], my_share[0], theirs[0], their_share[0], multiplier))
        or (memory and _is_saturated(mine[1], my_share[1], theirs[1], their_share[1], multiplier))
        or (gpu and _is_saturated(mine[2], my_share[2], theirs[2], their_share[2], multiplier))
    )


def _is_saturated(mine: int, my_share: int, theirs: int, their_share: int, multiplier: float) -> bool:
    """The same for one resource."""
    if my_share == UNLIMITED and their_share == UNLIMITED:
        return False
    ratio = _saturation(mine, my_share)
    return ratio > 1 and their_share > 0 and ratio * multiplier >= _saturation(theirs, their_share)


def _saturation(amount: int, share: int) -> float:
    if share == UNLIMITED:
        return 0.0
    if share == 0:
        return float("inf") if amount > 0 else 0.0
    return amount / share


def chunks(tasks: Iterable[tuple[int, Share]], minimums: Mapping[int, int]) -> list[Share]:
    """A victim's tasks as (pod set, share) in the pieces in which they are judged (semantics R4.50).

    Per pod set the first tasks up to its minimum form one common core; each further task stands alone and
    comes before the core.
    """
    elastic: list[Share] = []
    core: Share = (0, 0, 0)
    counts: dict[int, int] = {}
    for pod_set, share in tasks:
        counts[pod_set] = counts.get(pod_set, 0) + 1
        if counts[pod_set] <= minimums[pod_set]:
            core = (core[0] + share[0], core[1] + share[1], core[2] + share[2])
        else:
            elastic.append(share)
    return [*elastic, core] if any(core) else elastic


def can_reclaim(
    queue: Queue, allocated: Share, fair_share: Share, non_preemptible: Share | None, request: Share
) -> bool:
    """Whether a leaf queue stays within its fair share with the request (semantics R4.40).

    `non_preemptible` is what the leaf then uses that cannot be taken back; None: the request adds nothing.
    """
    if not within(_sum(allocated, request), fair_share):
        return False
    return non_preemptible is None or within(non_preemptible, queue.quota)


def _sum(a: Share, b: Share) -> Share:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])

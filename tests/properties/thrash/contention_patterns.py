"""Clusters in which pod groups compete for capacity, by family."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from tenure.v1.snapshot_pb2 import Queue


class JobPlan(NamedTuple):
    """A job to create: first cycle, request, and the number of cycles it has to run."""

    name: str
    queue: str
    pods: int
    minimum: int
    gpus: int = 1
    arrival: int = 0
    work: int = 1_000_000
    priority: int = 50


class ContentionPattern(NamedTuple):
    """A cluster, the jobs to run on it, and failure rates in percent."""

    nodes: Sequence[int]
    """GPUs of each node."""
    queues: Sequence[Queue]
    plans: Sequence[JobPlan]
    failure_percent: int = 0
    """Failed bindings, in percent."""
    rejection_percent: int = 0
    """Rejected evictions, in percent."""
    patience: int = 4
    """Most cycles a pod takes to terminate, and most cycles a pod is held back after a failed binding."""


Family = Callable[[int, int], ContentionPattern]
"""A function of a seed and a number of cycles."""


def alternating_demand(seed: int, cycles: int, failing: int = 0, refusing: int = 0) -> ContentionPattern:
    """Short jobs come and go, so two queues alternate between above and below their fair share.

    A short job reclaims from `wide`. `wide` is below its fair share then, and the gang, which is above its
    own, is evicted. When the short job ends, the gang is entitled to reclaim that capacity.
    """
    draw = random.Random(f"swinging {seed}")
    gpus = draw.choice((1, 2, 2, 4))
    plans = [
        JobPlan("gang", "a", 4 // gpus, 4 // gpus, gpus),
        JobPlan("wide", "b", draw.choice((5, 6, 8)), 1),
    ]
    plans += _visitors(draw, cycles, "c", largest=2)
    queues = [_queue("a", 2, 1), _queue("b", 0, 2), _queue("c", 2, draw.choice((1, 2)))]
    nodes = draw.choice(([2, 4, 2], [4, 4], [8]))
    return ContentionPattern(nodes, queues, plans, failing, refusing)


def uneven_order(seed: int, cycles: int) -> ContentionPattern:
    """Equal queues. Capacity freed for a short job goes to the first queue, which is often the victim's."""
    draw = random.Random(f"outrun {seed}")
    gpus = draw.choice((1, 2))
    first, second = draw.sample("ab", 2)
    plans = [
        JobPlan("gang", first, 4 // gpus, 4 // gpus, gpus),
        JobPlan("wide", second, 8, draw.choice((1, 2))),
    ]
    plans += _visitors(draw, cycles, "c", largest=3)
    return ContentionPattern(
        draw.choice(([2, 4, 2], [4, 4], [8])), [_queue(name, 0, 1) for name in "abc"], plans
    )


def mixed(seed: int, cycles: int) -> ContentionPattern:
    """Departments, priorities, gangs and elastic jobs that need more capacity than there is."""
    draw = random.Random(f"mixed {seed}")
    nodes = [draw.choice((2, 4)) for _ in range(draw.randint(2, 3))]
    queues = [_queue(top, draw.choice((0, 2, 4)), draw.choice((1, 2))) for top in ("dept-x", "dept-y")]
    for leaf, top in zip("abcd", ("dept-x", "dept-y") * 2, strict=True):
        queues.append(_queue(leaf, draw.choice((0, 1, 2)), draw.choice((1, 1, 2)), top))
    plans = []
    for arrival in range(0, cycles, 12):
        pods, gpus = draw.choice((1, 2, 2, 3, 4)), draw.choice((1, 1, 1, 2))
        minimum = draw.choice((1, pods))
        work, priority = draw.randint(10, 100), draw.choice((50, 60, 70))
        plans.append(
            JobPlan(f"job{arrival}", draw.choice("abcd"), pods, minimum, gpus, arrival, work, priority)
        )
    return ContentionPattern(nodes, queues, plans, failure_percent=10, rejection_percent=10)


FAMILIES: Final[Mapping[str, Family]] = {
    "swinging": alternating_demand,
    "outrun": uneven_order,
    "bindings fail": partial(alternating_demand, failing=50),
    "evictions refused": partial(alternating_demand, refusing=50),
    "mixed": mixed,
}


def _visitors(draw: random.Random, cycles: int, queue: str, largest: int) -> Iterator[JobPlan]:
    """Short gangs, one after the other."""
    arrival = draw.randint(5, 15)
    while arrival < cycles:
        pods, work = draw.randint(1, largest), draw.randint(3, 10)
        yield JobPlan(f"visitor{arrival}", queue, pods, pods, arrival=arrival, work=work)
        arrival += work + draw.randint(4, 12)


def _queue(name: str, quota: int, weight: int, parent: str = "") -> Queue:
    queue = Queue(name=name, parent=parent)
    queue.gpu_milli.quota, queue.gpu_milli.over_quota_weight = quota * 1000, weight
    return queue

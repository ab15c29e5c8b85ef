"""Clusters in which pod groups get into each other's way: what is simulated, family by family."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from tenure.v1.snapshot_pb2 import Queue


class JobPlan(NamedTuple):
    """A job to come: from which cycle on, what it asks for, and how many cycles it has to run."""

    name: str
    queue: str
    pods: int
    minimum: int
    gpus: int = 1
    arrival: int = 0
    work: int = 1_000_000
    priority: int = 50


class ContentionPattern(NamedTuple):
    """A cluster, what is to run there, and how often something goes wrong, in percent."""

    nodes: Sequence[int]
    """GPUs of each node."""
    queues: Sequence[Queue]
    plans: Sequence[JobPlan]
    failure_percent: int = 0
    """Bindings."""
    rejection_percent: int = 0
    """Evictions."""
    patience: int = 4
    """Most cycles for which a pod terminates, and for which it is held back when its binding failed."""


Family = Callable[[int, int], ContentionPattern]
"""From a seed and a number of cycles."""


def alternating_demand(seed: int, cycles: int, failing: int = 0, refusing: int = 0) -> ContentionPattern:
    """Visitors come and go, and with them two queues are above or below their fair share in turn.

    A visitor takes from `wide`; that is below its share then, and the gang, which is above its own, yields.
    Once the visitor is gone the gang is entitled to take that back.
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
    """Equal queues: what is taken for a visitor goes to the queue that comes first, often to the victim."""
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
    """Departments, priorities, gangs and elastic jobs, more of them than there is room for."""
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

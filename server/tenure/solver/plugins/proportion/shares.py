"""Fair shares of the queue tree, and values derived from them (semantics R4.1-R4.27)."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, WHOLE_GPU, Share, mig_gpu_milli
from tenure.solver.plugins.proportion.fair_share import ShareRequest, divide
from tenure.solver.plugins.proportion.usage_history import Parts

UNITS: Final = (1, 1, WHOLE_GPU)
"""Native units of CPU, memory and GPU: fair shares are divided in whole ones (semantics R4.15)."""


def cluster_total(cluster: Cluster) -> Share:
    """Allocatable amounts of the ready nodes (semantics R4.1)."""
    cpu = memory = gpu = 0
    slots = [(slot, mig_gpu_milli(name)) for slot, name in enumerate(cluster.resource_names)]
    slices = [(slot, milli) for slot, milli in slots if milli]
    for node in cluster.nodes:
        if not node.unready:
            offered = node.allocatable
            cpu += offered[CPU]
            memory += offered[MEMORY]
            gpu += offered[GPU]
            for slot, milli in slices:
                gpu += offered[slot] * milli
    return (cpu, memory, gpu)


def fair_shares(
    queues: Sequence[Queue],
    total: Share,
    request: Sequence[Share],
    k: float,
    past: Sequence[Parts] | None = None,
) -> list[Share]:
    """Fair share of every queue: siblings divide the share of their parent, top-level queues the total.

    `past` has the past use of every queue; None: no queue has any.
    """
    shares: list[Share] = [(0, 0, 0)] * len(queues)
    undivided = [([queue for queue in queues if queue.parent is None], total)]
    while undivided:
        siblings, amount = undivided.pop()
        cpu = _divide_one(siblings, amount[CPU], request, CPU, k, past)
        memory = _divide_one(siblings, amount[MEMORY], request, MEMORY, k, past)
        gpu = _divide_one(siblings, amount[GPU], request, GPU, k, past)
        for place, queue in enumerate(siblings):
            share = (cpu[place], memory[place], gpu[place])
            shares[queue.index] = share
            if queue.children:
                undivided.append(([queues[child] for child in queue.children], share))
    return shares


def _divide_one(
    siblings: Sequence[Queue],
    amount: int,
    request: Sequence[Share],
    resource: int,
    k: float,
    past: Sequence[Parts] | None,
) -> list[int]:
    unit: int = UNITS[resource]
    claims = [
        ShareRequest(
            (queue.rank,),
            queue.facts.priority,
            _native(queue.facts.quota[resource], unit),
            _native(queue.facts.limit[resource], unit),
            queue.facts.weight[resource],
            request[queue.index][resource] / unit,
            0.0 if past is None else past[queue.index][resource],
        )
        for queue in siblings
    ]
    divide(amount / unit, claims, k)
    return [round(claim.fair_share * unit) for claim in claims]


def _native(value: int, unit: int) -> float:
    return float(value) if value == UNLIMITED else value / unit


def allocatable_share(quota: int, limit: int, fair_share: int) -> int:
    """The most that a queue can expect; -1 without a bound (semantics R4.25)."""
    if quota == UNLIMITED:
        return limit
    share = max(quota, fair_share)
    return share if limit == UNLIMITED else min(share, limit)


def bounding_share(allocatable: Share, total: Share) -> Share:
    """Bound of the usage of a queue: its allocatable share, or the cluster without a bound."""
    cpu = total[CPU] if allocatable[CPU] == UNLIMITED else allocatable[CPU]
    memory = total[MEMORY] if allocatable[MEMORY] == UNLIMITED else allocatable[MEMORY]
    return (cpu, memory, total[GPU] if allocatable[GPU] == UNLIMITED else allocatable[GPU])


def dominant_share(allocated: Share, bounds: Share) -> float:
    """The largest used part of a share over all resources (semantics R4.26)."""
    cpu = _part(allocated[CPU], bounds[CPU], 1)
    memory = _part(allocated[MEMORY], bounds[MEMORY], 1)
    gpu = _part(allocated[GPU], bounds[GPU], WHOLE_GPU)
    largest = cpu if cpu > memory else memory
    largest = gpu if gpu > largest else largest
    return largest if largest > 0.0 else 0.0


def _part(amount: int, bound: int, unit: int) -> float:
    """Amount relative to the bound; for a bound of 0, a thousand times the amount in native units."""
    return amount / bound if bound else amount / unit * 1000


def is_within(amount: Share, bound: Share) -> bool:
    """Whether an amount is at most a bound in every resource; -1 is no bound (semantics R1.12)."""
    return (
        (amount[CPU] <= bound[CPU] or bound[CPU] == UNLIMITED)
        and (amount[MEMORY] <= bound[MEMORY] or bound[MEMORY] == UNLIMITED)
        and (amount[GPU] <= bound[GPU] or bound[GPU] == UNLIMITED)
    )


def number(text: str) -> float:
    """A finite number; ValueError otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise ValueError(f"{text!r} is not a number; write it like 1 or 0.5")
    return value


def switch(text: str) -> bool:
    """Whether something is on: `true` or `false`, in any case. ValueError otherwise."""
    value = {"true": True, "false": False}.get(text.lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value

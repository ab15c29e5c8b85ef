"""In which zones of a node a request goes, as the kubelet's Topology Manager would have it (R9.40)."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations

from tenure.solver.model.numa import NumaPolicy, Zones, ZoneShare
from tenure.solver.model.resources import CPU, GPU, MEMORY, PODS, WHOLE_GPU, Amounts, Vector
from tenure.solver.model.workload import TaskShape

WHOLE_CORE = 1000
"""Milli-cores; only whole cores are tied to a zone."""

Vectors = Sequence[Sequence[int]]
"""One vector of amounts per zone."""


def aligned_request(shape: TaskShape, names: Sequence[str]) -> Amounts:
    """What of a request is tied to zones: devices always; CPU, memory and huge pages of guaranteed pods."""
    devices = 0 if shape.gpu.is_shared else shape.gpu.devices * WHOLE_GPU
    amounts = {GPU: devices}
    for slot in range(PODS + 1, len(names)):
        if shape.is_guaranteed or not names[slot].startswith("hugepages-"):
            amounts[slot] = shape.request[slot]
    if shape.is_guaranteed:
        cpu = shape.request[CPU]
        amounts[CPU] = cpu if cpu % WHOLE_CORE == 0 else 0
        amounts[MEMORY] = shape.request[MEMORY]
    return tuple(sorted((slot, amount) for slot, amount in amounts.items() if amount))


def choose_zones(
    policy: NumaPolicy, allocatable: Sequence[Vector], free: Vectors, request: Amounts
) -> tuple[int, ...] | None:
    """The fewest zones that hold the request together, the lowest first; None when the policy allows none."""
    if not request:
        return ()
    for width in _widths(policy, allocatable, request):
        for zones in combinations(range(len(free)), width):
            if all(sum(free[zone][slot] for zone in zones) >= amount for slot, amount in request):
                return zones
    return None


def split(zones: Iterable[int], free: Vectors, request: Amounts) -> Zones:
    """How much of the request each zone gives: what it has, the lowest zone first."""
    missing = dict(request)
    shares = []
    for zone in zones:
        taken = {slot: max(0, min(amount, free[zone][slot])) for slot, amount in missing.items()}
        for slot, amount in taken.items():
            missing[slot] -= amount
        amounts = tuple((slot, amount) for slot, amount in taken.items() if amount)
        if amounts:
            shares.append(ZoneShare(zone, amounts))
    return tuple(shares)


def _widths(policy: NumaPolicy, allocatable: Sequence[Vector], request: Amounts) -> Sequence[int]:
    """Numbers of zones that the policy lets the request have.

    Restricted: as many as the request would need on an empty node, and only if all resources agree on it.
    """
    if policy is NumaPolicy.SINGLE_NUMA_NODE:
        return (1,)
    if policy is NumaPolicy.BEST_EFFORT:
        return range(1, len(allocatable) + 1)
    widths = {_least_width(sorted(v[slot] for v in allocatable), amount) for slot, amount in request}
    return tuple(widths) if len(widths) == 1 else ()


def _least_width(amounts: Sequence[int], needed: int) -> int:
    """How many of the largest zones it takes; one more than there are when all do not suffice."""
    sums = accumulate(reversed(amounts))
    return 1 + sum(total < needed for total in sums)

"""NUMA zones: parts of a node whose CPUs, memory and devices are close to each other (semantics R9.40)."""

from enum import IntEnum
from typing import NamedTuple

from tenure.solver.model.resources import Amounts, Vector


class NumaPolicy(IntEnum):
    """How strictly a node keeps a pod within zones; numbers are those of the wire contract."""

    NONE = 0
    BEST_EFFORT = 1
    RESTRICTED = 2
    SINGLE_NUMA_NODE = 3


class NumaZone(NamedTuple):
    """One zone. `available` None: what is allocatable less what tasks are known to take."""

    id: str
    allocatable: Vector
    available: Vector | None = None


class ZoneShare(NamedTuple):
    """What a task takes in one zone of its node, by the zone's position."""

    zone: int
    amounts: Amounts


Zones = tuple[ZoneShare, ...]
"""The zones of a task, the lowest first; empty when it is not aligned or nothing is known."""

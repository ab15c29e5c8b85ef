"""A full cluster whose pod groups have every mode of preemptibility, in every mixture with their priority."""

from itertools import cycle
from typing import Any, Final, NamedTuple

from tests.requirements.cluster import ClusterText

GPUS: Final = 8
"""GPUs of a node."""
_TEAMS: Final = 4


class Mode(NamedTuple):
    """Preemptibility and priority of a pod group, its pods and its minimum."""

    mode: str
    priority: int
    pods: int = 1
    minimum: int = 1


MODES: Final = (
    Mode("PREEMPTIBLE", 50),
    Mode("NON_PREEMPTIBLE", 50),
    Mode("UNSPECIFIED", 50),
    Mode("SEMI_PREEMPTIBLE", 50, pods=4, minimum=2),
    Mode("PREEMPTIBLE", 125, pods=2, minimum=2),
    Mode("UNSPECIFIED", 125),
    Mode("PREEMPTIBLE", 75, pods=3, minimum=1),
    Mode("NON_PREEMPTIBLE", 125),
    Mode("UNSPECIFIED", 99, pods=2, minimum=2),
)
"""Explicit and legacy, above and below the priority of the legacy rule, gangs and elastic ones."""


def full_cluster(nodes: int, *, mode: str = "") -> ClusterText:
    """Pods of one GPU fill the nodes. `mode` replaces every mode.

    Four teams use the cluster, and two of them are beyond their quota.
    """
    cluster = ClusterText()
    total = nodes * GPUS
    cluster.queue("org", quota=total)
    for team in range(_TEAMS):
        cluster.queue(f"team-{team}", "org", quota=total * (2 if team < 2 else 6) // 16)
    places = [f"n{number}" for number in range(nodes) for _ in range(GPUS)]
    for name in dict.fromkeys(places):
        cluster.node(name, gpus=GPUS)
    for number, kind in enumerate(cycle(MODES)):
        if len(places) < kind.pods:
            return cluster
        options: dict[str, Any] = {
            "priority": kind.priority,
            "mode": mode or kind.mode,
            "minimum": kind.minimum,
        }
        name, queue = f"job-{number}", f"team-{number % _TEAMS}"
        cluster.runs(name, queue, node=places.pop(0), **options)
        for _ in range(kind.pods - 1):
            cluster.pods(name, "RUNNING", node=places.pop(0))
    raise AssertionError("the cycle of modes ends only when the nodes are full")


def add_waiting(cluster: ClusterText, count: int, prefix: str, *, mode: str = "") -> ClusterText:
    """Pending pod groups of all teams and modes, some of higher priority than all that run."""
    for number, kind in zip(range(count), cycle(MODES), strict=False):
        options: dict[str, Any] = {"mode": mode or kind.mode, "pods": kind.pods, "minimum": kind.minimum}
        priority = kind.priority if number % 2 else 200
        cluster.waits(f"{prefix}-{number}", f"team-{number % _TEAMS}", priority=priority, **options)
    return cluster

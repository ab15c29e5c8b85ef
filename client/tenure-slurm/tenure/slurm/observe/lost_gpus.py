"""GPUs that Slurm counts as used though no job has them.

A job that a restarted slurmctld starts before the slurmd of its node has reported leaves them behind when it
ends. Slurm starts no job on them until its configuration is read again; draining or restarting the node does
not help. So they are left out of the node, and the log says so.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tenure.slurm.observe.rows import NodeRow
from tenure.slurm.observe.tres import node_gpus

LOST_SECONDS: Final = 10
"""How long a node counts more GPUs than its jobs have: a listing of nodes may be older than one of jobs."""
_TEXT: Final = (
    "node %s: Slurm counts %d GPUs as used that no job has, and starts no job on them until an administrator "
    "runs `scontrol reconfigure`"
)
_LOG: Final = logging.getLogger(__name__)


class _Excess(NamedTuple):
    """GPUs of a node that its jobs do not have."""

    since: int
    """In seconds since 1970."""
    gpus: int
    """The least number since then."""


class LostGpus:
    """Compares the use of nodes with the GPUs of jobs, from one pass to the next."""

    def __init__(self) -> None:
        self._excess: dict[str, _Excess] = {}
        self._reported: dict[str, int] = {}

    def count(self, nodes: Iterable[NodeRow], held: Mapping[str, int], now: int) -> dict[str, int]:
        """Lost GPUs by node. `held` are those of the listed jobs, `now` is in seconds since 1970."""
        known, self._excess = self._excess, {}
        for node in nodes:
            gpus = node_gpus(node.gres_used).devices - held.get(node.name, 0) if node.gres_used else 0
            if gpus > 0:
                before = known.get(node.name, _Excess(now, gpus))
                self._excess[node.name] = _Excess(before.since, min(gpus, before.gpus))
        lost = {name: one.gpus for name, one in self._excess.items() if now >= one.since + LOST_SECONDS}
        for name, gpus in lost.items():
            if self._reported.get(name) != gpus:
                _LOG.warning(_TEXT, name, gpus)
        self._reported = lost
        return lost

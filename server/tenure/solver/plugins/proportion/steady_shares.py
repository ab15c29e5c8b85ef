"""Steady fair shares: what queues could expect of the GPUs if all of them wanted the cluster (R4.74-R4.77).

Fair shares are capped by demand. While GPUs are free that no pending pod can use, every queue has all that it
wants, and none is above its share. Steady shares do not depend on that.
"""

from collections.abc import Sequence
from typing import Final, final

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import GPU, UNLIMITED, Share
from tenure.solver.plugins.proportion.shares import allocatable_share, fair_shares
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.plugins.proportion.usage_history import Parts


@final
class SteadyShares:
    """Amounts of GPUs by queue, in thousandths, and which queue may take from which other one by them."""

    def __init__(
        self,
        queues: Sequence[Queue],
        total: Share,
        usage: Usage,
        k: float,
        past: Sequence[Parts] | None,
        multiplier: float,
    ) -> None:
        """`multiplier`: as for fair shares (semantics R4.55)."""
        self._usage = usage
        self._multiplier = multiplier
        request = _wanting_all(queues, total, usage.request)
        self._share: Final = [share[GPU] for share in fair_shares(queues, total, request, k, past)]
        self.keeps: Final = [
            allocatable_share(queue.facts.quota[GPU], queue.facts.limit[GPU], self._share[queue.index])
            for queue in queues
        ]
        """What each queue keeps: the larger one of quota and steady share, within its limit; -1: all."""

    def is_owed(self, queue: int, demand: Share) -> bool:
        """Whether a leveled queue may reclaim by it: it asks for GPUs, and has less than it keeps."""
        used, keeps = self._usage.at_search_start(queue)[GPU], self.keeps[queue]
        return demand[GPU] > 0 and (keeps == UNLIMITED or used < keeps)

    def above(self, queue: int) -> int:
        """GPUs of a leveled queue beyond what it keeps when the search began, in thousandths."""
        keeps = self.keeps[queue]
        return 0 if keeps == UNLIMITED else max(self._usage.at_search_start(queue)[GPU] - keeps, 0)

    def covers(self, queue: int, left: int, chunk: Share) -> bool:
        """Whether a leveled queue with so many GPUs left keeps enough without a chunk."""
        keeps = self.keeps[queue]
        return chunk[GPU] > 0 and keeps != UNLIMITED and left - chunk[GPU] >= keeps

    def is_saturated(self, reclaimer: int, used: int, sibling: int, left: int) -> bool:
        """Whether a queue would exceed its steady share, and be at least as saturated as one that loses."""
        own, other = self._share[reclaimer], self._share[sibling]
        return used > own and used * other * self._multiplier >= left * own


def _wanting_all(queues: Sequence[Queue], total: Share, request: Sequence[Share]) -> list[Share]:
    """Requests by queue, with leaf queues with a weight and a quota that want all GPUs."""
    wanted = list(request)
    for queue in queues:
        if queue.children or not queue.facts.weight[GPU] > 0 or queue.facts.quota[GPU] == UNLIMITED:
            continue
        for each in queue.path:
            cpu, memory, _ = wanted[each]
            wanted[each] = (cpu, memory, total[GPU])
    return wanted

"""The GPU that queues of equal claim cannot share: who has it is a rule, and part of the reason (R4.16).

Fair shares are whole GPUs. Siblings with equal priority, quota and weight may all request more than they
have. Then some of them have one GPU more than the others: the oldest, then the first by name.
"""

from collections.abc import Sequence
from typing import final

from tenure.solver.framework.session import Session
from tenure.solver.model.queue import Queue, QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU, UNLIMITED, WHOLE_GPU

_Claim = tuple[int | None, int, int, float]
"""Parent, priority, quota and weight of a queue."""


@final
class OddGpus:
    """Which queues have a GPU more than others of equal claim. Found once, when it is needed."""

    def __init__(self, session: Session, status: Sequence[QueueStatus]) -> None:
        """`status` has the fair share and the usage of every queue."""
        self._session = session
        self._queues = session.cluster.queues
        self._status = status
        self._first: dict[tuple[_Claim, int], Queue] = {}
        """The first queue by age and name of equal claim and fair share."""

    def add_to(self, rejection: Rejection, pod_group: int, tasks: Sequence[int]) -> Rejection:
        """The rejection of a pod group by fair shares; with the rule, if one GPU more would suffice."""
        leaf = self._session.cluster.pod_groups[pod_group].queue
        if leaf is None or not self._status:
            return rejection
        used, share = self._status[leaf].allocated_after[GPU], self._status[leaf].fair_share[GPU]
        if not 0 < used + self._session.ledger.demand(tasks)[GPU] - share <= WHOLE_GPU:
            return rejection
        for queue in self._queues[leaf].path:
            first = self._earlier(self._queues[queue])
            if first is not None:
                is_older = first.facts.creation < self._queues[queue].facts.creation
                why = "was created earlier" if is_older else "comes first by name"
                rule = f"the GPU that queues of equal claim cannot share goes to another one, which {why}"
                return rejection._replace(detail=f"{rejection.detail.rstrip('.')}; {rule}")
        return rejection

    def _earlier(self, queue: Queue) -> Queue | None:
        """A sibling that has one GPU more than this queue by its creation time or name alone, if any."""
        share = self._status[queue.index].fair_share[GPU]
        if queue.facts.limit[GPU] != UNLIMITED and queue.facts.limit[GPU] <= share:
            return None
        if not self._first:
            for each in sorted(self._queues, key=lambda each: each.rank):
                self._first.setdefault((_claim(each), self._status[each.index].fair_share[GPU]), each)
        first = self._first.get((_claim(queue), share + WHOLE_GPU))
        return first if first is not None and first.rank < queue.rank else None


def _claim(queue: Queue) -> _Claim:
    return (queue.parent, queue.facts.priority, queue.facts.quota[GPU], queue.facts.weight[GPU])

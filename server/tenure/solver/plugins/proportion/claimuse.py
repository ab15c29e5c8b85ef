"""GPUs of device claims that several tasks use: they count once, however many tasks use them (R9.41)."""

from collections.abc import Iterator
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import Task


class Charge(NamedTuple):
    """An amount of GPUs that a queue uses from now on (negative: no longer uses)."""

    queue: int
    gpu_milli: int
    firm: bool
    """Whether it is the part that cannot be taken back, instead of the whole."""


class ClaimUse:
    """Counts who uses which claim. A claim is charged to one queue: the one it is labelled with.

    What the charges are depends on who uses the claim now, not on the order in which they came.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._claims = cluster.claims
        self._groups = cluster.pod_groups
        self._users = ([0] * len(cluster.claims), [0] * len(cluster.claims))
        """By claim: all tasks that use it, and those among them that cannot be taken back."""
        self._requested: set[int] = set()
        self._queues: list[int | None] = [None] * len(cluster.claims)
        leaves = {queue.name: queue.index for queue in cluster.queues if queue.is_leaf}
        for task in reversed(cluster.tasks) if cluster.claims else ():
            for claim in task.shape.shared_claims:
                mine = cluster.pod_groups[task.pod_group].queue
                self._queues[claim] = leaves.get(cluster.claims[claim].queue_name, mine)

    def change(self, task: Task, sign: int) -> Iterator[Charge]:
        """The task begins to use its claims (sign 1) or ends to (sign -1)."""
        yield from self._change(task, sign, firm=False)
        if self._groups[task.pod_group].is_firm:
            yield from self._change(task, sign, firm=True)

    def change_firmly(self, task: Task, sign: int) -> Iterator[Charge]:
        """The task, which uses its claims, enters the core of its pod group (sign -1: leaves it)."""
        return self._change(task, sign, firm=True)

    def _change(self, task: Task, sign: int, *, firm: bool) -> Iterator[Charge]:
        users = self._users[firm]
        for claim in task.shape.shared_claims:
            users[claim] += sign
            is_first_or_last = users[claim] == max(sign, 0)
            if is_first_or_last:
                yield from self._charge(claim, sign, firm)

    def request(self, task: Task) -> Iterator[Charge]:
        """What the task asks for through claims that no task asked for before."""
        for claim in task.shape.shared_claims:
            if claim not in self._requested:
                self._requested.add(claim)
                yield from self._charge(claim, 1, False)

    def _charge(self, claim: int, sign: int, firm: bool) -> Iterator[Charge]:
        """Claims whose devices are in use by others than tasks of the cluster cost their queue nothing."""
        queue, gpu_milli = self._queues[claim], self._claims[claim].gpu_milli
        if queue is not None and gpu_milli and self._claims[claim].node == NOWHERE:
            yield Charge(queue, sign * gpu_milli, firm)

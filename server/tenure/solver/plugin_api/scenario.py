"""A scenario: tasks to evict so that other tasks can be placed."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol


class Batch:
    """Tasks of one pod group that are taken together from the victim order (semantics R5.25)."""

    __slots__ = ("pod_group", "tasks")

    def __init__(self, pod_group: int, tasks: tuple[int, ...]) -> None:
        self.pod_group = pod_group
        self.tasks = tasks


Batches = tuple[Batch, ...]


class Scenario:
    """Victims for a preemptor. `recorded` were needed for fewer of its tasks, `potential` are new."""

    __slots__ = ("_victims", "by_pod_group", "pending", "potential", "preemptor", "recorded")

    def __init__(
        self,
        preemptor: int,
        pending: tuple[int, ...],
        recorded: tuple[Batch, ...],
        potential: tuple[Batch, ...],
        by_pod_group: bool = False,
    ) -> None:
        """`pending` are the tasks of the preemptor to place.

        With `by_pod_group` all batches of a pod group count as one: if it succeeds, either all or none of
        them are recorded (semantics R5.6).
        """
        self.preemptor = preemptor
        self.pending = pending
        self.recorded = recorded
        self.potential = potential
        self.by_pod_group = by_pod_group
        self._victims: dict[int, list[int]] | None = None

    def victims(self) -> dict[int, list[int]]:
        """Tasks to evict by pod group, in the order in which they were taken, each once; only to read."""
        if self._victims is None:
            self._victims = {}
            seen: dict[int, set[int]] = {}
            for batches in (self.recorded, self.potential):
                for batch in batches:
                    known = self._victims.get(batch.pod_group)
                    if known is None:
                        self._victims[batch.pod_group] = list(batch.tasks)
                    else:
                        taken = seen.get(batch.pod_group)
                        if taken is None:
                            taken = seen[batch.pod_group] = set(known)
                        fresh = [task for task in batch.tasks if task not in taken]
                        known.extend(fresh)
                        taken.update(fresh)
        return self._victims

    def fingerprint(self) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """What makes two scenarios of one preemptor the same (semantics R5.12)."""
        return (
            frozenset(self.pending),
            frozenset([task for batch in self.recorded for task in batch.tasks]),
            frozenset([task for batch in self.potential for task in batch.tasks]),
        )


NodeAfterEviction = tuple[int, int, int, int]
"""A node once accumulated tasks left it: its GPUs that are idle or releasing then, in thousandths; a number
that is the smaller the earlier the first of the tasks was accumulated; its index; the batches they are of.
"""


class ScenarioBuilder(Protocol):
    """Accumulates victims from the worst on; what generators draw from."""

    recorded: tuple[Batch, ...]
    potential: list[Batch]

    @property
    def skips_repeats(self) -> bool:
        """Whether generators may leave out scenarios they proposed before in this attempt."""

    def outer_scenarios(self) -> Iterator[None]:
        """Step through the accumulated scenarios that may work, the recorded-only one first.

        After each step `recorded` and `potential` hold the accumulated victims.
        """

    def scenario(self, potential: Sequence[Batch], by_pod_group: bool = False) -> Scenario:
        """The scenario of the recorded victims and these."""

    def potential_on(self, node: int) -> Sequence[Batch]:
        """All accumulated batches of the pod groups that have accumulated tasks on a node, by pod group."""

    def free_gpu_milli(self, node: int) -> int:
        """Idle and releasing GPUs of a node, and those of recorded victims there."""

    def gpu_milli_on(self, task: int) -> int:
        """GPUs that evicting the task frees on its node."""

    def nodes_after_eviction(self) -> Sequence[NodeAfterEviction]:
        """Every node with accumulated tasks, once they left."""

    def node_after_eviction(self, node: int) -> NodeAfterEviction:
        """A node once its accumulated tasks left."""

    def batches_on(self, nodes: Collection[int]) -> Sequence[Batch]:
        """Every accumulated batch that has a task on one of the nodes, in the order of accumulation."""

    def demands(self) -> list[int]:
        """GPU amounts of the pending tasks, largest first (semantics R1.8)."""

    def feasible_nodes(self) -> Iterator[int]:
        """Nodes with free or releasing capacity for the preemptor, including that of recorded victims."""

    def node_of(self, task: int) -> int:
        """The node of a task."""

    def nodes_of(self, pod_group: int) -> Sequence[int]:
        """Nodes that host any task of a pod group, by name."""

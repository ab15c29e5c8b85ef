"""The core of a pod group: the tasks that its minimum consists of. What goes beyond it is surplus.

Quotas and evictions need the same answer. The core of a semi-preemptible pod group counts as non-preemptible
use of its queue and its surplus does not (semantics R8.30, R8.32); a victim that keeps its minimum loses its
surplus and nothing of its core (R8.31). So what is core is said here, for both:

- Of a pod set: its first `min_available` tasks that hold room or a promise, in task order.
- Of a sub group: the cores of as many members as it requires, the first in sub group order of those whose
  own minimum is met. All of the others is surplus: members that are not required, and members that are
  below their minimum and so of no use to anybody.
- Of a pod group that is below its minimum as a whole: the first `min_available` tasks of every pod set,
  for any of them may be what it lacks.

The core depends on who holds room now and on nothing else, so undoing a move restores it. Whoever waits is
not in it. Tasks start in the same order, so those that run stay in the core when others join; only a task
that goes before them and starts late takes a place among them. A snapshot does not tell when pods started,
or they would be asked first (semantics R8.35).
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.order import Order
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import Counts, Member, PodGroup, PodSet

TasksByPodSet = Mapping[int, Sequence[int]]
"""Tasks by pod set, in task order."""


class Cores:
    """Finds cores, and what becomes of one when tasks are placed."""

    def __init__(
        self,
        pod_groups: PersistentVector[PodGroup],
        ledger: Ledger,
        order: Order,
        fair_share_actions: AbstractSet[str],
    ) -> None:
        """`fair_share_actions`: names of the actions by which other queues take resources back."""
        self._pod_groups = pod_groups
        self._ledger = ledger
        self._order = order
        self._fair_share_actions = fair_share_actions

    def current(self, pod_group: int) -> frozenset[int]:
        """The core as the ledger stands."""
        return self.among(pod_group, self._present_tasks(pod_group, frozenset(), frozenset()))

    def among(self, pod_group: int, tasks_by_pod_set: TasksByPodSet) -> frozenset[int]:
        """The core if these tasks, given for all pod sets of the pod group, were all that hold room."""
        group = self._pod_groups[pod_group]
        counts = {pod_set: len(tasks) for pod_set, tasks in tasks_by_pod_set.items()}
        if group.root.is_met(counts):
            return frozenset(self._minimum(group.root, tasks_by_pod_set, counts))
        return frozenset(
            task for s in group.pod_sets for task in tasks_by_pod_set[s.index][: s.min_available]
        )

    def shift(self, pod_group: int, tasks: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Who enters the core because these tasks hold room, and whose place they take there.

        Asked before they are placed or after, with the same answer.
        """
        asked, nobody = frozenset(tasks), frozenset[int]()
        without = self.among(pod_group, self._present_tasks(pod_group, nobody, asked))
        beside = self.among(pod_group, self._present_tasks(pod_group, asked, nobody))
        return beside - without, without - beside

    def has_firm_request(self, pod_group: int, tasks: Collection[int]) -> bool:
        """Whether any of these tasks must be within quota, for no other queue could take it back (R4.61)."""
        group = self._pod_groups[pod_group]
        if group.is_firm(self._fair_share_actions):
            return True
        return group.is_semi_preemptible and bool(self.shift(pod_group, tasks)[0])

    def _present_tasks(self, pod_group: int, also: frozenset[int], but: frozenset[int]) -> TasksByPodSet:
        """The tasks that hold room or a promise, and those of `also`, without those of `but`."""
        placements = self._ledger.placements

        def holds(task: int) -> bool:
            return task in also or (task not in but and placements[task].is_active_allocated)

        return {
            pod_set.index: self._order.tasks([task for task in pod_set.tasks if holds(task)])
            for pod_set in self._pod_groups[pod_group].pod_sets
        }

    def _minimum(self, member: Member, tasks_by_pod_set: TasksByPodSet, counts: Counts) -> list[int]:
        """The core of a member whose minimum is met."""
        if isinstance(member, PodSet):
            return list(tasks_by_pod_set[member.index][: member.min_available])
        met = [inner for inner in member.members if inner.is_met(counts)]
        cores = {inner.name: self._minimum(inner, tasks_by_pod_set, counts) for inner in met}
        spare = len(met) - member.required
        if spare > 0:
            kept = {task for core in cores.values() for task in core}
            left = {
                pod_set: sum(task in kept for task in tasks) for pod_set, tasks in tasks_by_pod_set.items()
            }
            running = [inner.name for inner in self._order.members(met, left) if cores[inner.name]]
            cores.update({name: [] for name in running[-spare:]})
        return [task for core in cores.values() for task in core]

"""What may be disrupted: what is left of every disruption budget, as the ledger of a session is now.

Evicting or moving a running task spends one of each of its budgets; putting it back, or undoing the move,
returns it (semantics R15.2, R15.4). A task that does not run yet spends nothing. A budget that is not in the
cluster allows nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, final

from tenure.solver.framework.budgeted_tasks import BudgetedTasks
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import SearchCounters
from tenure.solver.model.disruption_limits import DisruptionBudgetStatus
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.scenario import Batch
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode

MANY: Final = 2**31
"""More than any number of tasks."""
EVER: Final = 2**63 - 1
"""A time by which everything that ends has ended."""


@final
class Disruptions:
    """A move listener. Without tasks that name budgets it is not active, and permits everything."""

    def __init__(self, cluster: Cluster, budgeted: BudgetedTasks, active: Counts) -> None:
        """`active` are the numbers of active tasks by pod set, as they are at any time."""
        self.is_active = bool(budgeted.names)
        self.number = 0
        """Changes whenever the search begins or ends to ignore budgets."""
        self._cluster = cluster
        self._tasks = cluster.tasks
        self._budgeted = budgeted
        self._active = active
        self._budgets = {budget.name: budget for budget in cluster.disruption_budgets}
        self._left = {budget.name: budget.left for budget in cluster.disruption_budgets}
        self._overdrawn: set[str] = set()
        self._met: set[str] = set()
        """Budgets that kept a search from some victims."""
        self._time: int | None = None
        """Budgets that may allow more by this time are ignored, in nanoseconds."""
        self._ignores_all = False
        self._names: dict[int, tuple[str, ...]] = {}
        """Budgets of the tasks of a pod group, on demand."""

    @property
    def were_met(self) -> bool:
        """Whether budgets kept a search of this cycle from some victims."""
        return bool(self._met)

    @property
    def listeners(self) -> tuple["Disruptions", ...]:
        """Itself, if it is active."""
        return (self,) if self.is_active else ()

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Spend or return the budgets of the task."""
        runs = after.status is TaskStatus.RUNNING
        if runs is (before.status is TaskStatus.RUNNING):
            return
        for name in self._tasks[task].facts.disruption_budgets:
            left = self._left[name] = self._left.get(name, 0) + (1 if runs else -1)
            if left == -1 and not runs:
                self._overdrawn.add(name)
            elif left == 0 and runs:
                self._overdrawn.discard(name)

    def version(self, commits: int) -> tuple[int, int]:
        """While equal, the same tasks may be disrupted; `commits` is the number of commits."""
        return (commits, self.number) if self.is_active else (0, 0)

    def left(self, name: str) -> int:
        """How many more running tasks may be disrupted; below 0 if too many are."""
        return MANY if self._is_ignored(name) else self._left.get(name, 0)

    def holder(self, tasks: Iterable[int]) -> str:
        """The first budget that does not allow that all these tasks are disrupted; empty: there is none."""
        spent: dict[str, int] = {}
        for task in tasks:
            facts = self._tasks[task]
            if facts.placement.status is TaskStatus.RUNNING:
                for name in facts.facts.disruption_budgets:
                    spent[name] = spent.get(name, 0) + 1
        for name, number in spent.items():
            if number > self.left(name):
                return name
        return ""

    def allows(self, tasks: Iterable[int]) -> bool:
        """Whether all these tasks may be disrupted; if not, notes the budget."""
        name = self.holder(tasks)
        if name:
            self._met.add(name)
        return not name

    def key(self, pod_group: int) -> tuple[int, ...]:
        """While equal, the same tasks of a pod group may be disrupted."""
        names = self._names.get(pod_group)
        if names is None:
            found: dict[str, None] = {}
            for task in self._cluster.pod_groups[pod_group].tasks:
                found.update(dict.fromkeys(self._tasks[task].facts.disruption_budgets))
            names = self._names[pod_group] = tuple(found)
        return tuple([self.left(name) for name in names])

    def rejection(self) -> Rejection | None:
        """Why what is disrupted now must not be."""
        if not self._overdrawn:
            return None
        return self.rejection_by([name for name in sorted(self._overdrawn) if not self._is_ignored(name)])

    def rejection_by(self, names: Sequence[str], shown: Sequence[str] = ()) -> Rejection | None:
        """The rejection by these budgets, some of which the reader may see by name; None: there are none.

        It ends if all of them may allow more by then.
        """
        if not names:
            return None
        self._met.update(names)
        ends = [self._next_allowed(name) for name in names]
        until = max([end or 0 for end in ends]) if None not in ends else None
        if shown:
            rest = len(names) - 1
            what = f"disruption budget {shown[0]}" + (f" and {rest} more" if rest else "")
        else:
            what = format_count(len(names), "disruption budget") + " of other pod groups"
        detail = f"{what} would be exceeded"
        return Rejection(ReasonCode.DISRUPTION_BUDGET, detail, until, "search")

    def trim(
        self,
        recorded: tuple[Batch, ...],
        potential: tuple[Batch, ...],
        nodes: Collection[int],
        counters: SearchCounters,
    ) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
        """Recorded and other victims that all budgets allow together (semantics R15.5).

        Those with tasks on these nodes are taken first, then the others in order. No pod group that has its
        minimum is left with less than that, unless with nothing.
        """
        batches = (*recorded, *potential)
        if not self.is_active or self.allows({task: None for batch in batches for task in batch.tasks}):
            return recorded, potential
        counters.trimmed += 1
        kept = self._kept(batches, nodes)
        return (
            tuple([batch for number, batch in enumerate(recorded) if number in kept]),
            tuple([batch for number, batch in enumerate(potential, len(recorded)) if number in kept]),
        )

    def _kept(self, batches: Sequence[Batch], nodes: Collection[int]) -> set[int]:
        """Numbers of the batches that stay in a trimmed scenario."""
        is_elsewhere = [not any(self._tasks[t].placement.node in nodes for t in b.tasks) for b in batches]
        kept, spent, seen = set[int](), Counter[str](), set[int]()
        for number in sorted(range(len(batches)), key=is_elsewhere.__getitem__):
            tasks = [task for task in batches[number].tasks if task not in seen]
            need = Counter([name for task in tasks for name in self._spends(task)])
            if all(spent[name] + count <= self.left(name) for name, count in need.items()):
                spent.update(need)
                kept.add(number)
                seen.update(tasks)
        for pod_group in {batch.pod_group for number, batch in enumerate(batches) if number not in kept}:
            self._keep_minimum(pod_group, batches, kept)
        return kept

    def _keep_minimum(self, pod_group: int, batches: Sequence[Batch], kept: set[int]) -> None:
        """Drop the last batches of a pod group of which some are left out, until it keeps its minimum."""
        group = self._cluster.pod_groups[pod_group]
        mine = [number for number in sorted(kept) if batches[number].pod_group == pod_group]
        while mine and group.is_cut(self._active, self._counts(batches, mine)):
            kept.discard(mine.pop())

    def _counts(self, batches: Sequence[Batch], numbers: Iterable[int]) -> Counter[int]:
        """Tasks of these batches by pod set."""
        tasks = {task for number in numbers for task in batches[number].tasks}
        pod_sets = [self._tasks[task].pod_set for task in tasks]
        return Counter([pod_set for pod_set in pod_sets if pod_set is not None])

    def _spends(self, task: int) -> tuple[str, ...]:
        facts = self._tasks[task]
        return facts.facts.disruption_budgets if facts.placement.status is TaskStatus.RUNNING else ()

    def ignore(self, time: int | None) -> int | None:
        """Ignore the budgets that may allow more by a time (None: none of them); return the time before."""
        before, self._time = self._time, time
        self.number += time != before
        return before

    def ignore_all(self, is_on: bool) -> None:
        """Ignore all budgets, or no longer."""
        self._ignores_all = is_on
        self.number += 1

    def overdrawn(self) -> list[str]:
        """Budgets that are exceeded now, ignored ones included, by name."""
        return sorted(self._overdrawn)

    def endings(self) -> dict[int, Rejection]:
        """Budgets that kept a search from some victims and may allow more by a time, by that time."""
        found: dict[int, Rejection] = {}
        for name in sorted(self._met):
            end, rejection = self._next_allowed(name), self.rejection_by([name])
            if end is not None and rejection is not None:
                found.setdefault(end, rejection)
        return found

    def wake_times(self) -> list[int]:
        """When such budgets may allow more."""
        ends = [self._next_allowed(name) for name in self._met]
        return [end for end in ends if end is not None]

    def unknown_budgets(self) -> list[str]:
        """Budgets that tasks name and that are not in the cluster, by name."""
        return sorted([name for name in self._budgeted.counts if name not in self._budgets])

    def pod_groups_with(self, names: Collection[str]) -> tuple[int, ...]:
        """Pod groups with tasks that name one of these budgets."""
        tasks = [task for task, own in self._budgeted.names.items() if not set(own).isdisjoint(names)]
        return tuple(sorted({self._tasks[task].pod_group for task in tasks}))

    def status(self) -> tuple[DisruptionBudgetStatus, ...]:
        """Budgets that are spent from, and those that kept a search from some victims, by name."""
        found = []
        for budget in self._cluster.disruption_budgets:
            left = self._left[budget.name]
            if left != budget.allowed or budget.name in self._met:
                spent = budget.left - left
                found.append(
                    DisruptionBudgetStatus(budget.name, budget.allowed, budget.in_flight, spent, max(left, 0))
                )
        return tuple(found)

    def _is_ignored(self, name: str) -> bool:
        if self._ignores_all:
            return True
        if self._time is None:
            return False
        end = self._next_allowed(name)
        return end is not None and end <= self._time

    def _next_allowed(self, name: str) -> int | None:
        budget = self._budgets.get(name)
        end = None if budget is None else budget.next_allowed
        return end if end is not None and end > self._cluster.now else None


@contextmanager
def ignoring(disruptions: Disruptions, time: int | None) -> Iterator[None]:
    """Ignore the budgets that may allow more by a time; None: none of them."""
    before = disruptions.ignore(time)
    try:
        yield
    finally:
        disruptions.ignore(before)


@contextmanager
def ignoring_all(disruptions: Disruptions) -> Iterator[None]:
    """Ignore all budgets."""
    disruptions.ignore_all(True)
    try:
        yield
    finally:
        disruptions.ignore_all(False)

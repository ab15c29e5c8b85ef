"""What may be disrupted: what is left of every disruption budget, as the ledger of a session is now.

Evicting or moving a running task spends one of each of its budgets; putting it back, or undoing the move,
returns it (semantics R15.2, R15.4). A task that does not run yet spends nothing. A budget that is not in the
cluster allows nothing.

Against a pod group that waits for what it is due, budgets hold for the option `budgetPatience` only: what is
in the way of others is bounded in time (R15.13).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, final

from tenure.solver.framework.budgeted_tasks import BudgetedTasks
from tenure.solver.framework.commit import Commit
from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.moved_gpus import MovedGpus
from tenure.solver.framework.pacing import Cap, Disruption, Pacing, displaced
from tenure.solver.framework.trimming import choose_batches
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import SearchCounters
from tenure.solver.model.disruption_limits import DisruptionBudgetStatus
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Batches, Scenario
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode

MANY: Final = 2**31
"""More than any number of tasks."""
EVER: Final = 2**63 - 1
"""A time by which everything that ends has ended."""


@final
class Disruptions:
    """A move listener. While each budget allows as much as it has pods, it is not active: permits all."""

    def __init__(
        self,
        cluster: Cluster,
        budgeted: BudgetedTasks,
        ledger: Ledger,
        options: CycleOptions,
        commits: Sequence[Commit],
        counters: SearchCounters,
    ) -> None:
        """`commits` and `counters` are those of a session, as they are at any time."""
        self._commits, self._counters = commits, counters
        self.pacing = Pacing(cluster, options)
        self.moved_gpus = MovedGpus(cluster, ledger, options)
        self.number = 0
        """Changes whenever the search begins or ends to ignore budgets."""
        self._cluster, self._tasks, self._budgeted = cluster, cluster.tasks, budgeted
        self._active, self._placements = ledger.active_allocated, ledger.placements
        self._budgets = {budget.name: budget for budget in cluster.disruption_budgets}
        self._left = {name: self._budgets[name].left for name in budgeted.counts if name in self._budgets}
        again = options.allow_same_cycle_eviction  # then a pod may count twice
        self.is_active = any(again or n > self._left.get(name, 0) for name, n in budgeted.counts.items())
        self._overdrawn: set[str] = set()
        self._met: set[str] = set()
        """Budgets that kept a search from some victims."""
        self._patience = options.budget_patience
        self._held_until: int | None = None
        """Until when budgets hold against the current search; None: always."""
        self._is_overridden = False
        """Whether they hold no longer, and it found nothing without overriding them."""
        self._patience_ends: set[int] = set()
        """Such times in the future, of all pod groups that were considered."""
        self._time: int | None = None
        """Budgets that may allow more by this time are ignored, in nanoseconds."""
        self._ignores_all = False
        self._names: dict[int, tuple[str, ...]] = {}
        """Budgets of the tasks of a pod group, on demand."""

    @property
    def were_met(self) -> bool:
        """Whether budgets or rates kept a search of this cycle from some victims."""
        return bool(self._met) or self.pacing.was_met or self.moved_gpus.was_met

    @property
    def listeners(self) -> tuple["Disruptions", ...]:
        """Itself, if it is active: else nothing asks what is left."""
        return (self,) if self.is_active else ()

    def begin(self, action: Action, beneficiary: int) -> None:
        """Begin a search of an action for a pod group, or to end a pod group. Budgets hold at first.

        All that asks for budgets begins: what one search overrides holds for the next.
        """
        if self._patience < 0 or not self.is_active:
            return
        end = self.held_until(action, beneficiary)
        if self._is_overridden or end != self._held_until:
            self.number += 1
        self._held_until, self._is_overridden = end, False

    def override(self) -> bool:
        """Override budgets for the rest of the search, if they hold no longer; return whether that helps."""
        end = self._held_until
        if end is None or end > self._cluster.now or self._is_overridden:
            return False
        self._is_overridden = True
        self.number += 1
        return bool(self._met)

    def hold_for_a_time(self, action: Action) -> bool:
        """Whether budgets hold for a time only against pod groups that wait for what an action evicts."""
        return self._patience >= 0 and action.due_since is not None

    def held_until(self, action: Action, beneficiary: int) -> int | None:
        """Until when budgets hold for what an action evicts for a pod group, in nanoseconds; None: always.

        Notes it: another cycle may decide differently then.
        """
        if self._patience < 0 or action.due_since is None:
            return None
        since = action.due_since(self._cluster.pod_groups[beneficiary], self._cluster.queues)
        if since is None:
            return None
        end = since + self._patience
        if end > self._cluster.now:
            self._patience_ends.add(end)
        return end

    def may_override(self, action: Action, beneficiary: int) -> bool:
        """Whether budgets hold no longer for what an action evicts for a pod group."""
        end = self.held_until(action, beneficiary)
        return end is not None and end <= self._cluster.now

    def end_commit(self) -> tuple[str, ...]:
        """The budgets that a commit exceeds because they hold no longer. Nothing is left of them.

        Nor of those that it exceeds because they allowed it when notice was given, or may by then.
        """
        is_overridden = self._is_overridden
        if is_overridden:
            self._is_overridden = False
            self.number += 1
        if not self._overdrawn:
            return ()
        names = tuple(sorted(self._overdrawn))
        self._left.update(dict.fromkeys(names, 0))
        self._overdrawn.clear()
        return names if is_overridden else ()

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
        return MANY if not self.is_active or self._is_ignored(name) else self._left.get(name, 0)

    def holder(self, tasks: Iterable[int]) -> str:
        """The first budget that does not allow that all these tasks are disrupted; empty: there is none."""
        spent = self._spent(tasks).items()
        return next((name for name, number in spent if number > self.left(name)), "")

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

    def rejection(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Why what the scenario disrupts must not be: by budgets, limits and rates."""
        if not (self._overdrawn or self.pacing.is_active or self.moved_gpus.is_active):
            return None
        names = [name for name in sorted(self._overdrawn) if not self._is_ignored(name)]
        victims = scenario.victims()
        found = self.rejection_by(names) or self._too_fast(action, scenario.preemptor, victims)
        if found is not None or self._ignores_all:
            return found
        return self.moved_gpus.rejection(scenario.pending, [t for own in victims.values() for t in own])

    def _too_fast(
        self, action: Action, preemptor: int, victims: Mapping[int, Sequence[int]]
    ) -> Rejection | None:
        if self._ignores_all or not self.pacing.is_active:
            return None
        tasks = displaced(self._cluster, [t for own in victims.values() for t in own], self._placements)
        return self.pacing.rejection(self._commits, Disruption(action.name, preemptor, tasks), self._time)

    def slowed(self, action: Action, preemptor: int, tasks: Iterable[int]) -> Rejection | None:
        """Why these tasks, as they are displaced now, may not be disrupted at once."""
        moved = displaced(self._cluster, tasks, self._placements)
        return self.pacing.rejection(self._commits, Disruption(action.name, preemptor, moved), None)

    def rejection_by(self, names: Sequence[str], shown: Sequence[str] = ()) -> Rejection | None:
        """The rejection by these budgets, some of which the reader may see by name; None: there are none.

        It ends if all of them may allow more by then, or when they hold no longer in the current search.
        """
        found = self._rejection_by(names, shown)
        return None if found is None else self._held(found, self._held_until)

    def _rejection_by(self, names: Sequence[str], shown: Sequence[str]) -> Rejection | None:
        """The rejection by these budgets as if they held for ever."""
        if not names:
            return None
        self._met.update(names)
        ends = [self._budget_time(name) for name in names]
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
        action: Action,
        preemptor: int,
        recorded: Batches,
        potential: Batches,
        nodes: Collection[int],
    ) -> tuple[Batches, Batches]:
        """Recorded and other victims that all budgets and limits allow together (semantics R15.5, R15.10).

        Those with tasks on these nodes are taken first, then the others in order. No pod group that has its
        minimum is left with less than that, unless with nothing.
        """
        if not (self.is_active or self.pacing.is_active):
            return recorded, potential
        batches, caps = (*recorded, *potential), list[Cap]()
        tasks = {task: None for batch in batches for task in batch.tasks}
        if self.pacing.is_active and not self._ignores_all and self._time is None:
            caps = self.pacing.caps(self._commits, action.name, preemptor)
        is_within = all(sum(self.pacing.is_below(t, cap.queue) for t in tasks) <= cap.left for cap in caps)
        self.pacing.was_met = self.pacing.was_met or not is_within
        if self.allows(tasks) and is_within:
            return recorded, potential
        self._counters.trimmed += 1
        kept = choose_batches(self._cluster, batches, nodes, self._active, self, caps)
        return (
            tuple([batch for number, batch in enumerate(recorded) if number in kept]),
            tuple([batch for number, batch in enumerate(potential, len(recorded)) if number in kept]),
        )

    def spends(self, task: int) -> tuple[str, ...]:
        """Budgets that the task spends from if it is disrupted."""
        facts = self._tasks[task]
        return facts.facts.disruption_budgets if facts.placement.status is TaskStatus.RUNNING else ()

    def _spent(self, tasks: Iterable[int]) -> dict[str, int]:
        """What is spent from each budget if these tasks are disrupted."""
        spent: dict[str, int] = {}
        for task in tasks:
            for name in self.spends(task):
                spent[name] = spent.get(name, 0) + 1
        return spent

    def ignore(self, time: int | None) -> int | None:
        """Ignore the budgets that may allow more by a time (None: none of them); return the time before."""
        before, self._time = self._time, time
        self.number += time != before
        return before

    def ignore_all(self, is_on: bool) -> None:
        """Ignore all budgets, or no longer."""
        self._ignores_all = is_on
        self.number += 1

    def exceeded(self, action: Action, preemptor: int, tasks: Collection[int], time: int) -> Rejection | None:
        """Which budgets, as of a time, forbid what is disrupted now, for these tasks."""
        self.begin(action, preemptor)
        self.override()
        with ignoring(self, time):
            names = [name for name in sorted(self._overdrawn) if not self._is_ignored(name)]
        found = self._rejection_to(preemptor, tasks, names)
        return None if found is None else self.held(found, action, preemptor)

    def obstacle(self, action: Action, preemptor: int, tasks: Collection[int]) -> Rejection | None:
        """Which budgets, limits and rates forbid what is disrupted now, for these tasks, ignored ones too."""
        found = self.lasting_obstacle(action, preemptor, tasks)
        return None if found is None else self.held(found, action, preemptor)

    def held(self, rejection: Rejection, action: Action, preemptor: int) -> Rejection:
        """A rejection, which ends at the latest when budgets hold no longer if it is by budgets."""
        if rejection.code is not ReasonCode.DISRUPTION_BUDGET:
            return rejection
        return self._held(rejection, self.held_until(action, preemptor))

    def _held(self, rejection: Rejection, end: int | None) -> Rejection:
        if end is None or end <= self._cluster.now:
            return rejection
        return rejection._replace(until=end if rejection.until is None else min(rejection.until, end))

    def lasting_obstacle(self, action: Action, preemptor: int, tasks: Collection[int]) -> Rejection | None:
        """The obstacle as if budgets held for ever, which pod groups alike have in common."""
        is_over = self.may_override(action, preemptor)
        found = self._rejection_to(preemptor, tasks, [] if is_over else sorted(self._overdrawn))
        if found is None:
            found = self.slowed(action, preemptor, tasks)
        if found is None:
            requested = [task for task in tasks if self._tasks[task].pod_group == preemptor]
            found = self.moved_gpus.rejection(requested, tasks)
        return found

    def _rejection_to(self, preemptor: int, tasks: Collection[int], names: Sequence[str]) -> Rejection | None:
        """The rejection by budgets, named if a pod group of the tasks may be named to the preemptor.

        As if budgets held for ever.
        """
        if not names:
            return None
        own_group, named = self._cluster.pod_groups[preemptor], set[str]()
        for task in map(self._tasks.__getitem__, tasks):
            if own_group.may_name(self._cluster.pod_groups[task.pod_group]):
                named.update(task.facts.disruption_budgets)
        return self._rejection_by(names, [name for name in names if name in named])

    def endings(self) -> dict[int, Rejection]:
        """Budgets that kept a search from some victims and may allow more by a time, by that time."""
        found: dict[int, Rejection] = {}
        for name in sorted(self._met):
            end, rejection = self._next_allowed(name), self.rejection_by([name])
            if end is not None and rejection is not None:
                found.setdefault(end, rejection)
        until = self._held_until
        rejection = self.rejection_by(sorted(self._met))
        if rejection is not None and until is not None and until > self._cluster.now:
            found.setdefault(until, rejection._replace(until=until))
        return {**found, **self.pacing.endings()}

    def wake_times(self) -> list[int]:
        """When such budgets may allow more, or hold no longer for a pod group that was considered."""
        ends = [self._budget_time(name) for name in self._met]
        ends.extend(sorted(self._patience_ends) if self._met else ())
        return [end for end in (*ends, *self.pacing.endings()) if end is not None]

    def unknown_budgets(self) -> list[str]:
        """Budgets that tasks name and that are not in the cluster, by name."""
        return sorted([name for name in self._budgeted.counts if name not in self._budgets])

    def pod_groups_with(self, names: Collection[str]) -> tuple[int, ...]:
        """Pod groups with tasks that name one of these budgets."""
        wanted = frozenset(names)
        tasks = [task for task, own in self._budgeted.names.items() if not wanted.isdisjoint(own)]
        return tuple(sorted({self._tasks[task].pod_group for task in tasks}))

    def status(self) -> tuple[DisruptionBudgetStatus, ...]:
        """Budgets that are spent from, and those that kept a search from some victims, by name."""
        found, moved = [], {move.task for commit in self._commits for move in commit.moves}
        spent = self._spent([t for t in moved if self._placements[t].status is not TaskStatus.RUNNING])
        for name, budget in self._budgets.items():
            own = spent.get(name, 0)
            left = budget.left - own if own or budget.in_flight else budget.allowed
            if left != budget.allowed or name in self._met:
                found.append(
                    DisruptionBudgetStatus(name, budget.allowed, budget.in_flight, own, max(left, 0))
                )
        return tuple(found)

    def _is_ignored(self, name: str) -> bool:
        if self._ignores_all or self._is_overridden:
            return True
        if self._time is None:
            return False
        end = self._next_allowed(name)
        return end is not None and end <= self._time

    def _next_allowed(self, name: str) -> int | None:
        """When a budget may allow more, or holds no longer in the current search; None: not by time."""
        ends = (self._budget_time(name), self._held_until)
        return min([end for end in ends if end is not None and end > self._cluster.now], default=None)

    def _budget_time(self, name: str) -> int | None:
        """When a budget may allow more; None: not by time."""
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

"""Plans of a cycle, one start after the other; each leaves the others their places (R17.5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.ends import end_after
from tenure.solver.framework.chains import Chains
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import PlannedPods, PlannedStart
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.reservations.node_reservations import Owner, placed_tasks, whole_demand
from tenure.solver.reservations.owner_starts import Backfills, reserved_capacity
from tenure.solver.reservations.plan_search import PlanSearch
from tenure.solver.reservations.plans import Ended, Plan, Plans
from tenure.solver.reservations.settings import ReservationSettings
from tenure.solver.reservations.timeline import Event, EventKind, Trial


@final
class Planner:
    """Plans starts on one ledger, and leaves nothing on it."""

    def __init__(self, context: CycleContext, settings: ReservationSettings) -> None:
        self._context, self._session, self._settings = context, context.session, settings
        self._ledger, self._cluster = context.session.ledger, context.session.cluster
        self._plans = Plans(context, settings)
        reserved = reserved_capacity(self._session)
        self._plans.reserved.nodes.lent = {} if reserved is None else reserved.lent()
        self.backfills = Backfills(self._session)
        self._tasks_on: Mapping[int, Sequence[int]] | None = None
        self._kept: dict[int, Plan] = {}
        """Plans that stay as they are, as long as no plan changes."""

    def keep(self, known: Sequence[tuple[int, PlannedStart]]) -> None:
        """Plans of earlier cycles, by planned start: every plan leaves all others their places."""
        for index, row in known:
            until = row.grown + self._settings.max_hold if row.start is None else row.start
            plan = Plan(row.start, row.certainty, self._placements(index, row))
            self._register(index, plan, until)
        self._plans.events.sort()
        if "kept_plans" in self._session.options.speedups:
            with _following(self._session, self._plans.chains):
                self._keep_first(known)

    def _keep_first(self, known: Sequence[tuple[int, PlannedStart]]) -> None:
        """Plans that stay as they are, up to the first that may not.

        Saves: moving the ledger from now to each planned start.
        Sound: each plan is checked with the ledger as the search for it alone would have it, for the plans
        stay where they are as long as no plan changes. Plans with backfills are left to the search.
        Switch: `kept_plans`. Plain: one search for each plan.
        Compared by: tests/properties/reservations/test_kept_plans.py, and the check `differential`.
        """
        trial, searches = Trial(self._ledger), list[tuple[int, int, PlanSearch]]()
        if any(self.backfills.of(index) for index, _ in known):
            return
        for index, row in known:
            if row.start is None or row.start <= self._cluster.now:
                break
            search = PlanSearch(self._plans, index, row, (), trial)
            if not search.cannot_be_earlier():
                break
            searches.append((index, row.start, search))
        nodes = self._plans.reserved.nodes
        for index, _ in known:  # none has begun to be searched for
            nodes.move_to(self._cluster.now, index)
        if not searches:
            return
        events, ended, place = self._plans.events, Ended(), 0
        try:
            for index, start, search in searches:
                self._session.stop.check()
                nodes.move_to(self._cluster.now, index)
                first = place
                while place < len(events) and events[place].time < start:
                    place += 1
                ended += self._plans.advance(trial, events[first:place])
                moves, same = trial.moves, place
                while same < len(events) and events[same].time == start:
                    same += 1
                others = [each for each in events[place:same] if each.pod_group != index]
                plan = search.stay(ended + self._plans.advance(trial, others))
                if plan is None:
                    break
                trial.undo(moves)
                self._kept[index] = plan
        finally:
            nodes.move_to(searches[0][1], -1)  # as after the first search
            trial.undo()

    def plan(self, pod_group: int, known: PlannedStart | None) -> Plan:
        """The plan of a pod group. A known plan is kept while it is feasible (semantics R17.6)."""
        kept = self._kept.pop(pod_group, None)
        if kept is not None:
            return kept
        backfills = self.backfills.of(pod_group)
        with _following(self._session, self._plans.chains):
            return PlanSearch(self._plans, pod_group, known, backfills).run()

    def add(self, pod_group: int, plan: Plan, until: int) -> None:
        """The plan of a pod group, in place of its known one, unless that is the same."""
        known = self._plans.reserved.owners.get(pod_group)
        if known is not None and plan.start is not None:
            is_same = (known.start, known.until, known.certainty) == (plan.start, until, plan.certainty)
            if is_same and self._plans.planned.get(pod_group) == plan.placements:
                return
        self.drop(pod_group)
        self._register(pod_group, plan, until)
        self._plans.events.sort()

    def drop(self, pod_group: int) -> None:
        """Forget the plan of a pod group, if it has one."""
        plans = self._plans
        for other in self._kept:  # they are searched for now
            plans.reserved.nodes.move_to(self._cluster.now, other)
        self._kept.clear()
        if pod_group in plans.reserved.owners:
            plans.reserved.remove(pod_group, self._placed())
            plans.planned.pop(pod_group, None)
            plans.events = [each for each in plans.events if pod_group not in (each.pod_group, each.owner)]

    def _register(self, pod_group: int, plan: Plan, until: int) -> None:
        plans = self._plans
        places = places_of(self._context, plan.placements)
        owner = Owner(pod_group, plan.start, until, plan.certainty, places)
        owner.rank = len(plans.reserved.owners)
        plans.reserved.add(owner, self._placed())
        if plan.start is None:
            return
        group = self._cluster.pod_groups[pod_group]
        uid, start = group.facts.uid, max(plan.start, self._cluster.now)
        plans.planned[pod_group] = plan.placements
        plans.events.append(Event(start, EventKind.START, uid, pod_group, plan.certainty, plan.placements))
        end = end_after(group, self._cluster.queues, start, start)
        if end.likely is not None:
            plans.events.append(Event(end.likely, EventKind.END, uid, pod_group, end.certainty))
        for index in self.backfills.of(pod_group):
            name = self._cluster.pod_groups[index].facts.uid
            plans.events.append(Event(start, EventKind.END, name, index, plan.certainty, (), pod_group))

    def _placed(self) -> Mapping[int, Sequence[int]]:
        if self._tasks_on is None:
            self._tasks_on = placed_tasks(self._cluster, self._ledger)
        return self._tasks_on

    def _placements(self, pod_group: int, row: PlannedStart) -> tuple[tuple[int, Placement], ...]:
        """Its next tasks on the nodes of its known plan."""
        left = {(each.node, each.shape): each.pods for each in row.places if each.node >= 0}
        found: list[tuple[int, Placement]] = []
        for task in self._context.gangs.tasks_to_allocate(pod_group):
            shape = self._cluster.tasks[task].shape.index
            node = next((key[0] for key, number in left.items() if key[1] == shape and number), NOWHERE)
            if node != NOWHERE:
                left[node, shape] -= 1
                found.append((task, Placement(TaskStatus.PIPELINED, node)))
        return tuple(found)


@contextmanager
def _following(session: Session, chains: Chains) -> Iterator[None]:
    """Moves in the block are followed by the plugins of these chains, in place of those of the session."""
    ledger, listeners = session.ledger, session.ledger.listeners
    ledger.listeners = (*chains.move_listeners, *session.disruptions.listeners)
    try:
        yield
    finally:
        ledger.listeners = listeners


def places_of(context: CycleContext, placements: Iterable[tuple[int, Placement]]) -> tuple[PlannedPods, ...]:
    """Numbers of pods by node and shape."""
    tasks = context.session.cluster.tasks
    numbers: dict[tuple[int, int], int] = {}  # a Counter takes as long as a small plan
    for task, placement in placements:
        place = placement.node, tasks[task].shape.index
        numbers[place] = numbers.get(place, 0) + 1
    return tuple([PlannedPods(node, shape, number) for (node, shape), number in sorted(numbers.items())])


def held_amount(context: CycleContext, backfills: Sequence[int], places: Sequence[PlannedPods]) -> int:
    """What is free on the nodes of a plan, up to what it needs there, or is lent to its backfills.

    In thousandths of a GPU, or of a core if it requests no GPU.
    """
    session, cluster = context.session, context.session.cluster
    demand: dict[int, list[int]] = {}
    for place in places:
        amounts = demand.setdefault(place.node, [0, 0, 0])
        whole = whole_demand(cluster.shapes[place.shape])
        for slot in (CPU, GPU):
            amounts[slot] += whole[slot] * place.pods
    slot = GPU if any(amounts[GPU] for amounts in demand.values()) else CPU
    lent: dict[int, int] = {}
    for index in backfills:
        for task in cluster.pod_groups[index].tasks:
            placement = session.ledger.placements[task]
            if placement.is_active_allocated:
                amount = cluster.tasks[task].shape.request[slot]
                lent[placement.node] = lent.get(placement.node, 0) + amount
    total = 0
    for node, amounts in demand.items():
        total += max(0, min(amounts[slot], session.ledger.node_infos[node].idle[slot] + lent.get(node, 0)))
    return total

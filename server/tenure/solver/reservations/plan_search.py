"""The search for one plan: the earliest time at which pods fit, and where (semantics R17.5, R17.6).

for every end, and every start of another plan, in order of time
    count the pods that fit; if that suffices, place them on the ledger as it is then
    the known plan comes at its own time, before everything that is not earlier by the resolution
if nothing succeeds, place as many as fit after all known ends
"""

from collections.abc import Iterable, Sequence
from typing import Final, final

from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.statement import Statement
from tenure.solver.model.caller_state import Certainty, PlannedStart, StartDelay
from tenure.solver.model.placement import Placement
from tenure.solver.reservations.gathering import (
    endless_behind,
    held_without_start,
    nodes_to_gather_on,
)
from tenure.solver.reservations.node_reservations import whole_demand
from tenure.solver.reservations.plans import Ended, Plan, Plans
from tenure.solver.reservations.timeline import Counts, Event, EventKind, Trial
from tenure.solver.search.placer import Placer

_FIRST_PROBES: Final = 8
"""Probes of consecutive events; after them, twice as many events are passed over each time."""


@final
class PlanSearch:
    """The search for one plan."""

    def __init__(
        self,
        plans: Plans,
        pod_group: int,
        known: PlannedStart | None,
        backfills: Sequence[int],
        trial: Trial | None = None,
    ) -> None:
        """`backfills` are placed pod groups that yield to this one: their capacity counts as free."""
        context = plans.context
        self._plans, self._pod_group, self._known = plans, pod_group, known
        self._backfills, self._reserved = backfills, plans.reserved
        self._session, self._cluster = context.session, context.session.cluster
        self._ledger = context.session.ledger
        self._nodes = context.components.node_order.all_nodes
        self._tasks = context.gangs.tasks_to_allocate(pod_group)
        self._placer = Placer(
            context.session, context.components.allowed_nodes, context.components.node_order, plans.chains
        )
        self._trial = trial or Trial(context.session.ledger)
        self._ended: Ended = []
        self._is_due = False
        self._was_due_at_once = False
        self._delay = StartDelay.UNSPECIFIED

    def run(self) -> Plan:
        """Try events in order of time, and the known plan at its own time."""
        try:
            return self._run()
        finally:
            self._trial.undo()

    def cannot_be_earlier(self) -> bool:
        """Whether too few pods fit at all times before the known start, with the ledger as it is now."""
        assert self._known is not None
        assert self._known.start is not None
        counts, events, now = self._plans.counts(self._tasks), self._events_of_others(), self._cluster.now
        self._was_due_at_once = self._may_use(now, self._tasks)
        time, last = now, self._known.start - max(self._plans.settings.resolution, 1)
        for event in events:
            if event.time > time:
                if time > last or counts.suffice:
                    break
                time = event.time
            counts.change(self._plans.places_of(event.pod_group), event.kind.sign)
        return time > last or not counts.suffice

    def stay(self, ended: Ended) -> Plan | None:
        """The known plan on its nodes, if it is feasible with the ledger as it is at its start."""
        assert self._known is not None
        assert self._known.start is not None
        start, self._ended = self._known.start, ended
        placements = self._placed_as_known() if self._may_use(start, self._tasks) else None
        return None if placements is None else Plan(start, self._certainty(placements), placements)

    def _run(self) -> Plan:
        plans, now, counts = self._plans, self._cluster.now, self._plans.counts(self._tasks)
        for index in self._backfills:
            counts.change(self._plans.places_of(index), 1)
            self._trial.end(self._cluster.pod_groups[index].tasks)
        self._was_due_at_once = self._may_use(now, self._tasks)
        known = self._known.start if self._known is not None else None
        if known is not None and known <= now:
            self._delay, known = self._why_later(known), None
        probes, skip, pending, passed = 0, 0, list[Event](), now - 1
        others = self._events_of_others()
        times = sorted({now, known or now}.union([each.time for each in others if each.time > now]))
        events = iter(others)
        following = next(events, None)
        for time in times:
            while following is not None and following.time <= time:
                counts.change(self._plans.places_of(following.pod_group), following.kind.sign)
                pending.append(following)
                following = next(events, None)
            if known is not None and time > known - max(plans.settings.resolution, 1):
                self._session.stop.check()
                while following is not None and following.time <= known:
                    counts.change(self._plans.places_of(following.pod_group), following.kind.sign)
                    pending.append(following)
                    following = next(events, None)
                if (kept := self._keep(known, pending)) is not None:
                    return kept
                self._delay, passed, known = self._why_later(known), known, None
            if time <= passed or not counts.suffice:
                continue
            if skip:
                skip -= 1
                continue
            if probes == plans.settings.max_probes:
                break
            self._session.stop.check()
            self._advance(pending)
            if not self._may_use(time, self._tasks):
                continue
            probes += 1
            placements = self._place(time, self._tasks)
            if placements is not None:
                return Plan(time, self._certainty(placements), placements, delay=self._delay)
            skip = (1 << (probes - _FIRST_PROBES)) - 1 if probes > _FIRST_PROBES else 0
        while following is not None:
            counts.change(self._plans.places_of(following.pod_group), following.kind.sign)
            pending.append(following)
            following = next(events, None)
        self._advance(pending)
        return self._gather(counts)

    def _events_of_others(self) -> list[Event]:
        """Events that concern its plan: of each pod group the first end, and none of its own backfills."""
        ended, found = set(self._backfills), list[Event]()
        for event in self._plans.events:
            if event.pod_group == self._pod_group or event.pod_group in ended:
                continue
            found.append(event)
            if event.kind is EventKind.END:
                ended.add(event.pod_group)
        return found

    def _advance(self, events: list[Event]) -> None:
        """Move the ledger over these events, and forget them."""
        self._ended.extend(self._plans.advance(self._trial, events))
        events.clear()

    def _may_use(self, time: int, tasks: list[int]) -> bool:
        """Whether limits, quotas and fair shares permit tasks as the ledger is (semantics R4.40, R4.62)."""
        self._reserved.nodes.move_to(time, self._pod_group)
        if self._placer.capacity(self._pod_group, tasks) is not None:
            return False
        return self._plans.chains.admits(RECLAIM, self._pod_group, tasks) is None

    def _place(self, time: int, tasks: Sequence[int]) -> tuple[tuple[int, Placement], ...] | None:
        """Places of all tasks, by a real placement that is undone."""
        self._reserved.nodes.move_to(time, self._pod_group)
        self._session.counters.plan_placements += 1
        with self._session.statement() as statement:
            problem = self._placer.place(statement, self._pod_group, list(tasks), self._nodes, True)
            return None if problem is not None else self._placements(tasks)

    def _keep(self, start: int, events: list[Event]) -> Plan | None:
        """Keep the existing plan if it is feasible at its start, on the same nodes or others; else None."""
        assert self._known is not None
        self._advance([each for each in events if each.time <= start])
        events[:] = [each for each in events if each.time > start]
        if not self._may_use(start, self._tasks):
            return None
        placements = self._placed_as_known() or self._place(start, self._tasks)
        return None if placements is None else Plan(start, self._certainty(placements), placements)

    def _why_later(self, start: int) -> StartDelay:
        """Why the known plan is not feasible, with the ledger at its time."""
        if self._known is not None and self._plans.is_node_lost(self._known):
            return StartDelay.NODE_LOST
        may_use = self._may_use(max(start, self._cluster.now), self._tasks)
        if self._is_overrun(is_by_queue=not may_use):
            return StartDelay.OVERRUN
        return StartDelay.NODES_IN_USE if may_use else StartDelay.QUEUE_BOUND

    def _is_overrun(self, is_by_queue: bool) -> bool:
        """Whether a pod group runs too long on nodes of the known plan, or below its top-level queue."""
        assert self._known is not None
        nodes, top = {place.node for place in self._known.places}, self._top(self._pod_group)
        for index in self._plans.overdue():
            there = {
                self._cluster.tasks[task].placement.node for task in self._cluster.pod_groups[index].tasks
            }
            if (is_by_queue and self._top(index) == top) or not nodes.isdisjoint(there):
                return True
        return False

    def _placed_as_known(self) -> tuple[tuple[int, Placement], ...] | None:
        """Places of all tasks on the nodes of the known plan, by a real placement that is undone."""
        self._session.counters.plan_placements += 1
        with self._session.statement() as statement:
            return self._placements(self._tasks) if self._place_as_known(statement) else None

    def _place_as_known(self, statement: Statement) -> bool:
        assert self._known is not None
        left = {(each.node, each.shape): each.pods for each in self._known.places}
        for task in self._tasks:
            shape = self._cluster.tasks[task].shape.index
            node = next((key[0] for key, number in left.items() if key[1] == shape and number), -1)
            if node < 0 or self._placer.place_reserved(statement, task, node, (), True) is not None:
                return False
            left[node, shape] -= 1
        return True

    def _gather(self, counts: Counts) -> Plan:
        """All tasks where capacity is to be gathered, or as many as fit, first where they were."""
        later = self._cluster.now + self._plans.settings.horizon
        self._reserved.nodes.move_to(later, self._pod_group)
        busy = held_without_start(self._reserved, self._pod_group)
        self._end_endless(counts, busy)
        self._session.counters.plan_placements += 1
        placed = list[int]()
        with self._session.statement() as statement:
            left = {} if self._known is None else {(p.node, p.shape): p.pods for p in self._known.places}
            for task in self._tasks:
                shape = self._cluster.tasks[task].shape.index
                for key in [
                    key for key, number in left.items() if key[1] == shape and number and key[0] >= 0
                ]:
                    if self._placer.place_reserved(statement, task, key[0], (), True) is None:
                        left[key] -= 1
                        placed.append(task)
                        break
            for nodes in (self._nodes & ~busy, self._nodes):
                for task in [each for each in self._tasks if each not in placed]:
                    if self._placer.place_anywhere(statement, [task], nodes):
                        placed.append(task)
            placements = self._placements(sorted(placed))
        if not (is_due := self._may_use(later, placed)):
            for index in endless_behind(self._plans.context, self._plans.endless(), self._pod_group):
                self._trial.end(self._cluster.pod_groups[index].tasks)
            is_due = self._may_use(later, placed)
        return Plan(None, Certainty.UNKNOWN, placements, is_due, self._delay)

    def _end_endless(self, counts: Counts, busy: int) -> None:
        """Count what has no end as ended, on as few nodes as possible, until all tasks may fit."""
        endless, known = self._plans.endless(), set[int]()
        if self._known is not None:
            known.update([place.node for place in self._known.places])
        for node in nodes_to_gather_on(
            self._plans.context, endless, counts.shapes, self._plans.allowed, known, busy
        ):
            if counts.suffice and node not in known:
                return
            for index in endless[node].pod_groups:
                counts.change(self._plans.places_of(index), 1)
                self._trial.end(self._cluster.pod_groups[index].tasks)

    def _placements(self, tasks: Iterable[int]) -> tuple[tuple[int, Placement], ...]:
        return tuple([(task, self._ledger.placements[task]) for task in tasks])

    def _certainty(self, placements: Iterable[tuple[int, Placement]]) -> Certainty:
        """The worst of the ends that the plan needs: on nodes where it does not fit without them.

        If its queue may use as much only later, the ends of all pod groups below the same top-level queue.
        """
        needed: dict[int, list[int]] = {}
        for task, placement in placements:
            amounts = needed.setdefault(placement.node, [0] * len(self._cluster.resource_names))
            for slot, amount in enumerate(whole_demand(self._cluster.tasks[task].shape)):
                amounts[slot] += amount
        short = {node for node, amounts in needed.items() if not self._is_free(node, amounts)}
        worst, top = Certainty.BOUNDED, self._top(self._pod_group)
        for event, there in self._ended:
            is_ours = not self._was_due_at_once and self._top(event.pod_group) == top
            if is_ours or not short.isdisjoint(there):
                worst = max(worst, event.certainty)
        return worst

    def _is_free(self, node: int, amounts: Sequence[int]) -> bool:
        free = self._plans.free.of(node).vector()
        return all(free[slot] >= amount for slot, amount in enumerate(amounts) if amount)

    def _top(self, pod_group: int) -> int:
        queue = self._cluster.pod_groups[pod_group].queue
        return -1 if queue is None else self._cluster.queues[queue].path[0]

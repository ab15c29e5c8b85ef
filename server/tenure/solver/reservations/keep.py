"""The end of a cycle: who has a planned start, where and when (semantics R17.3-R17.7, R17.15)."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import PLANNED_STARTS, PlannedStart, StartDelay
from tenure.solver.model.decision import InFlightGroupState, Patch, PatchKind
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.reservations.node_reservations import whole_demand
from tenure.solver.reservations.owner_starts import is_waiting, reserved_capacity
from tenure.solver.reservations.planner import Planner, held_amount, places_of
from tenure.solver.reservations.plans import Plan
from tenure.solver.reservations.settings import (
    NAME,
    ReservationSettings,
    reservation_settings,
)
from tenure.solver.search.queue_tree import QueueTree
from tenure.terms.durations import SECOND

_LAPSED: Final = (InFlightGroupState.EXPIRED, InFlightGroupState.CANCELLED)
_STARTING: Final = (TaskStatus.BINDING, TaskStatus.PIPELINED)
_ATTEMPTS: Final = 4
"""Pod groups that are tried for one planned start, if it is not due to the first ones."""
_MOST_LOOKED_AT: Final = 64
"""Pod groups of a queue that are looked at, in their order, for new planned starts."""


def plan_starts(context: CycleContext) -> None:
    """Find the planned starts to store, by uid. Adds patches and wake times.

    A cycle that is stopped keeps the rows that it did not reach.
    """
    session, settings = context.session, reservation_settings(context.session.profile)
    if settings is None:  # the profile lists the plugin under another name
        return
    _patch_backfills(context)
    keeper = _Keeper(context, settings)
    with suppress(CycleStopped):
        keeper.run()
    session.planned_starts = tuple([keeper.rows[uid] for uid in sorted(keeper.rows)])
    session.carry_all(PLANNED_STARTS, session.planned_starts)
    session.reserved_idle = _idle_reserved(session)


def _idle_reserved(session: Session) -> int:
    """What nothing uses of reserved capacity, in thousandths of a GPU; each part once (semantics R17.7)."""
    shapes, reserved = session.cluster.shapes, Counter[int]()
    for row in session.planned_starts or ():
        for place in row.places:
            if NOWHERE not in (place.node, place.shape):
                reserved[place.node] += whole_demand(shapes[place.shape])[GPU] * place.pods
    idle = session.ledger.node_infos
    return sum([max(0, min(amount, idle[node].idle[GPU])) for node, amount in reserved.items()])


def _patch_backfills(context: CycleContext) -> None:
    """Store on whose capacity pod groups start in this cycle, or when pods there have terminated."""
    session = context.session
    reserved = reserved_capacity(session)
    lent = {} if reserved is None else reserved.lent()
    groups = session.cluster.pod_groups
    placed = sorted(session.moved_pod_groups())
    for index in placed:
        facts, tasks = groups[index].facts, groups[index].tasks
        if index not in lent and not facts.victim.backfill_for:
            continue
        if not any(session.ledger.placements[task].status in _STARTING for task in tasks):
            continue
        owners = {groups[owner].facts.uid: 1 for owner in lent.get(index, ())}
        if index in session.phases.running:
            owners.update((uid, 1) for uid in facts.victim.backfill_for)
        if tuple(sorted(owners)) != facts.victim.backfill_for:
            session.add_standalone_patch(NAME, Patch(index, PatchKind.BACKFILL_FOR, counts=owners))


@final
class _Keeper:
    """The rows of one cycle."""

    def __init__(self, context: CycleContext, settings: ReservationSettings) -> None:
        self._context, self._session, self._settings = context, context.session, settings
        self._cluster, self._now = context.session.cluster, context.session.cluster.now
        self.rows: dict[str, PlannedStart] = {
            row.pod_group: row for row in reversed(self._cluster.carried.rows(PLANNED_STARTS))
        }
        self._waiting = {
            self._cluster.pod_groups[index].facts.uid: index for index in self._session.phases.pending
        }
        self._by_queue: dict[int, int] = {}
        """Number of planned starts by leaf queue."""
        self._released: dict[str, PlannedStart] = {}
        """Rows without a plan; one that gets a plan after others have theirs keeps its row."""
        self._reserved_gpus = 0
        """GPUs reserved for all planned starts but the oldest, in thousandths."""
        self._number = 0
        self._oldest = ""
        """The pod group with the oldest planned start."""

    def run(self) -> None:
        """Known planned starts, by time; then new ones, in queue order."""
        planner = Planner(self._context, self._settings)
        self._most_gpus = sum(node.allocatable[GPU] for node in self._cluster.nodes)
        self._most_gpus = self._most_gpus * self._settings.max_fraction // 1_000
        known = sorted(self._standing(), key=_by_start)
        for _, row in known[self._settings.total :]:
            del self.rows[row.pod_group]  # a caller may send any number, and every plan costs a search
        known = known[: self._settings.total]
        self._oldest = min([(row.since, row.pod_group) for _, row in known], default=(0, ""))[1]
        planner.keep(known)
        for index, row in known:
            self._session.stop.check()
            self._plan(planner, index, row)
        newcomers = self._newcomers() if self._number < self._settings.total else ()
        for index in newcomers:
            self._session.stop.check()
            if self._number >= self._settings.total:
                break
            if self._left(self._cluster.pod_groups[index].queue) > 0:
                uid = self._cluster.pod_groups[index].facts.uid
                self._plan(planner, index, self._released.get(uid))

    def _standing(self) -> Iterator[tuple[int, PlannedStart]]:
        """Known planned starts of pod groups that wait; others are deleted, or kept as they are."""
        for row in list(self.rows.values()):
            index = self._waiting.get(row.pod_group)
            if index is None or not is_waiting(self._context, index):
                if index is None or not self._awaits_release(index):
                    del self.rows[row.pod_group]
            elif row.paused_until is None:
                yield index, row
            elif self._now >= row.paused_until:
                del self.rows[row.pod_group]
            else:
                self._session.wake_times.append(row.paused_until)

    def _awaits_release(self, index: int) -> bool:
        """Whether it starts when other pods have terminated; until then the row stays."""
        ledger = self._session.ledger
        pod_sets = self._cluster.pod_groups[index].pod_sets
        return not ledger.allocated[index] and any(ledger.pipelined[each.index] for each in pod_sets)

    def _newcomers(self) -> Iterator[int]:
        """The first waiting pod groups of each leaf queue that may have a planned start, in queue order."""
        tree, lapsed = QueueTree(self._session), self._lapsed()
        for queue in self._context.pod_groups.leaf_queues():
            entries, most = list[int](), self._left(queue) * _ATTEMPTS
            for place, (_, index) in enumerate(self._context.pod_groups.pending(queue)):
                if len(entries) >= most or place >= _MOST_LOOKED_AT:
                    break
                is_known = self._cluster.pod_groups[index].facts.uid in self.rows
                if not is_known and is_waiting(self._context, index) and self._waited(index, index in lapsed):
                    entries.append(index)
            if entries:
                tree.fill(queue, iter([self._context.entry(index) for index in entries]))
        while (entry := tree.pop()) is not None:
            yield entry.pod_group

    def _left(self, queue: int | None) -> int:
        """How many more planned starts a leaf queue may have."""
        return 0 if queue is None else self._settings.per_queue - self._by_queue.get(queue, 0)

    def _lapsed(self) -> set[int]:
        """Beneficiaries of in-flight groups that end in this cycle without an effect (semantics R17.15)."""
        ended = [status.group for status in self._session.in_flight if status.state in _LAPSED]
        return {self._cluster.in_flight[group].beneficiary for group in ended}

    def _waited(self, index: int, is_lapsed: bool) -> bool:
        """Whether it has waited long enough; if not, another cycle follows when it has."""
        facts = self._cluster.pod_groups[index].facts
        since = max(facts.creation, facts.victim.eligible or 0, facts.last_eviction or 0)
        until = since + self._settings.min_wait
        if is_lapsed or self._now >= until:
            return True
        self._session.wake_times.append(until)
        return False

    def _plan(self, planner: Planner, index: int, known: PlannedStart | None) -> None:
        uid = self._cluster.pod_groups[index].facts.uid
        gpus = self._session.ledger.demand(self._context.gangs.tasks_to_allocate(index))[GPU]
        self.rows.pop(uid, None)
        is_oldest = uid == self._oldest or not (self._oldest or self._number)
        if known is None and not is_oldest and gpus and self._reserved_gpus + gpus > self._most_gpus:
            return
        plan = planner.plan(index, known)
        row = self._row(uid, planner.backfills.of(index), known, plan)
        if row is None:
            planner.drop(index)
            if known is not None:
                self._released[uid] = known
            return
        self.rows[uid] = row
        if row.paused_until is not None:
            self._session.wake_times.append(row.paused_until)
            planner.drop(index)
            return
        self._reserved_gpus += 0 if is_oldest else gpus
        self._number += 1
        queue = self._cluster.pod_groups[index].queue
        assert queue is not None
        self._by_queue[queue] = self._by_queue.get(queue, 0) + 1
        until = row.grown + self._settings.max_hold if row.start is None else row.start
        planner.add(index, plan, until)
        was_due = known is not None and known.start is not None and known.start <= self._now
        if until > self._now:
            self._session.wake_times.append(until)
        if was_due != (until <= self._now):  # it has just become due, or its places are lent again
            self._session.wake_times.append(self._now + SECOND)

    def _row(
        self, uid: str, backfills: list[int], known: PlannedStart | None, plan: Plan
    ) -> PlannedStart | None:
        """What is stored; None: it may not have a planned start, or there is no place for it at all."""
        if not plan.placements or not plan.is_due:
            return None
        places = places_of(self._context, plan.placements)
        held = held_amount(self._context, backfills, places)
        since, grown, most, bounded = self._now, self._now, held, plan.bounded
        delay = StartDelay.UNSPECIFIED
        if known is not None:
            since, bounded = known.since, bounded if known.first_bounded is None else known.first_bounded
            is_later = known.start is not None and (plan.start is None or plan.start > known.start)
            delay = plan.delay if is_later else known.delayed_by
            begins = plan.start is None and known.start is not None
            if held <= known.held and not begins:
                grown, most = known.grown, known.held
        if plan.start is None and self._now >= grown + self._settings.max_hold:
            until = self._now + self._settings.max_hold
            return PlannedStart(uid, since, grown, first_bounded=bounded, paused_until=until)
        certainty = plan.certainty
        return PlannedStart(uid, since, grown, most, plan.start, certainty, places, bounded, delayed_by=delay)


def _by_start(known: tuple[int, PlannedStart]) -> tuple[bool, int, int, str]:
    row = known[1]
    return row.start is None, row.start or 0, row.since, row.pod_group

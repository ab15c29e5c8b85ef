"""Reservation: end backfills as soon as the owner of the capacity can start without them (R17.13).

for every owner of a reservation, the earliest planned start first
    evict its backfills one after the other, the newest first, until all of its next tasks can be placed
    give back those that are not needed
    if guards and disruption budgets allow it, evict them; else nothing happens
"""

from collections.abc import Sequence
from typing import Final

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.framework.statement import Statement
from tenure.solver.model.decision import Atomicity
from tenure.solver.plugin_api.action import Action, QueueGate, Relation, due_since_start
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.reservations.owner_starts import Backfills, is_waiting, reserved_capacity
from tenure.solver.reservations.rules import action_for
from tenure.solver.reservations.settings import BACKFILL_ACTION
from tenure.terms.reasons import ReasonCode

_MOST_GIVEN_BACK: Final = 16
"""Backfills that are tried to be given back for one owner."""


def _end_backfills(context: CycleContext, action: Action) -> None:
    session = context.session
    reserved = reserved_capacity(session)
    if reserved is None:
        return
    lent = Backfills(session)
    for owner in list(reserved.owners.values()):
        session.stop.check()
        if owner.index in session.phases.pending and is_waiting(context, owner.index):
            _start(context, action, owner.index, _backfills(context, owner.index, lent))


def _start(context: CycleContext, action: Action, owner: int, backfills: list[Batch]) -> None:
    """Evict what is needed, if the owner can be placed whole then."""
    session = context.session
    if not backfills:
        return
    tasks = context.gangs.tasks_to_allocate(owner)
    with session.statement() as statement:
        chosen = _needed(context, statement, owner, tasks, backfills)
        if not chosen:
            return
        needed = _without_spared(context, statement, owner, tasks, chosen)
        if not _place(context, statement, owner, tasks, needed):
            return
        scenario = Scenario(owner, tuple(tasks), (), tuple(needed))
        guarded = [
            session.guards.allows_scenario(action_for(session, owner, each.pod_group), _alone(scenario, each))
            for each in needed
        ]
        session.disruptions.begin(action, owner)
        session.disruptions.override()
        slowed = session.disruptions.rejection(action, scenario)
        if any(each is not None for each in guarded) or slowed is not None:
            until = [each.until for each in (*guarded, slowed) if each is not None]
            session.wake_times.extend([each for each in until if each is not None])
            return
        session.commit(statement, action, owner, action.reason)
        patch_evictions(session)


def _alone(scenario: Scenario, batch: Batch) -> Scenario:
    return Scenario(scenario.preemptor, scenario.pending, (), (batch,))


def _backfills(context: CycleContext, owner: int, lent: Backfills) -> list[Batch]:
    """Running pod groups on capacity of the owner that may be evicted for it, the newest first."""
    session, groups = context.session, context.session.cluster.pod_groups
    found = list[tuple[int, str, Batch]]()
    for index in lent.of(owner):
        group = groups[index]
        if (
            index not in session.phases.running
            or groups[owner].facts.uid not in group.facts.victim.backfill_for
        ):
            continue
        victims = [task for pod_set in group.pod_sets for task in context.gangs.evictable_tasks(pod_set)]
        summary = session.guards.summary(action_for(session, owner, index), owner, index)
        if victims and not summary.keeps_core and summary.rejection is None:
            found.append((-(group.facts.last_start or 0), group.facts.uid, Batch(index, tuple(victims))))
        elif summary.rejection is not None and summary.rejection.until is not None:
            session.wake_times.append(summary.rejection.until)
    return [batch for _, _, batch in sorted(found, key=_by_start)]


def _by_start(entry: tuple[int, str, Batch]) -> tuple[int, str]:
    return entry[:2]


def _needed(
    context: CycleContext, statement: Statement, owner: int, tasks: list[int], backfills: Sequence[Batch]
) -> list[Batch]:
    """The first backfills without which the owner can be placed; none: all of them are not enough."""
    if not _place(context, statement, owner, tasks, backfills):
        return []
    least, most = 1, len(backfills)
    while least < most:
        middle = (least + most) // 2
        if _place(context, statement, owner, tasks, backfills[:middle]):
            most = middle
        else:
            least = middle + 1
    return list(backfills[:most])


def _without_spared(
    context: CycleContext, statement: Statement, owner: int, tasks: list[int], chosen: list[Batch]
) -> list[Batch]:
    """The chosen backfills without those that can stay; the oldest are given back first."""
    needed = list(chosen)
    for batch in chosen[: -_MOST_GIVEN_BACK - 1 : -1]:
        others = [each for each in needed if each is not batch]
        if others and _place(context, statement, owner, tasks, others):
            needed = others
    return needed


def _place(
    context: CycleContext, statement: Statement, owner: int, tasks: list[int], batches: Sequence[Batch]
) -> bool:
    """Evict these on the ledger, instead of what was evicted before, and place the owner."""
    statement.rollback(0)
    for batch in batches:
        for task in batch.tasks:
            statement.evict(task)
    nodes = context.components.node_order.all_nodes
    return context.placer.place(statement, owner, tasks, nodes, simulation=True) is None


END_BACKFILLS: Final = Action(
    BACKFILL_ACTION,
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.BACKFILL_ENDED,
    atomicity=Atomicity.ALL,
    run=in_cycle(_end_backfills),
    due_since=due_since_start,
)
"""It takes back what was lent, so fair shares and priorities are not compared; guards are."""

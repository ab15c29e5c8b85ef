"""Ranks of running pod groups as victims: place in their queue, who would take them next, and cost."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.verdict import EvictionCost, ProtectionScope
from tenure.solver.search.victim_sets.costs import VictimCosts


class NextTaker(NamedTuple):
    """A pending pod group, the first of its queue, that would take a pod group before all others."""

    action: str
    pod_group: int


class VictimRank(NamedTuple):
    """One running pod group."""

    pod_group: int
    place: int
    """In victim order of its queue, from 1 on; 0: it may not be evicted for another one now."""
    price: EvictionCost | None
    """Of all its running pods; None: no plugin says."""
    next_for: tuple[NextTaker, ...]


def victim_ranks(replay: CycleReplay) -> dict[int, VictimRank]:
    """Ranks of all pod groups that run in the snapshot, by pod group.

    Pods with notice are already taken: they have no place, and no pod group is next for them.
    """
    context = replay.before_actions()
    takers, places = _next_takers(replay, context), dict(_places(replay, context))
    costs = VictimCosts(context.session)
    ranks, active = dict[int, VictimRank](), context.session.ledger.active_allocated
    for group in context.session.cluster.pod_groups:
        context.session.stop.check()
        tasks = [t for t in group.tasks if replay.cluster.tasks[t].placement.is_allocated]
        if tasks:
            price = costs.of(group.index, active, tasks) if costs.is_known else None
            place, next_for = places.get(group.index, 0), tuple(takers.get(group.index, ()))
            ranks[group.index] = VictimRank(group.index, place, price, next_for)
    return ranks


def _places(replay: CycleReplay, context: CycleContext) -> Iterator[tuple[int, int]]:
    """Pod groups that are not protected from everybody, with their places."""
    session = context.session
    groups = sorted(session.phases.running)
    guarded = set(replay.registry.guarded.names)
    firm = {
        each.pod_group
        for each in session.chains.protections(groups)
        if each.scope is ProtectionScope.ALL
        and not each.against
        and each.against_pod_group is None
        and guarded.issubset(each.actions)
    }
    for queue in context.pod_groups.leaf_queues():
        victims = [index for _, index in context.pod_groups.evictable_victims(queue) if index not in firm]
        yield from ((index, place) for place, index in enumerate(victims, 1))


def _next_takers(replay: CycleReplay, context: CycleContext) -> dict[int, list[NextTaker]]:
    """By pod group, who would take it first."""
    found: defaultdict[int, list[NextTaker]] = defaultdict(list)
    for queue in context.pod_groups.leaf_queues():
        context.session.stop.check()
        waiting = (index for _, index in context.pod_groups.pending(queue))
        first = next((index for index in waiting if context.gangs.tasks_to_allocate(index)), None)
        if first is None:
            continue
        for action in replay.searches():
            if action.relocates_all:
                continue
            query = VictimQuery(context, action, first)
            if query.entry() is not None:
                continue
            victim = next((each for order in query.orders() for each in order), None)
            if victim is not None:
                found[victim].append(NextTaker(action.name, first))
    return found

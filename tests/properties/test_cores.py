"""Cores of random pod groups: equal to those of a recomputation, never evicted, and counted exactly."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.plugins.proportion.core_usage import CoreUsage
from tenure.solver.plugins.proportion.initial_usage import INITIAL_USAGE
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.victim_batches import one_victim, victim_batches

from tests.properties.checks.gang_minimum import core, has_minimum
from tests.properties.generators.draw import SeededDraw, ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move
from tests.solver.sessions import open_session

CLUSTERS = 300


def _active(session: Session, pod_group: int) -> set[int]:
    placements = session.ledger.placements
    tasks = session.cluster.pod_groups[pod_group].tasks
    return {task for task in tasks if placements[task].status.is_active_allocated}


def test_core_meets_the_minimum_without_any_surplus_pod() -> None:
    for seed in range(CLUSTERS):
        session = open_session(random_cluster(SeededDraw(seed)))
        for group in session.cluster.pod_groups:
            active, found = _active(session, group.index), session.cores.current(group.index)
            assert found == core(group, active), (seed, group.facts.name)
            if has_minimum(group.root, active):
                assert has_minimum(group.root, found), (seed, group.facts.name)
                assert not any(has_minimum(group.root, found - {task}) for task in found), (
                    seed,
                    group.facts.name,
                )


def test_victim_with_protected_core_loses_all_its_surplus_r8_31() -> None:
    given_up = 0
    for seed in range(CLUSTERS):
        session = open_session(random_cluster(SeededDraw(seed)))
        for group in session.cluster.pod_groups:
            if group.queue is not None and group.is_evictable:
                active, surplus = _active(session, group.index), _surplus(session, group.index, group.queue)
                assert surplus == active - session.cores.current(group.index), (seed, group.facts.name)
                given_up += len(surplus)
    assert given_up > CLUSTERS // 3, "the pod groups are too small to say anything"


def _surplus(session: Session, pod_group: int, queue: int) -> set[int]:
    """Tasks that a search takes from the pod group when a guard protects its core."""
    if not _active(session, pod_group):
        return set()
    gangs = GangPlanner(session)
    victims = one_victim(session, pod_group)
    order = victim_batches(session, gangs, victims, [queue], lambda _: True, lambda _: True)
    found: set[int] = set()
    while (batch := order.pop()) is not None:
        assert found.isdisjoint(batch.tasks)
        found.update(batch.tasks)
    return found


@given(data=st.data())
@pytest.mark.long
def test_non_preemptible_usage_follows_every_move_and_undo(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = open_session(random_cluster(draw))
    context = session.plugin_context()
    usage = Usage(session.cluster, session.ledger, context.derived(INITIAL_USAGE))
    cores = CoreUsage(context, usage)
    session.ledger.listeners = (*session.ledger.listeners, usage)
    with session.statement() as statement:
        seen = [_recomputed_usage(session)]
        for _ in range(draw.integer(1, 12)):
            move = random_move(draw, session, statement)
            if move is not None:
                move(statement)
                seen.append(_recomputed_usage(session))
                if draw.chance(50):
                    assert _settle(cores, usage) == seen[-1]
        mark = draw.integer(0, len(seen) - 1)
        statement.rollback(mark)
        assert _settle(cores, usage) == seen[mark]
    assert _settle(cores, usage) == seen[0]


def _settle(cores: CoreUsage, usage: Usage) -> list[Share]:
    cores.recount()
    return list(usage.non_preemptible)


def _recomputed_usage(session: Session) -> list[Share]:
    """Non-preemptible usage of every queue, recomputed from the current placements of all tasks."""
    total = [NO_SHARE] * len(session.cluster.queues)
    for group in session.cluster.pod_groups:
        active = _active(session, group.index)
        tasks: Sequence[int] = (
            sorted(active) if group.is_firm(session.registry.guarded.fair_share_names) else []
        )
        if group.is_semi_preemptible and not tasks:
            tasks = sorted(core(group, active))
        for queue in () if group.queue is None else session.cluster.queues[group.queue].path:
            for task in tasks:
                facts, node = session.ledger.tasks[task], session.ledger.placements[task].node
                total[queue] = add_shares(total[queue], session.ledger.share(facts, node))
    return total

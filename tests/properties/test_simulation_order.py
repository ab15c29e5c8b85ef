"""Whose turn it is among two pod groups: the short way and the way by the tree of queues agree."""

from collections.abc import Iterator

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.speedups.simulation_order import SimulationOrder

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.solver.sessions import open_session

CLUSTERS = 150


def _pairs(session: Session, gangs: GangPlanner) -> Iterator[tuple[int, int]]:
    """Pod groups that wait, each with one of another queue that runs."""
    groups = [group for group in session.cluster.pod_groups if group.queue is not None]
    waiting = [group for group in groups if gangs.has_pending(group.index)]
    running = [group for group in groups if session.ledger.allocated[group.index]]
    for mine in waiting:
        for theirs in running:
            if mine.queue != theirs.queue:
                yield mine.index, theirs.index


def test_simulation_order_equals_the_order_of_the_queue_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    short = compared = 0
    for seed in range(CLUSTERS):
        session = open_session(random_cluster(SeededDraw(seed)))
        gangs = GangPlanner(session)
        lists = PodGroupIndex(session, gangs)
        for preemptor, victim in _pairs(session, gangs):
            with session.statement() as statement:
                for pod_set in session.cluster.pod_groups[victim].pod_sets:
                    for task in gangs.evictable_tasks(pod_set):
                        statement.evict(task)

                def share(pod_group: int) -> Share:
                    evicted = () if pod_group == preemptor else statement.evicted  # noqa: B023
                    return session.demand(gangs.next_tasks(pod_group, evicted))  # noqa: B023

                turns = SimulationOrder(session, gangs, lists)
                found = list(turns.in_order(preemptor, [victim], share))
                keys = sorted((session.pod_group_key(each), each) for each in (preemptor, victim))
                short += turns._are_first(keys, preemptor)
                with monkeypatch.context() as patch:
                    patch.setattr(SimulationOrder, "_are_first", lambda *_: False)
                    assert list(turns.in_order(preemptor, [victim], share)) == found
            compared += 1
    assert short > compared // 10, "the short way is never taken"

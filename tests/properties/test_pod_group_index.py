"""The lists of the pod group index equal those of sorting all pod groups, after any commits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Atomicity
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import KeyedPodGroup, SortedPodGroups
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.terms.reasons import ReasonCode

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move
from tests.solver.sessions import open_session

MOVES = Action(
    "moves",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.ALLOCATED,
    atomicity=Atomicity.ALL,
    run=lambda context, action: None,
)


def by_kind(index: PodGroupIndex, queue: int) -> list[KeyedPodGroup]:
    """Pending pod groups, from the lists by kind; each is of its kind, and found behind those before it."""
    found: list[KeyedPodGroup] = []
    for kind in index.kinds(queue) or ():
        listed = list(index.of_kind(queue, kind))
        assert index.first_of_kind(queue, kind) == listed[0]
        assert {index.kind(pod_group) for _, pod_group in listed} == {kind}
        for number, (key, _) in enumerate(listed):
            behind = next(iter(listed[number + 1 :]), None)
            assert next(index.of_kind(queue, kind, key), None) == behind
            assert index.first_of_kind(queue, kind, key) == behind
        found += listed
    return list(index.pending(queue)) if index.kinds(queue) is None else sorted(found)


def assert_equal_lists(index: PodGroupIndex, sorted_lists: SortedPodGroups, session: Session) -> None:
    """Every list of the index, and every flag."""
    for queue in sorted_lists.leaf_queues():
        assert list(index.pending(queue)) == list(sorted_lists.pending(queue))
        assert by_kind(index, queue) == list(sorted_lists.pending(queue))
        assert list(index.victims(queue)) == list(sorted_lists.victims(queue))
        assert index.victim_groups(queue) == sorted_lists.victim_groups(queue)
        assert list(index.evictable_victims(queue)) == list(sorted_lists.evictable_victims(queue))
    for group in session.cluster.pod_groups:
        assert index.is_victim(group.index) == sorted_lists.is_victim(group.index)
        if group.queue is not None:
            assert index.key_after_eviction(group.index) == sorted_lists.key_after_eviction(group.index)


@given(data=st.data())
@settings(max_examples=100)
@pytest.mark.long
def test_pod_group_index_equals_sorted_lists(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = open_session(random_cluster(draw))
    gangs = GangPlanner(session)
    index, sorted_lists = PodGroupIndex(session, gangs), SortedPodGroups(session, gangs)
    for _ in range(draw.integer(1, 5)):
        assert index.leaf_queues() == sorted_lists.leaf_queues()
        if draw.integer(0, 2):  # lists that are first read after commits must be those of that time
            assert_equal_lists(index, sorted_lists, session)
        with session.statement() as statement:
            for _ in range(draw.integer(0, 3)):
                move = random_move(draw, session, statement)
                if move is not None:
                    move(statement)
            session.commit(statement, MOVES, 0, ReasonCode.ALLOCATED)

"""The node index finds the same free capacity as a scan of every node (semantics R3.41-R3.57, R5.60)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.node_order import AllowedNodes, ScoredNodes
from tenure.solver.search.speedups.node_index import IndexedNodes, NodeIndex

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move
from tests.solver.placement_profiles import with_fragmentation


@pytest.mark.parametrize("profile", [default_profile(), with_fragmentation()], ids=["packing", "by state"])
@given(data=st.data())
@settings(max_examples=100)
@pytest.mark.long
def test_node_index_equals_the_scores_of_all_nodes(profile: Profile, data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = Session.open(random_cluster(draw), with_required_plugins(profile), BUILT_IN)
    assert session.chains.unranked_scores is not None
    index, scored = IndexedNodes(session, NodeIndex.of(session)), ScoredNodes(session)
    allowed, tasks = AllowedNodes(session), session.cluster.tasks
    for task in list(tasks)[: draw.integer(0, len(tasks))]:
        list(index.in_order(task, allowed.of(task.shape)))  # cached results must not outlast the moves
    statement = session.statement()
    for _ in range(draw.integer(0, 8)):
        move = random_move(draw, session, statement)
        if move is None:
            break
        move(statement)
    for task in tasks:
        nodes = allowed.of(task.shape)
        assert list(index.in_order(task, nodes)) == list(scored.in_order(task, nodes)), task.shape
        assert index.has_capacity(task.shape, nodes) >= scored.has_capacity(task.shape, nodes), task.shape
    assert index.nodes_with_free_gpus() == scored.nodes_with_free_gpus()
    assert list(index.free_gpu_milli()) == list(scored.free_gpu_milli())

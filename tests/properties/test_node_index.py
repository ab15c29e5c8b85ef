"""The node index gives the order that scoring every node gives (semantics R3.41-R3.57)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.placer import Placer

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move


class Indifferent:
    """Scores nothing, but says that it might: nodes are then scored one by one."""

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        return [0.0] * len(nodes)

    def concerns(self, task: int) -> bool:
        return True


def _placer(cluster: Cluster, *, indexed: bool) -> tuple[Session, Placer]:
    profile = with_required_plugins(default_profile())
    if not indexed:
        profile = replace(profile, plugins=(*profile.plugins, PluginConfig("indifferent")))
    session = Session.open(
        cluster, profile, Registry(BUILT_IN.actions, {**BUILT_IN.plugins, "indifferent": Indifferent})
    )
    return session, Placer(session)


@given(data=st.data())
@settings(max_examples=200)
def test_node_index_returns_the_order_of_the_scores(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    cluster = random_cluster(draw)
    fast_session, fast = _placer(cluster, indexed=True)
    slow_session, slow = _placer(cluster, indexed=False)
    for task in list(cluster.tasks)[: draw.integer(0, len(cluster.tasks))]:
        list(
            fast._in_order(task, fast.allowed_nodes(task.shape))
        )  # what it found out must not outlast the moves
    statements = [fast_session.statement(), slow_session.statement()]
    for _ in range(draw.integer(0, 8)):
        move = random_move(draw, fast_session, statements[0])
        if move is None:
            break
        for statement in statements:
            move(statement)
    for task in cluster.tasks:
        nodes = fast.allowed_nodes(task.shape)
        assert list(fast._in_order(task, nodes)) == list(slow._in_order(task, nodes)), task.shape

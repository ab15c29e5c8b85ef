"""The node index of a session starts from that of the previous session if it followed the same ledger."""

from tenure.server.state.warm_start import WarmStartCache
from tenure.solver.framework.session import Session
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.solver.testing import ClusterBuilder

CLUSTER = ClusterBuilder().node("a", gpus=8).node("b", gpus=8).queue("q").pending("new", queue="q").build()


def scored_nodes(warm_start: WarmStartCache) -> set[int]:
    """Nodes that the index of a session with this warm start scores."""
    session = Session.open(CLUSTER, with_required_plugins(default_profile()), BUILT_IN, warm_start=warm_start)
    index = NodeIndex.of(session)
    nodes = session.ledger.touched_nodes.copy()
    index.changes()
    session.close()
    return nodes


def test_all_nodes_are_scored_once() -> None:
    warm_start = WarmStartCache()
    assert scored_nodes(warm_start) == {0, 1}
    assert scored_nodes(warm_start) == set()


def test_fork_scores_all_nodes_again() -> None:
    warm_start = WarmStartCache()
    scored_nodes(warm_start)
    assert scored_nodes(warm_start.fork()) == {0, 1}
    assert scored_nodes(warm_start) == set()

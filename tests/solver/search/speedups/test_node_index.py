"""The node index of a session begins with that of the one before, when it followed the same ledger."""

from tenure.solver.framework.session import Session
from tenure.solver.framework.warm_start import WarmStartCache
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.solver.testing import ClusterBuilder

CLUSTER = ClusterBuilder().node("a", gpus=8).node("b", gpus=8).queue("q").pending("new", queue="q").build()


def scored_nodes(opening: WarmStartCache) -> set[int]:
    """Nodes that the index of a session on this opening looks at anew."""
    session = Session.open(CLUSTER, with_required_plugins(default_profile()), BUILT_IN, warm_start=opening)
    index = NodeIndex.of(session)
    nodes = session.ledger.touched_nodes.copy()
    index.changes()
    session.close()
    return nodes


def test_all_nodes_are_scored_once() -> None:
    opening = WarmStartCache()
    assert scored_nodes(opening) == {0, 1}
    assert scored_nodes(opening) == set()


def test_fork_scores_all_nodes_again() -> None:
    opening = WarmStartCache()
    scored_nodes(opening)
    assert scored_nodes(opening.fork()) == {0, 1}
    assert scored_nodes(opening) == set()

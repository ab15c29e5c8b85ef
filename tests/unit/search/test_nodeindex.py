"""The node index of a session begins with that of the one before, when it followed the same ledger."""

from tenure.solver.framework.opening import Opening
from tenure.solver.framework.session import Session
from tenure.solver.registry import default_profile, opened, plugins
from tenure.solver.search.nodeindex import NodeIndex
from tenure.solver.testing import ClusterBuilder

CLUSTER = ClusterBuilder().node("a", gpus=8).node("b", gpus=8).queue("q").pending("new", queue="q").build()


def looked_at(opening: Opening) -> set[int]:
    """Nodes that the index of a session on this opening looks at anew."""
    session = Session.open(CLUSTER, opened(default_profile()), plugins(), opening=opening)
    index = NodeIndex.of(session)
    nodes = session.ledger.touched.copy()
    index.changes()
    session.close()
    return nodes


def test_it_looks_at_all_nodes_once() -> None:
    opening = Opening()
    assert looked_at(opening) == {0, 1}
    assert looked_at(opening) == set()


def test_of_a_fork_it_looks_at_all_nodes_for_its_ledger_may_know_other_moves() -> None:
    opening = Opening()
    looked_at(opening)
    assert looked_at(opening.fork()) == {0, 1}
    assert looked_at(opening) == set()

"""Cached fits of a shape stay valid until the free amounts of their nodes change."""

from tenure.solver.framework.ledger import NO, NOW, SOON
from tenure.solver.framework.session import Session
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.speedups.fit_cache import FitCache, NodeChanges
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.solver.testing import ClusterBuilder

BOTH = 0b11
FIRST = 0b01


def session_of(builder: ClusterBuilder) -> Session:
    return Session.open(builder.build(), with_required_plugins(default_profile()), BUILT_IN)


def two_nodes() -> ClusterBuilder:
    return ClusterBuilder().node("a", gpus=1).node("b", gpus=1).queue("q")


def test_changed_nodes_are_listed_latest_first() -> None:
    changes = NodeChanges(4)
    changes.add([1, 2])
    seen = changes.count
    assert changes.since(seen) == []
    changes.add([3])
    changes.add([1])
    assert changes.since(seen) == [1, 3]
    assert sorted(changes.since(0)) == [1, 2, 3]
    for _ in range(1000):
        changes.add([2])
    assert changes.since(seen) == [2, 1, 3]


def test_unfit_node_is_not_checked_again_until_it_changes() -> None:
    builder = two_nodes().running("runs", node="a", queue="q", gpus=1)
    session = session_of(builder.pending("waits", queue="q", gpus=1))
    shape = session.cluster.tasks[1].shape
    known = FitCache(shape, session.ledger)
    assert [known.fit(0), known.fit(1)] == [NO, NOW]
    assert known.misfits == FIRST
    known.invalidate([1])
    assert known.misfits == FIRST
    known.invalidate([0])
    assert known.misfits == 0


def test_capacity_freed_by_an_eviction_is_used_and_dropped_on_undo() -> None:
    builder = two_nodes().running("runs", node="a", queue="q", gpus=1)
    builder.running("sleeps", node="b", queue="q", gpus=1)
    session = session_of(builder.pending("waits", queue="q", gpus=1))
    index = NodeIndex(session.cluster.nodes, session.ledger)
    shape = session.cluster.tasks[2].shape
    assert list(index.in_order(shape, BOTH)) == []
    with session.statement() as statement:
        statement.evict(1)
        assert list(index.in_order(shape, BOTH)) == [(1, False)]
        assert session.ledger.fit(shape, 1) == SOON
    assert list(index.in_order(shape, BOTH)) == []


def test_shared_device_is_joined_while_its_largest_portion_suffices() -> None:
    builder = two_nodes().running("shares", node="b", queue="q", gpus=0.5)
    builder.pending("waits a", queue="q", gpus=0.5).pending("waits b", queue="q", gpus=0.6)
    session = session_of(builder)
    index = NodeIndex(session.cluster.nodes, session.ledger)
    _, half, more = (task.shape for task in session.cluster.tasks)
    assert list(index.in_order(half, BOTH)) == [(1, True), (0, True)]
    assert list(index.in_order(more, BOTH)) == [(0, True)]
    with session.statement() as statement:
        statement.evict(0)
        assert list(index.in_order(half, BOTH)) == [(0, True), (1, False)]

"""What is kept about a shape is right as long as the rooms it was found out of stay as they are."""

from tenure.solver.framework.ledger import NO, NOW, SOON
from tenure.solver.framework.session import Session
from tenure.solver.registry import default_profile, opened, plugins
from tenure.solver.search.knownfits import Changes, KnownFits
from tenure.solver.search.nodeindex import NodeIndex
from tenure.solver.testing import ClusterBuilder

BOTH = 0b11
FIRST = 0b01


def session_of(builder: ClusterBuilder) -> Session:
    return Session.open(builder.build(), opened(default_profile()), plugins())


def two_nodes() -> ClusterBuilder:
    return ClusterBuilder().node("a", gpus=1).node("b", gpus=1).queue("q")


def test_nodes_that_changed_since_are_told_the_latest_first() -> None:
    changes = Changes()
    changes.note([1, 2])
    seen = changes.count
    assert changes.since(seen) == []
    changes.note([3])
    changes.note([1])
    assert changes.since(seen) == [1, 3]
    assert sorted(changes.since(0)) == [1, 2, 3]


def test_a_node_that_does_not_fit_is_not_asked_again_until_its_room_changes() -> None:
    builder = two_nodes().running("runs", node="a", queue="q", gpus=1)
    session = session_of(builder.pending("waits", queue="q", gpus=1))
    shape = session.cluster.tasks[1].shape
    known = KnownFits(shape, session.ledger)
    assert [known.fit(0), known.fit(1)] == [NO, NOW]
    assert known.misfits == FIRST
    known.forget([1])
    assert known.misfits == FIRST
    known.forget([0])
    assert known.misfits == 0


def test_room_that_an_eviction_frees_is_found_and_lost_again_with_it() -> None:
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


def test_a_device_in_shared_use_is_joined_while_its_largest_part_suffices() -> None:
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

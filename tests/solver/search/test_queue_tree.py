"""Order of pod groups in the queue tree."""

from collections.abc import Iterator

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

GPU = 1000


def session(**priorities: int) -> Session:
    """Departments a and b in this order (by queue priority), leaves a1 and a2 in a, b1 in b."""
    builder = ClusterBuilder().node("n", gpus=8)
    for name, parent in (("a", ""), ("b", ""), ("a1", "a"), ("a2", "a"), ("b1", "b")):
        builder.queue(name, parent=parent, quota=8, priority=priorities.get(name, 100))
    builder.running("used", queue="a2", gpus=2, node="n")
    for name in ("a1", "a2", "b1"):
        builder.pending(f"in-{name}", queue=name, gpus=1, count=3, min_member=1)
    return open_session(builder.build())


def entry(key: int, gpus: int = 1) -> QueueTreeEntry:
    return QueueTreeEntry((key,), key, (0, 0, gpus * GPU))


def filled_tree(found: Session, **leaves: list[int]) -> QueueTree:
    """A tree whose leaves have entries with these keys."""
    tree = QueueTree(found)
    index = {queue.facts.name: queue.index for queue in found.cluster.queues}
    for name, keys in leaves.items():
        tree.fill(index[name], iter([entry(key) for key in keys]))
    return tree


def pop_all(tree: QueueTree) -> list[int]:
    keys = []
    while (found := tree.pop()) is not None:
        keys.append(found.pod_group)
    return keys


ORDERS = {
    "R3.4 within a leaf by key": ({}, {"a1": [1, 2, 3]}, [1, 2, 3]),
    "R3.4 an empty tree": ({}, {}, []),
    "R4.34 departments by share: the idle one first": ({}, {"a2": [1, 2], "b1": [3, 4]}, [3, 4, 1, 2]),
    "R4.34 leaves by share, inside their department": ({}, {"a1": [5], "a2": [1, 2]}, [5, 1, 2]),
    "R4.37 siblings only: a department goes first as a whole": (
        {"a": 200},
        {"a2": [1, 2], "b1": [3, 4]},
        [1, 2, 3, 4],
    ),
    "R3.6 empty queues are gone": ({"b": 200}, {"b1": [9], "a1": [1], "a2": [2]}, [9, 1, 2]),
}


@pytest.mark.parametrize(("priorities", "leaves", "expected"), ORDERS.values(), ids=ORDERS)
def test_pod_groups_are_in_queue_tree_order(
    priorities: dict[str, int], leaves: dict[str, list[int]], expected: list[int]
) -> None:
    assert pop_all(filled_tree(session(**priorities), **leaves)) == expected


def test_reinserted_entry_is_ordered_again_r3_31() -> None:
    found = session()
    tree = filled_tree(found, a1=[1, 5])
    assert (first := tree.pop()) is not None
    tree.push(found.cluster.pod_groups[0].queue or 0, entry(3))
    assert [first.pod_group, *pop_all(tree)] == [1, 3, 5]


def test_queue_with_a_new_allocation_is_reordered_at_the_top_r3_5() -> None:
    """a1 is ahead of a2 by its share. When its pod group is placed, it has the larger share."""
    found = session()
    tree = filled_tree(found, a1=[1, 2], a2=[3])
    assert (first := tree.pop()) is not None
    group = found.cluster.pod_groups[0]
    with found.statement() as statement:
        for task in group.tasks:
            statement.allocate(task, 0)
        statement.commit()
    assert [first.pod_group, *pop_all(tree)] == [1, 3, 2]


def test_entries_are_read_from_their_source_on_demand() -> None:
    drawn = []

    def source() -> Iterator[QueueTreeEntry]:
        for key in (1, 2, 3):
            drawn.append(key)
            yield entry(key)

    found = session()
    tree = QueueTree(found)
    tree.fill(found.cluster.pod_groups[0].queue or 0, source())
    tree.pop()
    assert drawn == [1]
    tree.pop()
    assert drawn == [1, 2]


def test_single_leaf_is_ordered_when_another_is_added() -> None:
    found = session()
    tree = filled_tree(found, a2=[1, 2])
    assert (first := tree.pop()) is not None
    index = {queue.facts.name: queue.index for queue in found.cluster.queues}
    tree.push(index["a2"], entry(0))
    tree.push(index["b1"], entry(7))
    assert [first.pod_group, *pop_all(tree)] == [1, 7, 0, 2]


def test_empty_single_leaf_is_removed() -> None:
    found = session()
    tree = filled_tree(found, a2=[1])
    assert pop_all(tree) == [1]
    index = {queue.facts.name: queue.index for queue in found.cluster.queues}
    tree.push(index["b1"], entry(7))
    tree.push(index["a2"], entry(3))
    assert pop_all(tree) == [7, 3]

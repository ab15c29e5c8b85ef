"""The queue whose minimum runtime applies to a victim, and the end of the protection."""

from collections.abc import Mapping

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.verdict import protection_end
from tenure.solver.plugins.guards.min_runtime import LCA, QUEUE, Resolver
from tenure.solver.resolution.reference_resolution import resolve_queues
from tenure.terms.durations import SECOND

DEFAULT = 7
TREE = {
    "A": "",
    "B": "A",
    "C": "B",
    "D": "B",
    "leaf1": "C",
    "leaf2": "C",
    "leaf3": "D",
    "Z": "",
    "leaf9": "Z",
}
EXAMPLE = {"B": 600, "D": 60, "leaf1": 0, "leaf2": 180}
"""The queue tree of the proposal, with an additional top-level queue."""


def resolve_reclaim(
    values: Mapping[str, int], reclaimer: str, victim: str, method: str = LCA
) -> tuple[int, str | None]:
    """Minimum in seconds, and the queue that sets it."""
    specs = [
        QueueFacts(name=name, parent_name=parent, reclaim_min_runtime=values.get(name))
        for name, parent in TREE.items()
    ]
    queues = resolve_queues(specs)
    index = {queue.facts.name: queue.index for queue in queues}
    found = Resolver(queues, 0, DEFAULT, method).reclaim(index[reclaimer], index[victim])
    return found.minimum, None if found.queue is None else queues[found.queue].facts.name


RECLAIM = {
    "R7.16 example 1: the sibling department's own value": ("leaf1", "leaf3", EXAMPLE, (60, "D")),
    "R7.16 example 2: the sibling leaf's own value": ("leaf1", "leaf2", EXAMPLE, (180, "leaf2")),
    "R7.16 example 3: inherited from the common ancestor": ("leaf3", "leaf1", EXAMPLE, (600, "B")),
    "R7.13 the same leaf: from the leaf up": ("leaf2", "leaf2", EXAMPLE, (180, "leaf2")),
    "R7.12.1 other top level: the top-level value": ("leaf9", "leaf2", {**EXAMPLE, "A": 30}, (30, "A")),
    "R7.12.1 other top level without a value: the default": ("leaf9", "leaf2", EXAMPLE, (DEFAULT, None)),
    "R7.12.3 above the common ancestor": ("leaf1", "leaf2", {"A": 5}, (5, "A")),
    "R7.12.3 nobody says anything": ("leaf1", "leaf2", {}, (DEFAULT, None)),
    "R7.13 an explicit 0 on the nearer queue wins": ("leaf2", "leaf1", EXAMPLE, (0, "leaf1")),
    "R7.13 the victim's queue above the reclaimer's": ("leaf1", "C", {"C": 9, "B": 8}, (9, "C")),
    "R7.13 the reclaimer's queue above the victim's": ("B", "leaf1", {"leaf1": 1, "C": 9}, (9, "C")),
}
BY_QUEUE = {
    "R7.11 the victim's own value, whoever asks": ("leaf9", "leaf2", EXAMPLE, (180, "leaf2")),
    "R7.11 an explicit 0 stops the walk": ("leaf3", "leaf1", EXAMPLE, (0, "leaf1")),
    "R7.11 inherited": ("leaf9", "leaf3", {"A": 5}, (5, "A")),
    "R7.11 nobody says anything": ("leaf9", "leaf3", {}, (DEFAULT, None)),
}


@pytest.mark.parametrize(("reclaimer", "victim", "values", "expected"), RECLAIM.values(), ids=RECLAIM)
def test_reclaim_by_lowest_common_ancestor(
    reclaimer: str, victim: str, values: Mapping[str, int], expected: tuple[int, str | None]
) -> None:
    assert resolve_reclaim(values, reclaimer, victim) == expected


@pytest.mark.parametrize(("reclaimer", "victim", "values", "expected"), BY_QUEUE.values(), ids=BY_QUEUE)
def test_reclaim_by_the_victims_queue(
    reclaimer: str, victim: str, values: Mapping[str, int], expected: tuple[int, str | None]
) -> None:
    assert resolve_reclaim(values, reclaimer, victim, QUEUE) == expected


@pytest.mark.parametrize(
    ("leaf", "values", "expected"),
    [
        ("leaf1", {"B": 600, "leaf1": 300}, 300),
        ("leaf2", {"B": 600, "leaf1": 300}, 600),
        ("leaf1", {"B": 600, "leaf1": 0}, 0),
        ("leaf9", {"B": 600}, DEFAULT),
        ("leaf9", {"Z": -5}, -5),
    ],
    ids=[
        "R7.10 its own value",
        "R7.10 an ancestor's value",
        "R7.13 an explicit 0 stops the walk",
        "R7.10 the default",
        "R7.4 a negative value resolves as it is",
    ],
)
def test_preempt_walks_up_from_the_leaf(leaf: str, values: Mapping[str, int], expected: int) -> None:
    specs = [
        QueueFacts(name=name, parent_name=parent, preempt_min_runtime=values.get(name))
        for name, parent in TREE.items()
    ]
    queues = resolve_queues(specs)
    index = {queue.facts.name: queue.index for queue in queues}
    assert Resolver(queues, DEFAULT, 0, LCA).preempt(index[leaf]).minimum == expected


@pytest.mark.parametrize(
    ("start", "minimum", "expected"),
    [(40, 60, 100), (40, 0, None), (40, -5, None), (None, 60, None), (0, 60, 60), (150, 60, 210)],
    ids=[
        "start plus minimum",
        "0 protects nobody",
        "a negative value protects nobody",
        "no start time, no protection",
        "the epoch is a start time as any other",
        "a start in the future protects",
    ],
)
def test_protection_ends_at_start_plus_minimum_r7_20(
    start: int | None, minimum: int, expected: int | None
) -> None:
    found = protection_end(None if start is None else start * SECOND, minimum * SECOND)
    assert found == (None if expected is None else expected * SECOND)

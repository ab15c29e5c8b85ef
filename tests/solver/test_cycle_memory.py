"""Memory of a cycle is freed at its end without the garbage collector."""

import gc
from collections.abc import Iterator

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.session import Session
from tenure.solver.registry import default_profile

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster


@pytest.fixture
def uncollected_objects() -> Iterator[list[object]]:
    """Objects that only the garbage collector could free."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_sessions_are_freed_without_garbage_collection(uncollected_objects: list[object]) -> None:
    searched = 0
    for seed in range(60):
        decision = answer(random_cluster(SeededDraw(seed)), default_profile())
        searched += decision.counters.simulated > 0
    gc.collect()
    assert not [each for each in uncollected_objects if isinstance(each, Session)]
    assert searched > 10

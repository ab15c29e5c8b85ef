"""Whoever watches a cycle is told of every part of it, and changes nothing."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.cycle import decide
from tenure.solver.framework.observer import Part

from tests.properties.clusters import random_cluster
from tests.properties.cycles import PROFILE
from tests.properties.draw import ShrinkingDraw


class Watcher:
    """Counts the parts that ended, and notes what they lay within."""

    is_close = True

    def __init__(self) -> None:
        self.open: list[Part] = []
        self.ended: Counter[Part] = Counter()
        self.within: set[tuple[Part, Part | None]] = set()

    def begin(self, part: Part, name: str = "", pod_group: int | None = None) -> None:
        self.within.add((part, self.open[-1] if self.open else None))
        self.open.append(part)

    def end(self, outcome: str = "") -> None:
        self.ended[self.open.pop()] += 1

    def ask(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        return method(*args)


WITHIN = {
    (Part.SESSION, None),
    (Part.ACTION, None),
    (Part.FOLD, None),
    (Part.POD_GROUP, Part.ACTION),
    (Part.SCENARIO, Part.POD_GROUP),
    (Part.SCENARIO, Part.ACTION),
}


@given(data=st.data())
@settings(max_examples=150)
def test_a_watched_cycle_decides_the_same_and_tells_of_every_scenario(data: st.DataObject) -> None:
    cluster, watcher = random_cluster(ShrinkingDraw(data)), Watcher()
    decision = decide(cluster, PROFILE, observer=watcher)
    assert decision == decide(cluster, PROFILE)
    assert watcher.open == []
    assert watcher.within <= WITHIN
    assert watcher.ended[Part.ACTION] == len(PROFILE.actions)
    assert watcher.ended[Part.SCENARIO] == decision.counters.simulated

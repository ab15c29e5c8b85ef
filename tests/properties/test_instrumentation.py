"""An observer of a cycle receives every phase and does not change the decisions."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.observer import Phase

from tests.properties.cycle_sequence import PROFILE
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster


class CountingObserver:
    """Counts completed phases and records the phases that enclose them."""

    is_detailed = True

    def __init__(self) -> None:
        self.open: list[Phase] = []
        self.ended: Counter[Phase] = Counter()
        self.within: set[tuple[Phase, Phase | None]] = set()

    def begin(self, part: Phase, name: str = "", pod_group: int | None = None) -> None:
        self.within.add((part, self.open[-1] if self.open else None))
        self.open.append(part)

    def end(self, outcome: str = "") -> None:
        self.ended[self.open.pop()] += 1

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        return method(*args)


WITHIN = {
    (Phase.SESSION, None),
    (Phase.ACTION, None),
    (Phase.DIAGNOSE, None),
    (Phase.FOLD, None),
    (Phase.POD_GROUP, Phase.ACTION),
    (Phase.POD_GROUP, Phase.DIAGNOSE),
    (Phase.SCENARIO, Phase.POD_GROUP),
    (Phase.SCENARIO, Phase.ACTION),
}
"""Searches of the diagnosis check reasons."""


@given(data=st.data())
@settings(max_examples=75)
@pytest.mark.long
def test_observed_cycle_decides_the_same_and_reports_scenarios_with_victims(data: st.DataObject) -> None:
    cluster, watcher = random_cluster(ShrinkingDraw(data)), CountingObserver()
    decision = answer(cluster, PROFILE, observer=watcher)
    assert decision == answer(cluster, PROFILE)
    assert watcher.open == []
    assert watcher.within <= WITHIN
    assert watcher.ended[Phase.ACTION] == len(PROFILE.actions)
    assert watcher.ended[Phase.SCENARIO] <= decision.counters.simulated, "some simulations evict nothing"

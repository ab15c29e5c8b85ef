"""The same input leads to the same decisions, in any order of its rows."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.cycle import decide

from tests.properties.cycle_sequence import PROFILE
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import build, draw_steps, random_cluster


@given(data=st.data())
def test_identical_input_results_in_identical_decisions(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    assert decide(cluster, PROFILE) == decide(cluster, PROFILE)


@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_order_of_the_input_does_not_matter(data: st.DataObject, seed: int) -> None:
    steps = draw_steps(ShrinkingDraw(data))
    shuffled = list(steps)
    random.Random(seed).shuffle(shuffled)
    assert decide(build(shuffled), PROFILE) == decide(build(steps), PROFILE)

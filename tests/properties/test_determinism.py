"""Equal input leads to equal decisions, in any order of its rows."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.diagnosis.answer import answer

from tests.properties.cycle_sequence import PROFILE
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import build, draw_steps, random_cluster


@given(data=st.data())
def test_identical_input_results_in_identical_decisions(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    assert answer(cluster, PROFILE) == answer(cluster, PROFILE)


@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_order_of_the_input_does_not_matter(data: st.DataObject, seed: int) -> None:
    steps = draw_steps(ShrinkingDraw(data))
    shuffled = list(steps)
    random.Random(seed).shuffle(shuffled)
    assert answer(build(shuffled), PROFILE) == answer(build(steps), PROFILE)

"""The same input gives the same decision, in whatever order it is told."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.cycle import decide

from tests.properties.clusters import build, random_cluster, steps
from tests.properties.cycles import PROFILE
from tests.properties.draw import ShrinkingDraw


@given(data=st.data())
def test_identical_input_gives_identical_decisions(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    assert decide(cluster, PROFILE) == decide(cluster, PROFILE)


@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_order_of_the_input_does_not_matter(data: st.DataObject, seed: int) -> None:
    told = steps(ShrinkingDraw(data))
    shuffled = list(told)
    random.Random(seed).shuffle(shuffled)
    assert decide(build(shuffled), PROFILE) == decide(build(told), PROFILE)

"""What no decision may ever do, on random clusters over several cycles."""

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.checks import violations
from tests.properties.clusters import random_cluster
from tests.properties.cycles import cycles
from tests.properties.draw import ShrinkingDraw


@given(data=st.data())
def test_nothing_is_over_committed_torn_or_evicted_against_the_rules(data: st.DataObject) -> None:
    for cycle in cycles(random_cluster(ShrinkingDraw(data)), 4):
        assert violations(cycle) == []

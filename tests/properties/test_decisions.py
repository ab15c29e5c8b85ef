"""No cycle violates a rule for decisions, on random clusters over several cycles."""

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.checks.decision_checks import find_violations
from tests.properties.cycle_sequence import run_cycles
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster


@given(data=st.data())
def test_no_decision_overcommits_splits_a_gang_or_evicts_against_the_rules(data: st.DataObject) -> None:
    for cycle in run_cycles(random_cluster(ShrinkingDraw(data)), 4):
        assert find_violations(cycle) == []

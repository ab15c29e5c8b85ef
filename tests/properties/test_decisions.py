"""No cycle violates a rule for decisions, on random clusters over several cycles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.checks.decision_checks import find_violations
from tests.properties.cycle_sequence import run_cycles
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.judged_clusters import judge


@given(data=st.data())
def test_no_decision_overcommits_splits_a_gang_or_evicts_against_the_rules(data: st.DataObject) -> None:
    for cycle in run_cycles(random_cluster(ShrinkingDraw(data)), 4):
        assert find_violations(cycle) == []


@given(data=st.data())
def test_new_pods_hold_the_constraints_on_the_pods_around_them(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    for cycle in run_cycles(random_cluster(draw, beside=draw), 4):
        assert find_violations(cycle) == []


SEEDS = {
    18008: "a core on one node was evicted, and its surplus on another one left",
    88797: "the same, with a gang of four and one more pod",
    98055: "the same, with shared GPUs",
}


@pytest.mark.parametrize("seed", SEEDS, ids=[f"{seed}: {what}" for seed, what in SEEDS.items()])
def test_decision_on_the_cluster_of_a_seed_is_right(seed: int) -> None:
    found = judge(seed)
    assert [text for text in found if text.startswith("seed ")] == []

"""What a tenant writes after the start takes nothing from other queues (semantics 8.4, R15.13, R1.53)."""

import pytest

from tests.properties.generators.draw import SeededDraw
from tests.properties.levers.contested_queues import contested_queues
from tests.properties.levers.judged_levers import compare, judge, random_profile


@pytest.mark.parametrize("seed", range(6))
def test_edits_of_a_tenant_take_nothing_from_other_queues_r8_40(seed: int) -> None:
    assert [what for what in judge(seed) if what.startswith("seed")] == []


@pytest.mark.parametrize("seed", [8, 22])
def test_without_grants_they_do_r8_42(seed: int) -> None:
    """Callers that store no grants have no such promise, and the comparison finds that."""
    draw = SeededDraw(seed)
    profile, late = random_profile(draw)
    drawn = contested_queues(draw)
    for group in (*drawn.snapshot.pod_groups, *(arrival.group for arrival in drawn.arrivals)):
        group.ClearField("grant")
    matters, losses = compare(drawn, profile, late, seed)
    assert matters
    assert losses

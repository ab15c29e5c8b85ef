"""A cycle that is stopped, at whatever step: what it decided holds, and it denies nobody anything."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.cycle import decide
from tenure.solver.framework import stop
from tenure.solver.model.decision import Decision, OutcomeKind

from tests.properties.checks import violations
from tests.properties.clusters import random_cluster
from tests.properties.cycles import PROFILE, Cycle
from tests.properties.draw import ShrinkingDraw


@pytest.fixture(autouse=True, scope="module")
def asked_at_every_step() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stop, "STRIDE", 1)
        yield


def after(steps: int) -> Callable[[], bool]:
    """Says stop when it was asked so many times."""
    left = iter(range(steps))
    return lambda: next(left, None) is None


def moves(decision: Decision) -> list[object]:
    return [
        (group.action, group.beneficiary, group.evictions, group.holds, group.bindings)
        for group in decision.groups
        if group.evictions or group.holds or group.bindings
    ]


@given(data=st.data(), steps=st.integers(0, 200))
def test_what_it_decided_is_the_beginning_of_the_whole_and_breaks_no_rule(
    data: st.DataObject, steps: int
) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    stopped = decide(cluster, PROFILE, after(steps))
    assert violations(Cycle(cluster, stopped)) == []
    assert moves(stopped) == moves(decide(cluster, PROFILE))[: len(moves(stopped))]


@given(data=st.data(), steps=st.integers(0, 200))
def test_nobody_is_called_infeasible_whom_the_whole_cycle_does_not_call_so(
    data: st.DataObject, steps: int
) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    whole, stopped = decide(cluster, PROFILE), decide(cluster, PROFILE, after(steps))
    infeasible = {each.pod_group for each in whole.outcomes if each.kind is OutcomeKind.INFEASIBLE}
    for outcome in stopped.outcomes:
        if outcome.kind is OutcomeKind.INFEASIBLE:
            assert outcome.pod_group in infeasible


@given(data=st.data())
def test_a_cycle_that_is_never_told_to_stop_is_the_same(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    assert decide(cluster, PROFILE, lambda: False) == decide(cluster, PROFILE)

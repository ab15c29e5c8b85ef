"""A cycle that is stopped at any step returns valid decisions and reports no final rejections."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework import stop_signal
from tenure.solver.model.decision import CycleResult, OutcomeKind

from tests.properties.checks.decision_checks import find_violations
from tests.properties.cycle_sequence import PROFILE, CycleRun
from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster


@pytest.fixture(autouse=True, scope="module")
def check_stop_at_every_step() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stop_signal, "STRIDE", 1)
        yield


def stop_after(steps: int) -> Callable[[], bool]:
    """Return a stop signal that stops the cycle after this number of checks."""
    left = iter(range(steps))
    return lambda: next(left, None) is None


def moves(decision: CycleResult) -> list[object]:
    return [
        (group.action, group.beneficiary, group.evictions, group.reservations, group.bindings)
        for group in decision.groups
        if group.evictions or group.reservations or group.bindings
    ]


@given(data=st.data(), steps=st.integers(0, 200))
def test_stopped_cycle_is_a_prefix_of_the_complete_one_and_breaks_no_rule(
    data: st.DataObject, steps: int
) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    stopped = answer(cluster, PROFILE, stop_after(steps))
    assert find_violations(CycleRun(cluster, stopped)) == []
    assert moves(stopped) == moves(answer(cluster, PROFILE))[: len(moves(stopped))]


@given(data=st.data(), steps=st.integers(0, 200))
def test_infeasible_outcome_of_a_stopped_cycle_is_infeasible_in_the_complete_one(
    data: st.DataObject, steps: int
) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    whole, stopped = answer(cluster, PROFILE), answer(cluster, PROFILE, stop_after(steps))
    final = (OutcomeKind.INFEASIBLE, OutcomeKind.WAITING_FOR_CAPACITY)
    unplaced = {each.pod_group for each in whole.outcomes if each.kind in final}
    for outcome in stopped.outcomes:
        if outcome.kind in final:
            assert outcome.pod_group in unplaced


@given(data=st.data())
def test_stop_signal_that_never_fires_changes_nothing(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    assert answer(cluster, PROFILE, lambda: False) == answer(cluster, PROFILE)

"""Budgets and rates in requests and responses: what is spent, told, stored and simulated (R15.9, R15.12)."""

from dataclasses import replace
from itertools import pairwise
from typing import Final

import pytest
from tenure.codec.engine import Engine
from tenure.codec.simulation import SimulationEngine
from tenure.server.explain.why_not_victim import why_not_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.disruption_limits import EvictionRate
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import REASON_CODE_DISRUPTION_BUDGET, REASON_CODE_EVICTION_RATE
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot, DisruptionBudget, EvictionRateState

from tests.codec.snapshots.contested_snapshot import contested_snapshot
from tests.solver.budgets.test_disruption_budgets import three_nodes

RATE: Final = EvictionRate("slow", 1, 3_600 * SECOND, 1)


def paced(*rates: EvictionRate) -> Profile:
    return replace(default_profile(), options=replace(CycleOptions(), eviction_rates=rates))


def snapshot_with_budget(allowed: int) -> ClusterSnapshot:
    """The only victim names a budget."""
    snapshot = contested_snapshot(left_quota_milli=0)
    snapshot.disruption_budgets.add(name="ns/b", allowed=allowed)
    for pod in snapshot.pods:
        pod.disruption_budgets.append("ns/b")
    return snapshot


def decide(snapshot: ClusterSnapshot, profile: Profile | None = None) -> DecideResponse:
    return Engine(profile or default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()


def evictions(response: DecideResponse) -> list[list[str]]:
    """Budgets of each evicted pod."""
    steps = [step for group in response.groups for step in group.decisions]
    return [list(step.evict.disruption_budgets) for step in steps if step.HasField("evict")]


def test_each_eviction_names_the_budgets_that_it_spends_and_the_response_what_is_left() -> None:
    response = decide(snapshot_with_budget(2))
    spent = evictions(response)
    assert spent
    assert set(map(tuple, spent)) == {("ns/b",)}
    (status,) = response.disruption_budgets
    found = (status.name, status.allowed, status.in_flight, status.spent, status.left)
    assert found == ("ns/b", 2, 0, len(spent), 2 - len(spent))


def test_who_waits_for_a_budget_is_told() -> None:
    response = decide(snapshot_with_budget(0))
    assert evictions(response) == []
    codes = {outcome.reason.code for outcome in response.outcomes}
    assert REASON_CODE_DISRUPTION_BUDGET in codes


def test_a_charged_rate_is_a_patch_that_the_next_snapshot_brings() -> None:
    snapshot, profile = contested_snapshot(left_quota_milli=0), paced(RATE)
    first = decide(snapshot, profile)
    taken = len(evictions(first))
    assert taken
    (patch,) = first.state_patches
    state = patch.set_eviction_rate
    assert (state.name, state.tokens_milli, state.time) == ("slow", 1_000 - 1_000 * taken, snapshot.now)
    (status,) = first.eviction_rates
    assert (status.before_milli, status.after_milli) == (1_000, state.tokens_milli)
    snapshot.eviction_rates.append(state)
    second = decide(snapshot, profile)
    assert evictions(second) == []
    assert not second.state_patches
    assert REASON_CODE_EVICTION_RATE in {outcome.reason.code for outcome in second.outcomes}
    assert second.next_wake_time.seconds == snapshot.now.seconds + 3_600 * taken


def test_rates_that_the_profile_does_not_have_change_nothing() -> None:
    snapshot = contested_snapshot(left_quota_milli=0)
    expected = decide(snapshot)
    snapshot.eviction_rates.add(name="gone", tokens_milli=-5).time.seconds = 1
    assert decide(snapshot) == expected


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_rows_changes_nothing(order: int) -> None:
    """P15.3."""
    snapshot = snapshot_with_budget(1)
    snapshot.disruption_budgets.add(name="other", allowed=0)
    snapshot.pods[0].disruption_budgets.append("other")
    expected = decide(snapshot)
    budgets = [DisruptionBudget.FromString(row.SerializeToString()) for row in snapshot.disruption_budgets]
    del snapshot.disruption_budgets[:]
    snapshot.disruption_budgets.extend(budgets[::order])
    for pod in snapshot.pods:
        names = list(pod.disruption_budgets)[::order]
        pod.disruption_budgets[:] = names
    assert decide(snapshot).outcomes == expected.outcomes
    assert decide(snapshot).disruption_budgets == expected.disruption_budgets


def test_simulated_cycles_carry_budgets_and_rates() -> None:
    """What the first cycle spends is missing in the second, and comes back with pods that start."""
    snapshot = snapshot_with_budget(2)
    request = SimulateRequest(snapshot=snapshot, cycles=3)
    cycles = SimulateResponse.FromString(SimulationEngine(paced(RATE)).simulate(request)).cycles
    assert cycles[0] == decide(snapshot, paced(RATE))
    for before, after in pairwise(cycles):
        assert after.eviction_rates[0].before_milli >= before.eviction_rates[0].after_milli
    states = [status.allowed for response in cycles for status in response.disruption_budgets]
    assert all(0 <= allowed <= 2 for allowed in states)
    assert EvictionRateState() not in [patch.set_eviction_rate for patch in cycles[0].state_patches]


def test_explain_names_the_budget_that_holds_a_victim() -> None:
    cluster = three_nodes().build()
    tight = tuple([budget._replace(allowed=0) for budget in cluster.disruption_budgets])
    replay = CycleReplay(replace(cluster, disruption_budgets=tight), default_profile())
    groups = {group.facts.name: group.index for group in cluster.pod_groups}
    found = why_not_victim(replay, groups["d0"], groups["u1"])
    assert "disruption budget one would be exceeded" in found.text.operator
    assert "budget" in found.text.public

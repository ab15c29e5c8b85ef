"""Rates and limits of disruptions (semantics R15.7, R15.8, R15.9, R15.10, R15.11)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.disruption_limits import EVICTION_RATES, EvictionRate, EvictionRateState
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, Profile, profile_of, profile_text
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.facts import NOW
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.budgets.test_disruption_budgets import evicted, waits

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
TEN: Final = EvictionRate("ten", 10, HOUR, 4)
SPEED: Final = pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])


def profile(*rates: EvictionRate, actions: Sequence[str] = ("preempt",), **options: object) -> Profile:
    values = {"eviction_rates": rates, "fill_back": "never", **options}
    return replace(default_profile(), actions=tuple(actions), options=replace(CycleOptions(), **values))


def gang(size: int, *, tokens: int | None = None, queue: str = "q") -> ClusterBuilder:
    """A gang of this size runs; a pod group with higher priority needs all its capacity."""
    builder = ClusterBuilder().queue("top").queue(queue, parent="top", quota=size).node("n", gpus=size)
    builder.pod_group("old", queue=queue, priority=50, min_member=size)
    builder.running("old", node="n", count=size, gpus=1)
    builder.pod_group("new", queue=queue, priority=90, min_member=size)
    builder.pending("new", count=size, gpus=1)
    return builder if tokens is None else with_tokens(builder, tokens)


def with_tokens(builder: ClusterBuilder, tokens: int) -> ClusterBuilder:
    """Add what is left of TEN, in thousandths of tokens."""
    return builder.carrying(EVICTION_RATES, EvictionRateState("ten", tokens, NOW))


def told(builder: ClusterBuilder, result: CycleResult) -> tuple[OutcomeKind, ReasonCode, int | None]:
    return waits(builder, result)["new"]


@SPEED
def test_e15_3_a_commit_waits_for_its_tokens(speedups: tuple[str, ...]) -> None:
    builder = gang(3, tokens=1_500)
    result = answer(builder.build(), profile(TEN, speedups=speedups))
    end = NOW + 9 * MINUTE
    assert evicted(builder, result) == []
    assert told(builder, result) == (OutcomeKind.DELAYED, ReasonCode.EVICTION_RATE, end)
    assert result.next_wake_time == end
    (status,) = result.eviction_rates
    assert (status.before, status.after, status.is_changed) == (1_500, 1_500, False)
    assert status.refusals > 0
    later = replace(builder.build(), now=end)
    assert len(evicted(later, answer(later, profile(TEN, speedups=speedups)))) == 3
    before = replace(builder.build(), now=end - 1)
    assert not evicted(before, answer(before, profile(TEN, speedups=speedups)))


def test_the_end_is_the_first_time_with_enough_tokens() -> None:
    """Between two thousandths of a token, the cycle has fewer tokens than the state will have added."""
    slow = TEN._replace(added=1)
    builder = gang(3, tokens=1_500)
    cluster = replace(builder.build(), now=NOW + SECOND)
    end = told(builder, answer(cluster, profile(slow)))[2]
    assert end == NOW + HOUR * 3 // 2
    assert not evicted(replace(cluster, now=end - 1), answer(replace(cluster, now=end - 1), profile(slow)))
    assert len(evicted(replace(cluster, now=end), answer(replace(cluster, now=end), profile(slow)))) == 3


@SPEED
def test_e15_3_a_large_gang_passes_with_a_full_bucket_and_leaves_a_debt(speedups: tuple[str, ...]) -> None:
    builder = gang(6, tokens=4_000)
    result = answer(builder.build(), profile(TEN, speedups=speedups))
    assert len(evicted(builder, result)) == 6
    (status,) = result.eviction_rates
    assert (status.before, status.after, status.full_time) == (4_000, -2_000, NOW + 36 * MINUTE)
    single = gang(1, tokens=-2_000)
    assert told(single, answer(single.build(), profile(TEN)))[2] == NOW + 18 * MINUTE


@pytest.mark.parametrize(
    ("rate", "taken"),
    [
        (TEN._replace(scope="victimQueue", queue="q"), 0),
        (TEN._replace(scope="victimQueue", queue="top"), 0),
        (TEN._replace(scope="victimQueue", queue="other"), 3),
        (TEN._replace(scope="preemptorQueue", queue="top"), 0),
        (TEN._replace(scope="preemptorQueue", queue="other"), 3),
        (TEN._replace(actions=("reclaim",)), 3),
        (TEN._replace(actions=("reclaim", "preempt")), 0),
        (TEN._replace(unit="podGroups"), 3),
        (TEN._replace(name="full"), 3),
    ],
    ids=["victims", "below", "others", "preemptors", "others'", "action", "actions", "groups", "no state"],
)
def test_what_a_rate_counts(rate: EvictionRate, taken: int) -> None:
    builder = gang(3, tokens=1_500)
    assert len(evicted(builder, answer(builder.build(), profile(rate)))) == taken


def singles(count: int) -> ClusterBuilder:
    """As many victims as preemptors, of one pod each."""
    builder = ClusterBuilder().queue("q", quota=count)
    for number in range(count):
        builder.node(f"n{number}", gpus=1)
        builder.running(f"old{number}", queue="q", priority=50, node=f"n{number}", gpus=1)
    for number in range(count):
        builder.pending(f"new{number}", queue="q", priority=90, gpus=1)
    return builder


@SPEED
def test_large_evictions_come_in_batches_that_the_bucket_allows(speedups: tuple[str, ...]) -> None:
    """Ten victims, four at once, then one each six minutes: in any time at most burst plus rate (P15.2)."""
    cluster, paced = singles(10).build(), profile(TEN, speedups=speedups)
    taken = []
    for _ in range(8):
        result = answer(cluster, paced)
        taken.append(len(evicted(cluster, result)))
        cluster = apply_decisions(cluster, result, 6 * MINUTE)
        cluster = replace(cluster, in_flight=())
    assert taken[:4] == [4, 1, 1, 1]
    assert all(sum(taken[i:j]) <= 4 + (j - 1 - i) for i in range(8) for j in range(i + 1, 9))


def test_the_clock_back_refills_nothing() -> None:
    builder = gang(3, tokens=1_500)
    cluster = replace(builder.build(), now=NOW - HOUR)
    (status,) = answer(cluster, profile(TEN)).eviction_rates
    assert status.before == 1_500


@SPEED
@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({"max_disrupted_per_cycle": 2}, 2),
        ({"max_disrupted_per_cycle": 0}, 0),
        ({"max_disrupted_per_pod_group": 1}, 5),
        ({"max_disrupted_per_pod_group": 0}, 0),
    ],
)
def test_limits_of_a_cycle(options: dict[str, int], taken: int, speedups: tuple[str, ...]) -> None:
    builder = singles(5)
    result = answer(builder.build(), profile(speedups=speedups, **options))
    assert len(evicted(builder, result)) == taken
    codes = {code for _, code, _ in waits(builder, result).values()}
    assert codes == ({ReasonCode.EVICTION_RATE} if taken < 5 else set())


@SPEED
def test_a_scenario_is_trimmed_to_the_limit_of_a_pod_group(speedups: tuple[str, ...]) -> None:
    builder = ClusterBuilder().queue("q", quota=8)
    builder.node("n1", gpus=4).node("n2", gpus=4, labels={"zone": "x"})
    builder.pod_group("elastic", queue="q", priority=50, min_member=1)
    builder.running("elastic", node="n2", count=4, gpus=1).running("elastic", node="n1", count=4, gpus=1)
    builder.pending("urgent", queue="q", priority=90, gpus=1, node_selector={"zone": "x"})
    result = answer(builder.build(), profile(speedups=speedups, max_disrupted_per_pod_group=1))
    assert evicted(builder, result) == ["elastic-3"]


def test_a_stale_gang_waits_for_its_tokens() -> None:
    builder = with_tokens(ClusterBuilder().node("n", gpus=3).queue("q", quota=3), 1_500)
    builder.pod_group("gang", queue="q", min_member=4, stale_ago="1h", staleness_grace_period=MINUTE)
    builder.running("gang", node="n", count=3, gpus=1)
    result = answer(builder.build(), profile(TEN, actions=("stalegangeviction",)))
    assert evicted(builder, result) == []
    assert result.next_wake_time == NOW + 9 * MINUTE
    later: Cluster = replace(builder.build(), now=NOW + 9 * MINUTE)
    assert len(evicted(later, answer(later, profile(TEN, actions=("stalegangeviction",))))) == 3


def test_rates_are_part_of_the_profile_text() -> None:
    made = profile(TEN._replace(actions=("preempt",)))
    assert profile_of(profile_text(made)) == made
    text = profile_text(profile()).replace('"eviction_rates": [], ', "")
    assert profile_of(text) == profile(), "as recorded before there were rates"


def test_tokens_of_a_rate_are_exact() -> None:
    """A third of a token is not lost by splitting the time, beyond a thousandth for each charge."""
    rate = EvictionRate("r", 1, 3 * SECOND, 5)
    assert rate.refilled(0, SECOND) == 333
    assert rate.time_for(333) == 999_000_000
    assert rate.refilled(-7_000, 10**12) == 5_000
    assert rate.refilled(10, -SECOND) == 10

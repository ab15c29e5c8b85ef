"""Past use of queues in fair shares (semantics R18.4, R18.5, R18.6, R18.7, R18.9, R4.70)."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.queue import QUEUE_USAGE, WHOLE_CLUSTER, QueueUsage, UsageMean, mean_at_start
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugins.proportion.usage_history import follow
from tenure.solver.plugins.proportion.usage_settings import PARSERS
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

HALF_LIFE: Final = 1_024_000
"""Seconds, so that a step has 1,000."""
ALL_GPUS: Final = mean_at_start((0, 0, 8_000))


def part(mean: UsageMean) -> float:
    """GPUs of 8."""
    return mean.average[2] / 8_000_000


def at(mean: UsageMean, begin: int, end: int) -> UsageMean:
    """A mean at a later time, all of which is charged."""
    return follow(mean, begin, end, 1_000, charged=end)


def test_average_approaches_constant_use_by_half_in_a_half_life_e18_2() -> None:
    once = at(ALL_GPUS, 0, HALF_LIFE)
    twice = at(once, HALF_LIFE, 2 * HALF_LIFE)
    idle = at(twice._replace(rate=(0, 0, 0)), 2 * HALF_LIFE, 3 * HALF_LIFE)
    assert (part(once), part(twice), part(idle)) == pytest.approx((0.5, 0.75, 0.375), abs=1e-6)


def test_use_since_the_begin_of_a_step_is_held() -> None:
    short = at(ALL_GPUS, 0, 999)
    assert (short.average, short.held) == (ALL_GPUS.average, (0, 0, 8_000 * 999))
    assert at(short, 999, 1_000).held == (0, 0, 0)


def test_earlier_time_changes_nothing() -> None:
    assert at(ALL_GPUS, 5_000, 4_000) == ALL_GPUS


@pytest.mark.parametrize("seed", range(5))
def test_more_cycles_change_no_average_by_more_than_one_millionth_per_step_p18_1(seed: int) -> None:
    random, time = Random(seed), 0
    once = often = ALL_GPUS
    while time < HALF_LIFE:
        change = min(HALF_LIFE, time + random.randrange(1, 200_000))
        rate = (0, 0, random.randrange(8_001))
        once, often, begin = at(once._replace(rate=rate), time, change), often._replace(rate=rate), time
        while begin < change:
            later = min(change, begin + random.randrange(1, 5_000))
            begin, often = later, at(often, begin, later)
        time = change
    assert abs(often.average[2] - once.average[2]) <= HALF_LIFE // 1_000


def two_queues(gpus: int = 8, quota: int = 0) -> ClusterBuilder:
    """Queues `a` and `b` that ask for all GPUs."""
    builder = ClusterBuilder().node("n", gpus=gpus).queue("a", quota=quota).queue("b", quota=0)
    return builder.pending("one", queue="a", gpus=1, count=gpus).pending("two", queue="b", gpus=1, count=gpus)


def with_use(cluster: Cluster, **millionths: int) -> Cluster:
    """Past use of queues by the account of the caller."""
    rows = [
        QueueUsage(queue.index, 0, None, normalized=(0, 0, millionths[queue.facts.name]))
        for queue in cluster.queues
        if queue.facts.name in millionths
    ]
    return cluster.carrying(QUEUE_USAGE, tuple(rows))


def profile(**arguments: str) -> Profile:
    return Profile(("allocate",), (PluginConfig("proportion", arguments),))


def reclaiming(**arguments: str) -> Profile:
    """The default profile with a history of past use."""
    plain, changed = default_profile(), PluginConfig("proportion", {"usageHalfLife": "1024000s", **arguments})
    return replace(plain, plugins=tuple([changed if p.name == "proportion" else p for p in plain.plugins]))


def past_use(result: CycleResult) -> float:
    """The part of the GPUs of the cluster that the only queue used."""
    (queue,) = result.queues
    assert queue.past_use is not None
    return queue.past_use[2] / 1_000_000


def gpus(result: CycleResult, cluster: Cluster) -> Mapping[str, int]:
    """Fair shares of GPUs by queue name."""
    return {cluster.queues[one.queue].facts.name: one.fair_share[2] // 1_000 for one in result.queues}


@pytest.mark.parametrize(
    ("k", "quota", "use", "expected"),
    [
        pytest.param("0", 0, (500_000, 0), (4, 4), id="E18.1 k=0"),
        pytest.param("1", 0, (500_000, 0), (3, 5), id="E18.1 k=1"),
        pytest.param("4", 0, (500_000, 0), (1, 7), id="E18.1 k=4"),
        pytest.param("1", 4, (900_000, 0), (4, 4), id="E18.1 quota"),
        pytest.param("1", 0, (1_200_000, 1_200_000), (4, 4), id="E18.5 nobody has a part"),
    ],
)
def test_queue_that_used_much_gets_less_beyond_its_quota(
    k: str, quota: int, use: tuple[int, int], expected: tuple[int, int]
) -> None:
    cluster = with_use(two_queues(quota=quota).build(), a=use[0], b=use[1])
    result = answer(cluster, profile(kValue=k))
    assert gpus(result, cluster) == {"a": expected[0], "b": expected[1]}
    assert result.changed(QUEUE_USAGE) == ()


@pytest.mark.parametrize(
    ("use", "k"),
    [({}, "0"), ({}, "1"), ({}, "10"), ({"a": 900_000, "b": 100_000}, "0"), ({"a": 0, "b": 0}, "1")],
)
@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (1.0, 2.5)])
def test_without_past_use_or_k_shares_are_by_weight_p18_2(
    use: Mapping[str, int], k: str, weights: tuple[float, float]
) -> None:
    builder = ClusterBuilder().node("n", gpus=11)
    for name, weight in zip(("a", "b"), weights, strict=True):
        builder.queue(name, quota=1, weight=weight).pending(f"of-{name}", queue=name, gpus=1, count=11)
    cluster = builder.build()
    usual, other = answer(cluster, profile()), answer(with_use(cluster, **use), profile(kValue=k))
    assert [each.fair_share for each in other.queues] == [each.fair_share for each in usual.queues]
    assert other.groups == usual.groups


def test_past_use_without_k_changes_no_decision_p18_2() -> None:
    for seed in range(60):
        cluster, random = random_cluster(SeededDraw(seed)), Random(seed)
        used = {queue.facts.name: random.randrange(1_000_001) for queue in cluster.queues}
        usual, other = answer(cluster, profile()), answer(with_use(cluster, **used), profile(kValue="0"))
        assert (other.groups, other.outcomes) == (usual.groups, usual.outcomes), seed


@pytest.mark.parametrize(("k", "below", "above"), [("1", 967_000, 968_000), ("10", 532_000, 533_000)])
def test_whole_cluster_changes_hands_when_one_queue_used_enough_e18_3(k: str, below: int, above: int) -> None:
    builder = ClusterBuilder().node("n", gpus=16).queue("a", quota=0).queue("b", quota=0)
    cluster = builder.pending("one", queue="a", gpus=16).pending("two", queue="b", gpus=16).build()

    def share(use: int) -> int:
        return gpus(answer(with_use(cluster, a=use), profile(kValue=k)), cluster)["b"]

    assert share(below) < 16
    assert share(above) == 16


@pytest.mark.parametrize(
    ("k", "half_lives", "changes_hands"),
    [("1", 4.95, False), ("1", 4.96, True), ("10", 1.09, False), ("10", 1.10, True)],
)
def test_whole_cluster_is_reclaimed_after_some_half_lives_and_not_before_r4_41_e18_3(
    k: str, half_lives: float, changes_hands: bool
) -> None:
    """`a` runs from cold, and asks for no more."""
    builder = ClusterBuilder().node("n", gpus=16).queue("a", quota=0).queue("b", quota=0)
    builder.pending("one", queue="a", gpus=16, created_ago="1h").pending("two", queue="b", gpus=16)
    kept = reclaiming(kValue=k, usageMaxGap="100d")
    cluster = builder.build()
    first = answer(cluster, kept)
    assert [group.beneficiary for group in first.groups] == [0]
    later = apply_decisions(cluster, first, round(half_lives * HALF_LIFE) * SECOND)
    result = answer(later, kept)
    evicting = [(group.action, group.beneficiary) for group in result.groups if group.evictions]
    assert evicting == ([("reclaim", 1)] if changes_hands else [])
    assert (gpus(result, later)["b"] == 16) is changes_hands


@pytest.mark.parametrize(("scope", "expected"), [("cluster", (4, 4)), ("parent", (1, 7))])
def test_use_is_a_part_of_the_cluster_or_of_the_share_of_the_parent_e18_4(
    scope: str, expected: tuple[int, int]
) -> None:
    builder = ClusterBuilder().node("n", gpus=80).queue("dept", quota=8).queue("rest", quota=72)
    builder = builder.queue("a", parent="dept", quota=0).queue("b", parent="dept", quota=0)
    builder = builder.pending("x", queue="rest", gpus=1, count=72)
    cluster = (
        builder.pending("one", queue="a", gpus=1, count=8).pending("two", queue="b", gpus=1, count=8).build()
    )
    index = {queue.facts.name: queue.index for queue in cluster.queues}
    now = cluster.now // SECOND
    rows = [
        QueueUsage(WHOLE_CLUSTER, now, mean_at_start((0, 0, 80_000), (0, 0, 80_000_000))),
        QueueUsage(
            index["dept"],
            now,
            mean_at_start((0, 0, 0), (0, 0, 7_200_000)),
            mean_at_start((0, 0, 8_000), (0, 0, 8_000_000)),
        ),
        QueueUsage(index["a"], now, mean_at_start((0, 0, 0), (0, 0, 7_200_000))),
        QueueUsage(index["b"], now, mean_at_start((0, 0, 0))),
    ]
    cluster = cluster.carrying(QUEUE_USAGE, tuple(sorted(rows)))
    result = answer(cluster, profile(usageHalfLife="7d", usageScope=scope))
    assert tuple(gpus(result, cluster)[name] for name in "ab") == expected


def test_history_is_kept_from_cycle_to_cycle() -> None:
    kept = profile(usageHalfLife="1024s", usageMaxGap="1h")
    cluster = ClusterBuilder().node("n", gpus=8).queue("a", quota=0).queue("b", quota=0)
    cluster = cluster.pending("one", queue="a", gpus=8).build()
    first = answer(cluster, kept)
    assert [row.queue for row in first.changed(QUEUE_USAGE)] == [WHOLE_CLUSTER, 0, 1]
    later = apply_decisions(cluster, first, 1_024 * SECOND)
    second = answer(later, kept)
    used = {row.queue: row.used.average[2] for row in second.changed(QUEUE_USAGE) if row.used is not None}
    assert used[0] == pytest.approx(4_000_000, abs=10_000)
    assert used[WHOLE_CLUSTER] == 8_000_000
    assert answer(later, kept).changed(QUEUE_USAGE) == second.changed(QUEUE_USAGE)
    assert second.next_wake_time == later.now - later.now % SECOND + SECOND


@pytest.mark.parametrize("gap", [{}, {"usageMaxGap": "15m"}], ids=["default", "15m"])
def test_time_without_cycles_is_charged_up_to_the_gap_e18_6(gap: Mapping[str, str]) -> None:
    long = profile(usageHalfLife=f"{HALF_LIFE}s", usageMaxGap="100d")
    cluster = ClusterBuilder().node("n", gpus=8).queue("a", quota=0).pending("one", queue="a", gpus=8).build()
    once = apply_decisions(cluster, answer(cluster, long), HALF_LIFE * SECOND)
    result = answer(once, long)
    assert past_use(result) == pytest.approx(0.5, abs=1e-3)
    twice = apply_decisions(once, result, HALF_LIFE * SECOND)
    assert past_use(answer(twice, long)) == pytest.approx(0.75, abs=1e-3)
    assert past_use(answer(twice, profile(usageHalfLife=f"{HALF_LIFE}s", **gap))) == pytest.approx(
        0.2503, abs=1e-4
    )


def test_clock_that_is_set_back_moves_nothing() -> None:
    kept = profile(usageHalfLife="1024s")
    cluster = ClusterBuilder().node("n", gpus=8).queue("a", quota=0).build()
    later = apply_decisions(cluster, answer(cluster, kept), 0)
    assert answer(replace(later, now=later.now - 3_600 * SECOND), kept).changed(QUEUE_USAGE) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("usageHalfLife", "0s"),
        ("usageHalfLife", "1023s"),
        ("usageHalfLife", "soon"),
        ("usageScope", "queue"),
        ("usageMaxGap", "0s"),
    ],
)
def test_argument_that_would_switch_the_history_off_is_refused_r18_8(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        PARSERS[name](text)


RESET: Final = {"usageHalfLife": "1024000s", "usageMaxGap": "100d", "usageReset": "1970-01-01T00:00:00Z/1d"}


def used_by(
    cluster: Cluster, elapsed: int, arguments: Mapping[str, str]
) -> tuple[dict[int, float], CycleResult]:
    """Past use of GPUs by queue after one cycle and a time, and the next result."""
    first = answer(cluster, profile(**arguments))
    later = apply_decisions(cluster, first, elapsed * SECOND)
    result = answer(later, profile(**arguments))
    rows = later.carried.after(result.carried).rows(QUEUE_USAGE)
    return {row.queue: row.used.average[2] / 8_000_000 for row in rows if row.used}, result


def test_history_begins_again_at_each_reset() -> None:
    """R18.6: averages of queues are 0 and that of the capacity is the capacity; later use counts."""
    cluster = two_queues().build()
    day = 86_400
    start = cluster.now // SECOND
    to_reset = day - start % day
    kept, _ = used_by(cluster, to_reset - 1, RESET)
    fresh, result = used_by(cluster, to_reset, RESET)
    assert kept[WHOLE_CLUSTER] == fresh[WHOLE_CLUSTER] == 1
    assert (kept[0] > 0, fresh[0], fresh[1]) == (True, 0, 0)
    later, _ = used_by(cluster, to_reset + 2_000, RESET)
    assert 0 < later[0] < 0.01
    assert result.next_wake_time is not None
    assert result.next_wake_time // SECOND <= start + to_reset + day


def test_reset_wakes_a_cluster_that_waits() -> None:
    arguments = {**RESET, "usageHalfLife": "1000d"}
    cluster = two_queues().build()
    day = 86_400 * SECOND
    wake = answer(cluster, profile(**arguments)).next_wake_time
    assert wake == cluster.now - cluster.now % day + day or (wake is not None and wake < cluster.now + day)


@pytest.mark.parametrize(
    "text", ["7d", "2025-01-06/7d", "2025-01-06T00:00:00Z", "2025-01-06T00:00:00Z/0s", "x/7d"]
)
def test_invalid_reset_names_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="2025-01-06T00:00:00Z/7d"):
        PARSERS["usageReset"](text)

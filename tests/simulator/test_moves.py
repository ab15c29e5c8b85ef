"""Decisions without reasons are those with reasons, also where many pod groups of few kinds wait."""

import pytest
from tenure.solver.actions.known_failures import KnownFailures, passing_over_known_failures
from tenure.solver.cycle import decide as decide_alone
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import KINDS, OPT_OUTS, random_cluster

CLUSTERS = 150
CROWDS = 16
WAITING = 30


def crowd(draw: SeededDraw) -> Cluster:
    """Queues that use each other's share, and pod groups of few kinds that wait in each of them."""
    builder = ClusterBuilder()
    for number in range(3):
        builder.node(f"n{number}", gpus=4, cpus=64)
    builder.queue("dept", quota=6, weight=1)
    queues = ("a", "b", "c")
    for name in queues:
        builder.queue(
            name,
            parent=draw.choice(("", "dept")),
            quota=draw.choice((4, 2, 6)),
            weight=draw.choice((1, 0, 2)),
            limit=draw.choice((-1, -1, -1, 5)),
            reclaim_min_runtime=draw.choice((None, "5m", "2h")),
        )
    for number in range(12):
        builder.running(
            f"run{number}",
            node=f"n{number % 3}",
            gpus=draw.choice((1, 1, 1, 0.5)),
            queue=draw.choice(queues),
            priority=draw.choice((50, 50, 75)),
            created_ago=f"{600 - number}m",
            started_ago=draw.choice(("10m", "3h", "1m")),
        )
    for number in range(WAITING):
        options = {"preemptibility": draw.choice(KINDS)} if draw.chance(10) else {}
        if draw.chance(5):
            options["opt_out_actions"] = draw.choice(OPT_OUTS)
        if draw.chance(5):
            options["preemption_delay"] = "9h"
        pods = draw.choice((1, 1, 1, 1, 2, 3))
        builder.pending(
            f"wait{number}",
            count=pods,
            min_member=draw.choice((pods, pods, 1)),
            gpus=draw.choice((1, 1, 1, 2, 4, 0.5)),
            queue=draw.choice(queues),
            priority=draw.choice((50, 50, 50, 75, 125)),
            created_ago=f"{500 - number}m",
            **options,
        )
    return builder.build()


def decide_moves(cluster: Cluster, profile: Profile) -> CycleResult:
    return decide_alone(cluster, passing_over_known_failures(profile)).close()


def moves_of(result: CycleResult) -> tuple[object, ...]:
    return result.groups, result.queues, result.next_wake_time, result.in_flight


def with_minimum() -> Profile:
    profile = default_profile()
    arguments = {"defaultReclaimMinRuntime": "30m", "defaultPreemptMinRuntime": "5m"}
    plugins = [
        PluginConfig(each.name, arguments) if each.name == "minruntime" else each for each in profile.plugins
    ]
    return Profile(profile.actions, tuple(plugins), profile.options)


def test_moves_and_times_are_those_of_a_cycle_with_reasons() -> None:
    evicting = waking = 0
    for seed in range(CLUSTERS):
        cluster = random_cluster(SeededDraw(seed))
        full = answer(cluster, default_profile())
        assert moves_of(decide_moves(cluster, default_profile())) == moves_of(full), seed
        evicting += any(group.evictions for group in full.groups)
        waking += full.next_wake_time is not None
    assert evicting > CLUSTERS // 10
    assert waking > CLUSTERS // 10


def test_many_pod_groups_of_few_kinds_are_passed_over_without_another_decision() -> None:
    evicting = tried = tried_with_reasons = 0
    for seed in range(CROWDS):
        cluster = crowd(SeededDraw(seed))
        for profile in (default_profile(), with_minimum()):
            full, found = answer(cluster, profile), decide_moves(cluster, profile)
            assert moves_of(found) == moves_of(full), seed
            evicting += any(group.evictions for group in full.groups)
            tried += found.counters.placement_attempts
            tried_with_reasons += full.counters.placement_attempts
    assert evicting > CROWDS // 2
    assert tried * 3 < tried_with_reasons * 2


@pytest.mark.parametrize("sizes", [(1,), (1, 2)], ids=["one kind", "two kinds in turn"])
def test_a_cycle_takes_no_more_attempts_for_more_pod_groups_of_a_kind(sizes) -> None:
    def attempts(waiting: int) -> int:
        builder = ClusterBuilder().node("n", gpus=4).queue("a", quota=2).queue("b", quota=2)
        builder.running("run", node="n", gpus=4, queue="a", created_ago="9h", started_ago="8h")
        for number in range(waiting):
            builder.pending(f"wait{number}", gpus=sizes[number % len(sizes)], queue="a", created_ago="1h")
        return decide_moves(builder.build(), default_profile()).counters.placement_attempts

    assert 0 < attempts(160) == attempts(16)


@pytest.mark.interpreted
def test_kinds_that_cannot_be_compared_take_no_more_attempts_either() -> None:
    def turns(waiting: int) -> int:
        builder = ClusterBuilder().node("n", gpus=4, cpus=64).queue("a", quota=2).queue("b", quota=2)
        builder.running("run", node="n", gpus=4, queue="a", created_ago="9h", started_ago="8h")
        for number in range(waiting):
            options = {"gpus": 2, "cpus": 1} if number % 2 else {"gpus": 1, "cpus": 4}
            builder.pending(f"wait{number:03}", queue="a", created_ago=f"{900 - number}m", **options)
        seen = []
        covers = KnownFailures.covers
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                KnownFailures, "covers", lambda self, each: [seen.append(each), covers(self, each)][1]
            )
            decide_moves(builder.build(), default_profile())
        return len(seen)

    assert 0 < turns(160) == turns(16)

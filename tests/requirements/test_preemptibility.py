"""Preemptibility and priority, decided by a server: independent of each other; old pod groups as before."""

from typing import Any, Final

import pytest
from tenure.client import InvalidSnapshot
from tenure.v1.decide_pb2 import DecideResponse, WarningCode
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, Preemptibility

from tests.requirements.answers import bound, evicted, evicting_actions, outcome, protections
from tests.requirements.cluster import ClusterText
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide

KEY: Final = "kai.scheduler/preemptibility"
ABOVE_ALL: Final = 1_000
"""A priority above all others, so that only preemptibility can prevent an eviction."""
ACTIONS: Final = ["reclaim", "preempt", "consolidation", "requeue"]
UNSET, PREEMPTIBLE, FIRM, SEMI = "UNSPECIFIED", "PREEMPTIBLE", "NON_PREEMPTIBLE", "SEMI_PREEMPTIBLE"


def contested(action: str, priority: int = 50, mode: str = UNSET, **more: Any) -> ClusterText:
    """Only `old` blocks `new`, and only this action could evict it."""
    cluster = ClusterText().queue("b", quota=9).queue("a", quota=0 if action == "reclaim" else 9)
    cluster.snapshot.queues[0].priority = 200
    old: dict[str, Any] = {"priority": priority, "mode": mode, **more}
    new: dict[str, Any] = {"priority": ABOVE_ALL, "mode": PREEMPTIBLE}
    if action == "consolidation":
        cluster.node("n1", gpus=2).node("n2", gpus=2)
        cluster.runs("fixed", "a", node="n2", mode=FIRM).runs("old", "a", node="n1", **old)
        return cluster.waits("new", "a", gpus=2, **new)
    if action == "requeue":
        cluster.node().runs("old", "a", expected_runtime="1m", **old)
        return cluster.waits("new", "b", **new)
    cluster.node().runs("old", "a", **old)
    return cluster.waits("new", "b" if action == "reclaim" else "a", **new)


def is_evicted(answer: DecideResponse, action: str) -> bool:
    """Whether `old`, and nothing else, is evicted, and by this action."""
    assert evicted(answer) in ([], ["old-0"])
    assert evicting_actions(answer) == [action] * len(evicted(answer))
    return bool(evicted(answer))


VICTIMS: Final = {
    "unset, train (50): yields": (50, UNSET, True),
    "unset, build-preemptible (75): yields": (75, UNSET, True),
    "unset, just below 100: yields": (99, UNSET, True),
    "unset, build (100): stays": (100, UNSET, False),
    "unset, inference (125): stays": (125, UNSET, False),
    "preemptible in spite of 125: yields": (125, PREEMPTIBLE, True),
    "non-preemptible in spite of 50: stays": (50, FIRM, False),
    "preemptible and low: yields": (50, PREEMPTIBLE, True),
    "non-preemptible and high: stays": (125, FIRM, False),
    "semi-preemptible, all of it the minimum: stays": (50, SEMI, False),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("priority", "mode", "expected"), VICTIMS.values(), ids=VICTIMS)
def test_explicit_value_first_and_then_the_priority_in_every_action(
    priority: int, mode: str, expected: bool, action: str, decide: Decide
) -> None:
    answer = decide(contested(action, priority, mode))
    assert is_evicted(answer, action) is expected
    legacy = [WarningCode.Name(each.code) for each in answer.warnings if "old" in each.pod_groups]
    assert legacy == (["WARNING_CODE_LEGACY_PREEMPTIBILITY"] if mode == UNSET else [])


EXAMPLES: Final = {
    "1: inference (125), and Preemptible": ("Preemptible", 125, True),
    "2: train (50), and Non-Preemptible": ("Non-Preemptible", 50, False),
    "4: build (100), and nothing": ("", 100, False),
    "train (50), and nothing": ("", 50, True),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("value", "priority", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_of_the_proposal_with_the_annotation(
    value: str, priority: int, expected: bool, action: str, decide: Decide
) -> None:
    annotations = {KEY: value} if value else {}
    assert is_evicted(decide(contested(action, priority, annotations=annotations)), action) is expected


VALUES: Final = {
    "Preemptible": ([], ""),
    "Non-Preemptible": (["ALL"], ""),
    "Semi-Preemptible": (["CORE"], ""),
    "preemptible": ([], ""),
    "nonpreemptible": (["ALL"], ""),
    "SEMIPREEMPTIBLE": (["CORE"], ""),
    "": ([], "LEGACY_PREEMPTIBILITY"),
    "maybe": (["ALL"], "UNKNOWN_PREEMPTIBILITY"),
    "true": (["ALL"], "UNKNOWN_PREEMPTIBILITY"),
    "preemptible,non-preemptible": (["ALL"], "UNKNOWN_PREEMPTIBILITY"),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.items(), ids=[value or "empty" for value in VALUES])
def test_annotation_has_three_values_and_any_other_protects(
    value: str, expected: tuple[list[str], str], decide: Decide
) -> None:
    cluster = ClusterText().node().queue("q").runs("old", "q", annotations={KEY: value})
    answer = decide(cluster)
    scopes, warning = expected
    found = [WarningCode.Name(each.code).removeprefix("WARNING_CODE_") for each in answer.warnings]
    assert (protections(answer, "preemptibility"), found) == (scopes, [warning] if warning else [])
    cluster.waits("new", "q", priority=ABOVE_ALL, mode=PREEMPTIBLE)
    assert evicted(decide(cluster)) == ([] if scopes else ["old-0"])


@pytest.mark.parametrize("value", ["Preemptible", "Non-Preemptible", "maybe"])
@pytest.mark.parametrize(("mode", "expected"), [(PREEMPTIBLE, []), (FIRM, ["ALL"]), (SEMI, ["CORE"])])
def test_field_precedes_the_annotation(mode: str, expected: list[str], value: str, decide: Decide) -> None:
    cluster = ClusterText().node().queue("q").runs("old", "q", mode=mode, annotations={KEY: value})
    answer = decide(cluster)
    assert (protections(answer, "preemptibility"), list(answer.warnings)) == (expected, [])


def test_field_accepts_the_three_values_only(decide: Decide) -> None:
    assert len(Preemptibility.items()) == 4
    cluster = ClusterText().node().queue("q").runs("old", "q")
    for number in (4, -1, 99):
        cluster.group("old").ClearField("preemptibility")
        cluster.snapshot.pod_groups[0].MergeFromString(bytes([0x30, *_varint(number)]))
        with pytest.raises(InvalidSnapshot) as refused:
            decide(cluster)
        assert "pod_groups[0].preemptibility" in str(refused.value)


def _varint(number: int) -> list[int]:
    number %= 1 << 64
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return [*found, number]


@pytest.mark.parametrize(("priority", "expected"), [(125, False), (126, True)])
def test_preemptible_pod_group_yields_in_its_queue_to_higher_priority_only(
    priority: int, expected: bool, decide: Decide
) -> None:
    cluster = ClusterText().node().queue("q").runs("old", "q", priority=125, mode=PREEMPTIBLE)
    cluster.waits("new", "q", priority=priority, mode=PREEMPTIBLE)
    assert is_evicted(decide(cluster), "preempt") is expected


@pytest.mark.parametrize("first", [PREEMPTIBLE, FIRM, SEMI])
@pytest.mark.parametrize("second", [PREEMPTIBLE, FIRM, SEMI])
def test_priority_alone_determines_the_order(first: str, second: str, decide: Decide) -> None:
    cluster = ClusterText().node().queue("q", quota=8)
    cluster.waits("low", "q", priority=50, mode=first).waits("high", "q", priority=60, mode=second)
    assert bound(decide(cluster)) == ["high-0"]


QUOTAS: Final = {
    "low, but non-preemptible: within the quota only": (50, FIRM, "WAITING_FOR_QUOTA"),
    "high, but preemptible: beyond it too": (125, PREEMPTIBLE, "BOUND"),
    "unset, 100: within the quota only": (100, UNSET, "WAITING_FOR_QUOTA"),
    "unset, 99: beyond it too": (99, UNSET, "BOUND"),
}


@pytest.mark.parametrize(("priority", "mode", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_quota_limits_non_preemptible_pod_groups(
    priority: int, mode: str, expected: str, decide: Decide
) -> None:
    cluster = ClusterText().node(gpus=2).queue("q", quota=1)
    cluster.waits("job", "q", gpus=2, priority=priority, mode=mode)
    assert outcome(decide(cluster), "job") == expected
    cluster.snapshot.queues[0].gpu_milli.quota = 2_000
    assert outcome(decide(cluster), "job") == "BOUND"


@pytest.mark.parametrize(("wanted", "expected"), [(3, ["high-0", "legacy-0", "low-0"]), (4, [])])
def test_of_a_queue_with_all_modes_only_the_preemptible_ones_are_evicted(
    wanted: int, expected: list[str], decide: Decide
) -> None:
    cluster = ClusterText().node(gpus=4).queue("q")
    cluster.runs("low", "q", mode=PREEMPTIBLE).runs("firm", "q", mode=FIRM)
    cluster.runs("high", "q", priority=125, mode=PREEMPTIBLE).runs("legacy", "q", priority=75)
    cluster.waits("new", "q", gpus=wanted, priority=ABOVE_ALL, mode=PREEMPTIBLE)
    assert evicted(decide(cluster)) == expected


@pytest.mark.parametrize(("mode", "completes"), [(FIRM, True), (SEMI, True), (PREEMPTIBLE, False)])
def test_it_runs_to_completion_once_it_is_scheduled(mode: str, completes: bool, decide: Decide) -> None:
    """Twenty minutes under every pressure, by preemption, reclaim, consolidation and requeue."""
    cluster = ClusterText().node("n1").node("n2").queue("b", quota=2).queue("a", quota=1)
    cluster.snapshot.queues[0].priority = 200
    cluster.waits("old", "a", mode=mode, expected_runtime="1m")
    first = decide(cluster)
    assert bound(first) == ["old-0"]
    go_on(cluster, first, 60)
    found = set()
    for minute in range(20):
        priority = ABOVE_ALL + minute
        cluster.waits(f"new-{minute}", "ab"[minute % 2], priority=priority, mode=PREEMPTIBLE)
        answer = decide(cluster)
        found |= {*evicted(answer)}
        go_on(cluster, answer, 60)
    assert found
    assert ("old-0" not in found) is completes


SURPLUS: Final = {
    "the pod beyond the minimum goes": (3, 2, 1, ["old-2"]),
    "not two of three, with a minimum of two": (3, 2, 2, []),
    "nothing, at the minimum": (2, 2, 1, []),
    "all pods beyond the minimum": (4, 1, 3, ["old-1", "old-2", "old-3"]),
}


@pytest.mark.parametrize("action", ["reclaim", "preempt", "requeue"])
@pytest.mark.parametrize(("pods", "minimum", "wanted", "expected"), SURPLUS.values(), ids=SURPLUS)
def test_semi_preemptible_pod_group_loses_its_surplus_and_never_its_minimum(
    pods: int, minimum: int, wanted: int, expected: list[str], action: str, decide: Decide
) -> None:
    cluster = ClusterText().node(gpus=pods).queue("b", quota=9)
    cluster.snapshot.queues[0].priority = 200
    cluster.queue("a", quota=minimum if action == "reclaim" else 9)
    cluster.runs("old", "a", pods=pods, minimum=minimum, mode=SEMI, expected_runtime="1m")
    queue = "a" if action == "preempt" else "b"
    cluster.waits("new", queue, pods=wanted, priority=ABOVE_ALL, mode=PREEMPTIBLE)
    answer = decide(cluster, "", "allocate", action)
    assert evicted(answer) == expected
    assert protections(answer, "preemptibility") == ["CORE"]


def test_other_victims_are_found_where_the_minimum_is_in_the_way(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=4).queue("a", quota=0).queue("b", quota=4)
    cluster.runs("next", "a", pods=2, minimum=1, priority=60, mode=PREEMPTIBLE)
    cluster.runs("old", "a", pods=2, minimum=1, mode=SEMI).waits("new", "b", pods=3, mode=PREEMPTIBLE)
    assert evicted(decide(cluster)) == ["next-0", "next-1", "old-1"]


REQUESTED: Final = {
    "the minimum fills the quota, the rest goes beyond": (2, 4, 2, 4),
    "the minimum would exceed the quota": (3, 4, 2, 0),
    "a minimum of 0 asks nothing of the quota": (0, 2, 0, 2),
}


@pytest.mark.parametrize(("minimum", "pods", "quota", "expected"), REQUESTED.values(), ids=REQUESTED)
def test_minimum_of_a_semi_preemptible_pod_group_is_within_the_quota(
    minimum: int, pods: int, quota: int, expected: int, decide: Decide
) -> None:
    cluster = ClusterText().node(gpus=8).queue("q", quota=quota)
    cluster.waits("job", "q", pods=pods, minimum=minimum, mode=SEMI)
    assert bound(decide(cluster)) == [f"job-{number}" for number in range(expected)]


RUNNING: Final = {"the minimum counts": (2, 3, 1, True), "and all of it": (2, 3, 2, False)}


@pytest.mark.parametrize(("minimum", "running", "asked", "expected"), RUNNING.values(), ids=RUNNING)
def test_running_minimum_uses_the_quota_and_the_surplus_does_not(
    minimum: int, running: int, asked: int, expected: bool, decide: Decide
) -> None:
    cluster = ClusterText().node(gpus=8).queue("q", quota=3)
    cluster.runs("old", "q", pods=running, minimum=minimum, mode=SEMI)
    cluster.waits("new", "q", gpus=asked, mode=FIRM)
    assert bound(decide(cluster)) == (["new-0"] if expected else [])


def test_minimum_of_a_semi_preemptible_pod_group_reclaims_within_its_quota_only(decide: Decide) -> None:
    for quota, expected in ((2, ["old-0", "old-1"]), (1, [])):
        cluster = ClusterText().node(gpus=2).queue("a", quota=0).queue("b", quota=quota)
        cluster.runs("old", "a", pods=2, mode=PREEMPTIBLE)
        assert evicted(decide(cluster.waits("new", "b", pods=2, mode=SEMI))) == expected


def test_unset_value_is_legacy_and_not_preemptible_by_default(decide: Decide) -> None:
    """A default of the field would make old pod groups of class build preemptible."""
    cluster = contested("preempt", 100)
    assert evicted(decide(cluster)) == []
    cluster.group("old").preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    assert evicted(decide(cluster)) == ["old-0"]


def test_old_pod_groups_are_counted_and_named(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=8).queue("q", quota=8)
    for number in range(3):
        cluster.runs(f"legacy-{number}", "q", priority=50 + 50 * number)
    cluster.runs("explicit", "q", mode=PREEMPTIBLE)
    (warning,) = decide(cluster).warnings
    assert (list(warning.pod_groups), warning.count) == (["legacy-0", "legacy-1", "legacy-2"], 3)


def test_stale_gang_that_is_not_preemptible_ends(decide: Decide) -> None:
    """The only way in which a non-preemptible pod group ends early: it cannot make progress."""
    cluster = ClusterText().node(gpus=3).queue("q").runs("gang", "q", pods=2, minimum=3, mode=FIRM)
    cluster.pods("gang", "FAILED").group("gang").stale_since.seconds = 1
    assert evicting_actions(decide(cluster)) == ["stalegangeviction"]

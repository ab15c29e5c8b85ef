"""The check of min-runtime protection knows who is protected from whom, and until when."""

import pytest
from tenure.v1 import decision_service_pb2, snapshot_pb2

from tests.verify import RuntimeGuards, sound, verify

SECOND_NS = 1_000_000_000
PROTECTED = "runtime: reclaim evicts pod old-0 of protected pod group old: 0 of 2 pods are left"


def _world(
    ran_s: int, **reclaim_min_runtime_s: int
) -> tuple[snapshot_pb2.ClusterSnapshot, decision_service_pb2.DecideResponse]:
    """The sound answer, with the victims running for so long and minimums on some queues."""
    snapshot = sound.snapshot()
    for group in snapshot.pod_groups:
        group.last_start_time.FromSeconds(sound.NOW_S - ran_s)
    for queue in snapshot.queues:
        if queue.name in reclaim_min_runtime_s:
            queue.reclaim_min_runtime.FromSeconds(reclaim_min_runtime_s[queue.name])
    return snapshot, sound.response()


@pytest.mark.parametrize(
    ("ran_s", "minimums", "guards", "is_protected"),
    [
        (59, {"b": 60}, RuntimeGuards(), True),
        (60, {"b": 60}, RuntimeGuards(), False),
        (59, {}, RuntimeGuards(default_reclaim=60 * SECOND_NS), True),
        (59, {"b": 0}, RuntimeGuards(default_reclaim=60 * SECOND_NS), False),
        (59, {"org": 60}, RuntimeGuards(), True),
        (59, {"b": 0, "org": 60}, RuntimeGuards(), False),
        (59, {"a": 60}, RuntimeGuards(), False),
        (59, {}, RuntimeGuards(default_preempt=60 * SECOND_NS), False),
    ],
    ids=[
        "before the minimum",
        "at the minimum",
        "default",
        "explicit zero stops the walk",
        "inherited",
        "the nearer queue wins",
        "the reclaimer's queue does not protect",
        "the preempt value does not protect from reclaim",
    ],
)
def test_reclaim_respects_the_minimum_runtime(
    ran_s: int, minimums: dict[str, int], guards: RuntimeGuards, is_protected: bool
) -> None:
    snapshot, response = _world(ran_s, **minimums)
    assert (PROTECTED in verify(snapshot, response, guards)) is is_protected


def test_a_pod_group_without_a_start_time_is_not_protected() -> None:
    snapshot, response = _world(59, b=60)
    for group in snapshot.pod_groups:
        group.ClearField("last_start_time")
    assert verify(snapshot, response) == []


@pytest.mark.parametrize(("method", "is_protected"), [("lca", False), ("queue", True)])
def test_across_top_level_queues_lca_looks_at_the_top_only(method: str, is_protected: bool) -> None:
    snapshot, response = _world(59, b=60)
    snapshot.queues.add(name="other")
    next(queue for queue in snapshot.queues if queue.name == "a").parent = "other"
    found = verify(snapshot, response, RuntimeGuards(reclaim_method=method))
    assert (PROTECTED in found) is is_protected


@pytest.mark.parametrize(("min_member", "is_protected"), [(1, True), (0, False)])
def test_a_protected_elastic_pod_group_keeps_its_minimum(min_member: int, is_protected: bool) -> None:
    snapshot, response = _world(59, b=60)
    next(group for group in snapshot.pod_groups if group.uid == "old").min_member = min_member
    found = verify(snapshot, response)
    assert any(line.startswith("runtime:") for line in found) is is_protected


def test_preempt_walks_up_from_the_victims_leaf() -> None:
    snapshot, response = _world(59)
    next(queue for queue in snapshot.queues if queue.name == "org").preempt_min_runtime.FromSeconds(60)
    response.groups[1].action = "preempt"
    next(group for group in snapshot.pod_groups if group.uid == "old").queue = "a"
    assert verify(snapshot, response) == [
        line.replace("reclaim", "preempt") for line in (PROTECTED, PROTECTED.replace("old-0", "old-1"))
    ]

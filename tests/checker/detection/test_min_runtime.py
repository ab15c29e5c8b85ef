"""The min-runtime check: which pod group is protected from which preemptor, and until when."""

import pytest
from tenure.v1 import decide_pb2, snapshot_pb2

from tests.checker import RuntimeGuards, verify
from tests.checker.detection import sound_response
from tests.checker.detection.mutations import drop_decisions, find

SECOND_NS = 1_000_000_000
PROTECTED = "runtime: reclaim evicts 2 of 2 pods of pod group old, which has not run for its minimum"


def _world(
    ran_s: int, **reclaim_min_runtime_s: int
) -> tuple[snapshot_pb2.ClusterSnapshot, decide_pb2.DecideResponse]:
    """Build the sound response with victims that have run for `ran_s` seconds and minimums on some queues."""
    snapshot = sound_response.snapshot()
    for group in snapshot.pod_groups:
        group.last_start_time.FromSeconds(sound_response.NOW_S - ran_s)
    for queue in snapshot.queues:
        if queue.name in reclaim_min_runtime_s:
            queue.reclaim_min_runtime.FromSeconds(reclaim_min_runtime_s[queue.name])
    return snapshot, sound_response.response()


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
def test_lca_across_top_level_queues_uses_the_top_only(method: str, is_protected: bool) -> None:
    snapshot, response = _world(59, b=60)
    snapshot.queues.add(name="other")
    next(queue for queue in snapshot.queues if queue.name == "a").parent = "other"
    found = verify(snapshot, response, RuntimeGuards(reclaim_method=method))
    assert (PROTECTED in found) is is_protected


@pytest.mark.parametrize(("min_member", "is_protected"), [(2, True), (1, True), (0, False)])
def test_protected_pod_group_retains_its_minimum(min_member: int, is_protected: bool) -> None:
    snapshot, response = _world(59, b=60)
    find(snapshot, "pod_groups", "old").min_member = min_member
    assert (PROTECTED in verify(snapshot, response)) is is_protected


@pytest.mark.parametrize(("required", "is_protected"), [(None, True), (2, True), (1, False)])
def test_protected_pod_group_can_lose_an_optional_sub_group(required: int | None, is_protected: bool) -> None:
    snapshot, response = _world(59, b=60)
    old = find(snapshot, "pod_groups", "old")
    for number in range(2):
        old.sub_groups.add(name=f"part{number}", min_member=1)
        find(snapshot, "pods", f"old-{number}").sub_group = f"part{number}"
    if required is not None:
        old.min_sub_group = required
    drop_decisions(response, "evict-old-1")
    found = [line for line in verify(snapshot, response) if line.startswith("runtime: ")]
    assert bool(found) is is_protected


def _within(action: str) -> tuple[snapshot_pb2.ClusterSnapshot, decide_pb2.DecideResponse]:
    """The victim is in the queue of the beneficiary, so the preempt value of the top queue applies."""
    snapshot, response = _world(59)
    find(snapshot, "queues", "org").preempt_min_runtime.FromSeconds(60)
    response.groups[1].action = action
    find(snapshot, "pod_groups", "old").queue = "a"
    return snapshot, response


def test_preempt_walks_up_from_the_victims_leaf() -> None:
    assert verify(*_within("preempt")) == [PROTECTED.replace("reclaim", "preempt")]


@pytest.mark.parametrize("action", ["consolidation", "requeue"])
def test_other_actions_use_the_preempt_minimum_within_a_queue_and_else_the_reclaim_minimum(
    action: str,
) -> None:
    protected = PROTECTED.replace("reclaim", action)
    assert protected in verify(*_within(action))
    snapshot, response = _world(59, b=60)
    response.groups[1].action = action
    assert protected in verify(snapshot, response)


def test_guarded_actions_are_those_of_the_profile() -> None:
    snapshot, response = _world(59, b=60)
    assert verify(snapshot, response, RuntimeGuards(actions=("preempt", "consolidation"))) == []
    assert PROTECTED in verify(snapshot, response, RuntimeGuards(actions=("reclaim",)))

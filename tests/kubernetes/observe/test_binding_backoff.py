"""A pod whose binding was refused is blocked for a while, longer after each refusal, and then tried again."""

from collections.abc import Callable

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder

from tests.kubernetes.observe.cached_cluster import (
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

WHY = "its binding to n1 failed: a policy"
UID = "uid-p"


@pytest.fixture
def world() -> CachedCluster:
    made = CachedCluster()
    made.put("nodes", node())
    made.put("kai_queues", queue("q"))
    made.put("kai_pod_groups", pod_group("job"))
    made.put("pods", pod("p", meta=member("job")))
    made.put("pods", pod("other", meta=member("job")))
    return made


def later(seconds: float) -> Timestamp:
    made = Timestamp()
    made.FromNanoseconds(NOW.ToNanoseconds() + int(seconds * 1e9))
    return made


def changed_reasons(builder: SnapshotBuilder, seconds: float) -> dict[str, str]:
    """Reasons in the pod rows of a delta."""
    return {row.uid: row.blocked_reason for row in builder.delta(later(seconds)).upserts.pods}


def recheck_after(builder: SnapshotBuilder) -> float | None:
    due = builder.recheck_seconds
    return None if due is None else due - NOW.seconds


def test_refused_pod_is_blocked_and_then_tried_again(world: CachedCluster) -> None:
    builder = world.builder()
    builder.snapshot(NOW)
    world.mirrors.binding_backoff.refuse(UID, WHY)
    assert changed_reasons(builder, 1) == {UID: WHY}
    assert recheck_after(builder) == 3
    assert changed_reasons(builder, 2) == {}
    assert changed_reasons(builder, 3) == {UID: ""}
    assert recheck_after(builder) is None


def test_each_refusal_doubles_the_pause_up_to_a_minute(world: CachedCluster) -> None:
    builder = world.builder()
    builder.snapshot(NOW)
    begin, pauses = 0.0, []
    for _ in range(7):
        world.mirrors.binding_backoff.refuse(UID, WHY)
        builder.delta(later(begin))
        end = recheck_after(builder)
        assert end is not None
        pauses.append(end - begin)
        assert changed_reasons(builder, end) == {UID: ""}
        begin = end
    assert pauses == [2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(
    "end",
    [
        lambda world: world.remove("pods", UID),
        lambda world: world.put("pods", running("p", meta=member("job"))),
    ],
    ids=["gone", "bound"],
)
def test_pod_that_is_gone_or_bound_is_forgotten(
    world: CachedCluster, end: Callable[[CachedCluster], None]
) -> None:
    builder = world.builder()
    builder.snapshot(NOW)
    world.mirrors.binding_backoff.refuse(UID, WHY)
    builder.delta(later(1))
    end(world)
    assert set(changed_reasons(builder, 2).values()) <= {""}
    builder.delta(later(2))
    assert recheck_after(builder) is None
    world.mirrors.binding_backoff.refuse("another", WHY)
    assert changed_reasons(builder, 3) == {}
    builder.delta(later(3))
    assert recheck_after(builder) is None, "a pod that is not there has no pause"

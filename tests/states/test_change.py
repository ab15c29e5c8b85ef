"""A change decoded by itself is what decoding everything anew would give."""

import pytest
from tenure.client.columns import to_columns
from tenure.client.deltas import difference
from tenure.server.codec.change import decode_change
from tenure.server.codec.decode import Decoded, decode
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.properties.draw import SeededDraw
from tests.server.given import small_snapshot
from tests.states.made import later_snapshot, made_snapshot
from tests.states.plain import plain


def without_claims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Claims tie pods to each other: with them everything is decoded anew."""
    del snapshot.device_claims[:]
    for pod in snapshot.pods:
        del pod.device_claims[:]
    return snapshot


def changed(before: Decoded, state: ClusterSnapshot, delta: StateDelta) -> Decoded | None:
    return decode_change(before, state, delta.upserts, delta.removes, delta.now.ToNanoseconds())


def facts(decoded: Decoded) -> tuple[object, ...]:
    return plain(decoded.cluster), decoded.pod_groups.whole(), decoded.tasks.whole()


def test_random_changes_give_the_cluster_of_the_whole_snapshot():
    short = 0
    for seed in range(120):
        draw = SeededDraw(seed)
        snapshot = without_claims(made_snapshot(draw, 3, 20))
        kept = decode(snapshot)
        for _ in range(6):
            after = without_claims(later_snapshot(draw, snapshot))
            delta = difference(snapshot, after)
            if draw.chance(30):
                delta.upserts.CopyFrom(to_columns(delta.upserts))
            whole, part = decode(after), changed(kept, snapshot, delta)
            if part is not None:
                short += 1
                assert facts(part) == facts(whole)
            snapshot, kept = after, part or whole
    assert short > 60


def _pod_of_nobody(delta: StateDelta) -> None:
    delta.upserts.pods.add(uid="new", pod_group="gone", shape="gpu", status=1)


def _orphan(delta: StateDelta) -> None:
    delta.removes.pod_groups.append("waits")


def _node(delta: StateDelta) -> None:
    delta.upserts.nodes.add(name="n3")


def _queue(delta: StateDelta) -> None:
    delta.removes.queues.append("left")


def _too_much(delta: StateDelta) -> None:
    delta.upserts.pod_groups.add(uid="big", queue="left", priority=-1, min_member=-1)


@pytest.mark.parametrize("change", [_pod_of_nobody, _orphan, _node, _queue, _too_much])
def test_other_rows_and_faults_take_the_long_way(change):
    snapshot, delta = small_snapshot(), StateDelta()
    change(delta)
    assert changed(decode(snapshot), snapshot, delta) is None


def test_rows_that_are_removed_and_upserted_are_there():
    snapshot = small_snapshot()
    delta = StateDelta()
    delta.now.CopyFrom(snapshot.now)
    delta.removes.pods.append("waits-0")
    delta.upserts.pods.add().CopyFrom(snapshot.pods[2])
    again = changed(decode(snapshot), snapshot, delta)
    assert again is not None
    assert facts(again) == facts(decode(snapshot))


def test_pods_that_come_and_go_leave_no_more_slots_than_they_take() -> None:
    """Their pod group stays, and their uids ever rise: nobody takes the slots that they leave."""
    snapshot = small_snapshot()
    group, shape, now = snapshot.pod_groups[0].uid, snapshot.shapes[0].id, snapshot.now.ToNanoseconds()
    kept = decode(snapshot)
    for number in range(300):
        delta = StateDelta()
        delta.upserts.pods.add(uid=f"zz-{number:03}", pod_group=group, shape=shape, status=1)
        delta.removes.pods.append(f"zz-{number - 10:03}")
        part = decode_change(kept, snapshot, delta.upserts, delta.removes, now)
        assert part is not None
        kept = part
    assert len(kept.cluster.tasks) < 4 * len(kept.tasks) + 64

"""Decoding a delta incrementally gives the same result as decoding the complete snapshot."""

import pytest
from tenure.codec.decode import DecodedSnapshot, decode
from tenure.codec.incremental_decode import decode_change
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.disruption_limits import EVICTION_RATES
from tenure.solver.model.queue import QUEUE_USAGE
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.columns import to_columns
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.small_snapshot import small_snapshot
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot
from tests.state.named_cluster import name_cluster


def without_claims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot without claims. Claims link pods, so a snapshot with claims is decoded completely."""
    del snapshot.resource_claims[:]
    for pod in snapshot.pods:
        del pod.resource_claims[:]
    return snapshot


def decode_delta(
    before: DecodedSnapshot, state: ClusterSnapshot, delta: StateDelta
) -> DecodedSnapshot | None:
    return decode_change(before, state, delta.upserts, delta.removals, delta.now.ToNanoseconds())


def facts(decoded: DecodedSnapshot) -> tuple[object, ...]:
    return name_cluster(decoded.cluster), decoded.pod_groups.to_dict(), decoded.tasks.to_dict()


def test_incremental_decode_equals_full_decode_for_random_changes():
    short = 0
    for seed in range(120):
        draw = SeededDraw(seed)
        snapshot = without_claims(generate_snapshot(draw, 3, 20))
        kept = decode(snapshot)
        for _ in range(6):
            after = without_claims(generate_next_snapshot(draw, snapshot))
            delta = compute_delta(snapshot, after)
            if draw.chance(30):
                delta.upserts.CopyFrom(to_columns(delta.upserts))
            whole, part = decode(after), decode_delta(kept, snapshot, delta)
            if part is not None:
                short += 1
                assert facts(part) == facts(whole)
            snapshot, kept = after, part or whole
    assert short > 60


def _pod_without_group(delta: StateDelta) -> None:
    delta.upserts.pods.add(uid="new", pod_group="gone", shape="gpu", status=1)


def _orphan(delta: StateDelta) -> None:
    delta.removals.pod_groups.append("waits")


def _node(delta: StateDelta) -> None:
    delta.upserts.nodes.add(name="n3")


def _queue(delta: StateDelta) -> None:
    delta.removals.queues.append("left")


def _exceeded_limit(delta: StateDelta) -> None:
    delta.upserts.pod_groups.add(uid="big", queue="left", priority=-1, min_member=-1)


@pytest.mark.parametrize("change", [_pod_without_group, _orphan, _node, _queue, _exceeded_limit])
def test_other_rows_and_violations_cause_a_full_decode(change):
    snapshot, delta = small_snapshot(), StateDelta()
    change(delta)
    assert decode_delta(decode(snapshot), snapshot, delta) is None


def test_removed_and_upserted_rows_are_present():
    snapshot = small_snapshot()
    delta = StateDelta()
    delta.now.CopyFrom(snapshot.now)
    delta.removals.pods.append("waits-0")
    delta.upserts.pods.add().CopyFrom(snapshot.pods[2])
    again = decode_delta(decode(snapshot), snapshot, delta)
    assert again is not None
    assert facts(again) == facts(decode(snapshot))


def test_added_and_removed_pods_leave_a_bounded_number_of_slots() -> None:
    """The pod group stays and new uids are always larger, so no new row reuses the freed slots."""
    snapshot = small_snapshot()
    group, shape, now = snapshot.pod_groups[0].uid, snapshot.shapes[0].id, snapshot.now.ToNanoseconds()
    kept = decode(snapshot)
    for number in range(300):
        delta = StateDelta()
        delta.upserts.pods.add(uid=f"zz-{number:03}", pod_group=group, shape=shape, status=1)
        delta.removals.pods.append(f"zz-{number - 10:03}")
        part = decode_change(kept, snapshot, delta.upserts, delta.removals, now)
        assert part is not None
        kept = part
    assert len(kept.cluster.tasks) < 4 * len(kept.tasks) + 64


def test_a_change_of_the_eviction_history_decodes_no_rows_again():
    snapshot = small_snapshot()
    record = snapshot.eviction_history.add(victim="runs", preemptor="waits")
    record.last_eviction_time.seconds = 1
    delta = StateDelta(now=snapshot.now)
    delta.upserts.eviction_history.add(victim="waits", preemptor="runs").last_eviction_time.seconds = 2
    delta.removals.eviction_history.add(victim="runs", preemptor="waits")
    part = decode_delta(decode(snapshot), snapshot, delta)
    assert part is not None
    (kept,) = part.cluster.eviction_history
    assert part.cluster.pod_groups[kept.victim].facts.uid == "waits"


def test_an_invalid_eviction_record_causes_a_full_decode():
    snapshot, delta = small_snapshot(), StateDelta()
    delta.upserts.eviction_history.add(victim="waits", preemptor="runs")
    assert decode_delta(decode(snapshot), snapshot, delta) is None


def test_a_change_of_past_use_decodes_no_rows_again() -> None:
    snapshot = small_snapshot()
    for name in ("", snapshot.queues[0].name, "gone"):
        snapshot.queue_usage.add(queue=name, normalized={"gpu": 1})
    delta = StateDelta(now=snapshot.now)
    delta.upserts.queue_usage.add(queue=snapshot.queues[0].name, normalized={"gpu": 5})
    delta.removals.queue_usage.extend(["gone", "unknown"])
    part = decode_delta(decode(snapshot), snapshot, delta)
    assert part is not None
    names = {queue.index: queue.facts.name for queue in part.cluster.queues}
    used = [(names.get(row.queue, ""), row.normalized) for row in part.cluster.carried.rows(QUEUE_USAGE)]
    assert used == [("", (0, 0, 1)), (snapshot.queues[0].name, (0, 0, 5))]


def test_a_change_of_reservations_decodes_no_rows_again() -> None:
    snapshot = small_snapshot()
    for name in ("gone", "waits"):
        snapshot.planned_starts.add(pod_group=name, since=snapshot.now, held=1)
    delta = StateDelta(now=snapshot.now)
    node, shape = snapshot.nodes[0].name, snapshot.shapes[0].id
    row = delta.upserts.planned_starts.add(pod_group="waits", since=snapshot.now, held=2)
    row.pods.add(node=node, shape=shape, pods=3)
    delta.removals.planned_starts.extend(["gone", "unknown"])
    part = decode_delta(decode(snapshot), snapshot, delta)
    assert part is not None
    (kept,) = part.cluster.carried.rows(PLANNED_STARTS)
    assert (kept.pod_group, kept.held) == ("waits", 2)
    assert [(part.cluster.nodes[p.node].facts.name, p.pods) for p in kept.places] == [(node, 3)]


def test_a_change_of_disruption_budgets_decodes_no_rows_again() -> None:
    snapshot = small_snapshot()
    for name in ("a", "b", "c"):
        snapshot.disruption_budgets.add(name=name, allowed=1)
    delta = StateDelta(now=snapshot.now)
    delta.upserts.disruption_budgets.add(name="b", allowed=5)
    delta.removals.disruption_budgets.append("c")
    part = decode_delta(decode(snapshot), snapshot, delta)
    assert part is not None
    assert [(each.name, each.allowed) for each in part.cluster.disruption_budgets] == [("a", 1), ("b", 5)]


def test_an_invalid_disruption_budget_causes_a_full_decode() -> None:
    snapshot, delta = small_snapshot(), StateDelta()
    delta.upserts.disruption_budgets.add(name="b", allowed=-1)
    assert decode_delta(decode(snapshot), snapshot, delta) is None


def test_a_change_of_eviction_rates_decodes_no_rows_again() -> None:
    snapshot = small_snapshot()
    for name in ("a", "b", "c"):
        snapshot.eviction_rates.add(name=name, tokens_milli=1, time=snapshot.now)
    delta = StateDelta(now=snapshot.now)
    delta.upserts.eviction_rates.add(name="b", tokens_milli=-5, time=snapshot.now)
    delta.removals.eviction_rates.append("c")
    part = decode_delta(decode(snapshot), snapshot, delta)
    assert part is not None
    rates = part.cluster.carried.rows(EVICTION_RATES)
    assert [(each.name, each.tokens) for each in rates] == [("a", 1), ("b", -5)]

"""An invalid snapshot is rejected with the path of every violation, in message order."""

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.violations import SnapshotValidationError

from tests.codec.snapshots.invalid_snapshots import INVALID_SNAPSHOTS, apply_change
from tests.small_snapshot import small_snapshot


def violations(snapshot: pb.ClusterSnapshot) -> tuple[str, ...]:
    with pytest.raises(SnapshotValidationError) as caught:
        decode_snapshot(snapshot)
    return tuple(map(str, caught.value.violations))


@pytest.mark.parametrize("how", INVALID_SNAPSHOTS)
def test_violating_field_is_named(how: str) -> None:
    assert violations(apply_change(small_snapshot(), how)) == INVALID_SNAPSHOTS[how]


def test_all_violations_are_listed_in_message_order() -> None:
    snapshot = small_snapshot()
    snapshot.eviction_history.add(victim="runs", preemptor="waits")
    snapshot.resource_claims.add(id="c")
    snapshot.topologies.add()
    snapshot.shapes[0].gpu.devices = -1
    snapshot.pods[2].status = 0
    snapshot.pods[0].node = ""
    snapshot.queues[1].parent = "no"
    snapshot.nodes[1].allocatable.pods = -1
    snapshot.nodes[0].gpu_memory_mib = -1
    snapshot.ClearField("now")
    assert [violation.partition(": ")[0] for violation in violations(snapshot)] == [
        "now",
        "nodes[0].gpu_memory_mib",
        "nodes[1].allocatable.pods",
        "queues[1].parent",
        "pods[0].node",
        "pods[2].status",
        "shapes[0].gpu.devices",
        "topologies[1].name",
        "topologies[1].levels",
        "resource_claims[0].requests",
        "eviction_history[0].last_eviction_time",
    ]


def test_empty_snapshot_lacks_only_its_header() -> None:
    assert violations(pb.ClusterSnapshot()) == ("cluster_id: is required", "now: is required")


def test_totals_must_fit_in_64_bits() -> None:
    snapshot = small_snapshot()
    for i in range(600):
        snapshot.nodes.add(name=f"big-{i}").allocatable.memory_bytes = 2**53
    assert violations(snapshot) == (f"nodes: amounts of memory add up to more than {2**62}",)


def test_chain_of_ten_thousand_queues_is_rejected_without_recursion() -> None:
    snapshot = small_snapshot()
    snapshot.queues.extend(pb.Queue(name=f"q{i}", parent=f"q{i - 1}" if i else "") for i in range(10_000))
    assert len(violations(snapshot)) == 10_000 - 32


def test_message_of_a_long_queue_cycle_is_shortened() -> None:
    snapshot = small_snapshot()
    snapshot.queues.extend(pb.Queue(name=f"q{i}", parent=f"q{(i + 1) % 1000}") for i in range(1000))
    assert violations(snapshot)[0] == (
        "queues[3].parent: is its own ancestor: 'q0' -> 'q1' -> 'q2' -> 'q3' -> ... -> 'q0'"
    )


def test_hostile_names_are_cut_and_escaped() -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].shape = "\x1b[31m" + "x" * 1000
    (violation,) = violations(snapshot)
    assert len(violation) < 150
    assert "\x1b" not in violation

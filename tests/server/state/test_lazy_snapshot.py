"""The message of a state does not depend on when it is built."""

import gc
import weakref
from copy import copy

import pytest
from tenure.server.state.lazy_snapshot import LazySnapshot
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.columns import to_columns
from tenure.wire.deltas import overlay

from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import generate_snapshot


def _deltas(snapshot: ClusterSnapshot, count: int) -> list[StateDelta]:
    """Change, remove and add pods and pod groups at random."""
    draw, deltas = SeededDraw(5), []
    for number in range(count):
        delta = StateDelta(version=snapshot.version + 1 + number, now=snapshot.now)
        pods = {draw.integer(0, len(snapshot.pods) - 1) for _ in range(3)}
        for index in sorted(pods):
            if draw.chance(30):
                delta.removals.pods.append(snapshot.pods[index].uid)
            else:
                pod = delta.upserts.pods.add()
                pod.CopyFrom(snapshot.pods[index])
                pod.name = f"changed {number}"
        delta.upserts.pod_groups.add().CopyFrom(draw.choice(snapshot.pod_groups))
        deltas.append(delta)
    return deltas


def test_many_deltas_result_in_the_same_message_as_one_by_one() -> None:
    snapshot = generate_snapshot(SeededDraw(1), 3, 30)
    written, expected = LazySnapshot(snapshot), snapshot
    for delta in _deltas(snapshot, 20):
        written = written.with_delta(delta)
        expected = overlay(expected, delta.upserts, delta.removals).snapshot
        expected.version = delta.version
    assert written.size >= expected.ByteSize()
    assert written.read() == expected
    assert written.size == expected.ByteSize()


def test_earlier_versions_retain_their_message() -> None:
    snapshot = generate_snapshot(SeededDraw(1), 3, 30)
    first = LazySnapshot(snapshot)
    later = first.with_delta(_deltas(snapshot, 1)[0])
    assert later.read() != snapshot
    assert first.read() == snapshot
    assert first.size == snapshot.ByteSize()


@pytest.mark.parametrize("columns", [False, True])
def test_accumulated_deltas_are_compacted_by_later_ones(columns: bool) -> None:
    snapshot = generate_snapshot(SeededDraw(1), 30, 300)
    deltas = _deltas(snapshot, 400)
    expected = to_columns(snapshot) if columns else snapshot
    written = LazySnapshot(expected)
    sizes = [written.size]
    for number, delta in enumerate(deltas):
        written = written.with_delta(delta)
        sizes.append(written.size)
        assert not written.is_long
        expected = overlay(expected, delta.upserts, delta.removals).snapshot
        expected.version = delta.version
        if number % 7 == 0:
            assert copy(written).read() == expected
    shrinks = [number for number in range(1, len(sizes)) if sizes[number] < sizes[number - 1]]
    assert len(shrinks) > 2, "they were worked in again and again"
    assert max(sizes) < 3.5 * expected.ByteSize()


def test_delta_larger_than_the_message_is_compacted_immediately() -> None:
    snapshot = generate_snapshot(SeededDraw(1), 3, 30)
    removing = StateDelta(version=snapshot.version + 1, now=snapshot.now)
    removing.removals.pods.extend(f"unknown-{number}" for number in range(5_000))
    written = LazySnapshot(snapshot).with_delta(removing)
    assert written.size <= snapshot.ByteSize() + 64
    assert written.read().version == removing.version


def test_partially_compacted_deltas_are_freed_immediately() -> None:
    """They are freed even if the garbage collector does not find them."""
    snapshot = generate_snapshot(SeededDraw(1), 3, 30)
    written, renewal = LazySnapshot(snapshot), None
    for delta in _deltas(snapshot, 100):
        written = written.with_delta(delta)
        renewal = written._form.compaction
        if renewal is not None:
            break
    assert renewal is not None
    gone = weakref.ref(renewal)
    gc.disable()
    try:
        del renewal, written
        assert gone() is None
    finally:
        gc.enable()

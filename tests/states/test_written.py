"""The message of a state is the same whenever it is written out."""

import gc
import weakref
from copy import copy

import pytest
from tenure.client.columns import to_columns
from tenure.server.state.overlay import overlay
from tenure.server.state.written import Written
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.properties.draw import SeededDraw
from tests.states.made import made_snapshot


def _deltas(snapshot: ClusterSnapshot, count: int) -> list[StateDelta]:
    """Pods and pod groups change, go and come back."""
    draw, deltas = SeededDraw(5), []
    for number in range(count):
        delta = StateDelta(version=snapshot.version + 1 + number, now=snapshot.now)
        pods = {draw.integer(0, len(snapshot.pods) - 1) for _ in range(3)}
        for index in sorted(pods):
            if draw.chance(30):
                delta.removes.pods.append(snapshot.pods[index].uid)
            else:
                pod = delta.upserts.pods.add()
                pod.CopyFrom(snapshot.pods[index])
                pod.name = f"changed {number}"
        delta.upserts.pod_groups.add().CopyFrom(draw.choice(snapshot.pod_groups))
        deltas.append(delta)
    return deltas


def test_many_notes_make_the_message_that_one_after_the_other_makes() -> None:
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    written, expected = Written(snapshot), snapshot
    for delta in _deltas(snapshot, 20):
        written = written.after(delta)
        expected = overlay(expected, delta.upserts, delta.removes).snapshot
        expected.version = delta.version
    assert written.size >= expected.ByteSize()
    assert written.read() == expected
    assert written.size == expected.ByteSize()


def test_versions_before_keep_their_message() -> None:
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    first = Written(snapshot)
    later = first.after(_deltas(snapshot, 1)[0])
    assert later.read() != snapshot
    assert first.read() == snapshot
    assert first.size == snapshot.ByteSize()


@pytest.mark.parametrize("columns", [False, True])
def test_notes_that_have_grown_are_worked_in_by_those_that_follow(columns: bool) -> None:
    snapshot = made_snapshot(SeededDraw(1), 30, 300)
    deltas = _deltas(snapshot, 400)
    expected = to_columns(snapshot) if columns else snapshot
    written = Written(expected)
    sizes = [written.size]
    for number, delta in enumerate(deltas):
        written = written.after(delta)
        sizes.append(written.size)
        assert not written.is_long
        expected = overlay(expected, delta.upserts, delta.removes).snapshot
        expected.version = delta.version
        if number % 7 == 0:
            assert copy(written).read() == expected
    shrinks = [number for number in range(1, len(sizes)) if sizes[number] < sizes[number - 1]]
    assert len(shrinks) > 2, "they were worked in again and again"
    assert max(sizes) < 3.5 * expected.ByteSize()


def test_a_delta_that_is_larger_than_the_message_is_worked_in_at_once() -> None:
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    removing = StateDelta(version=snapshot.version + 1, now=snapshot.now)
    removing.removes.pods.extend(f"unknown-{number}" for number in range(5_000))
    written = Written(snapshot).after(removing)
    assert written.size <= snapshot.ByteSize() + 64
    assert written.read().version == removing.version


def test_notes_that_are_half_worked_in_are_freed_at_once() -> None:
    """They may be out of the collector's sight."""
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    written, renewal = Written(snapshot), None
    for delta in _deltas(snapshot, 100):
        written = written.after(delta)
        renewal = written._form.renewal
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

"""The message of a state is the same whenever it is written out."""

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


def test_notes_that_have_grown_are_to_be_worked_in() -> None:
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    written = Written(snapshot)
    for delta in _deltas(snapshot, 40):
        written = written.after(delta)
    assert written.is_long
    written.read()
    assert not written.is_long


def test_what_is_removed_counts_though_it_was_not_there() -> None:
    snapshot = made_snapshot(SeededDraw(1), 3, 30)
    removing = StateDelta(version=snapshot.version + 1, now=snapshot.now)
    removing.removes.pods.extend(f"unknown-{number}" for number in range(5_000))
    written = Written(snapshot).after(removing)
    assert written.size >= snapshot.ByteSize() + removing.removes.ByteSize()
    assert written.is_long

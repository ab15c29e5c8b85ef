"""A state on its way by random deltas, good and bad: after each, what is kept is what must be kept."""

from typing import Final

import pytest
from tenure.client.deltas import difference
from tenure.server.codec.decode import decode_snapshot
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import Bounds, Fault, StateStore, full_state
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import Draw, SeededDraw
from tests.states.bad_deltas import BAD
from tests.states.engine import short_engine
from tests.states.made import later_snapshot, made_snapshot
from tests.states.mixed import mixed
from tests.states.plain import plain

EPOCH: Final = "epoch"
STEPS: Final = 6
ENGINE: Final = short_engine()


class Walk:
    """One state in a store, the snapshot that it must be, and the deltas that led there."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.snapshot = made_snapshot(draw, draw.integer(1, 3), draw.integer(1, 12))
        self.store = StateStore(Bounds(states=2, bytes=2**30, idle_seconds=3_600))
        self.store.put(full_state(EPOCH, mixed(draw, self.snapshot), DEFAULT_ROWS))
        self.past: list[pb.StateDelta] = []

    def next_delta(self) -> tuple[pb.StateDelta, ClusterSnapshot]:
        """A good delta, and the snapshot after it."""
        after = later_snapshot(self.draw, self.snapshot)
        delta = difference(self.snapshot, after)
        delta.base.epoch = EPOCH
        delta.upserts.CopyFrom(mixed(self.draw, delta.upserts))
        return delta, after

    def go(self) -> None:
        """Apply a good delta. Now and then it is sent twice, as when an answer got lost."""
        delta, self.snapshot = self.next_delta()
        for _ in range(2 if self.draw.chance(20) else 1):
            assert self.store.apply(delta).reference.version == self.snapshot.version
        self.past.append(delta)
        self.check()

    def stumble(self) -> None:
        """Send something bad: it is refused with the right code, and the state is the very same object."""
        kind = self.draw.choice(sorted(BAD))
        delta, code = BAD[kind](self)
        before = self.store.newest(self.reference)
        with pytest.raises(Fault) as caught:
            self.store.apply(delta)
        assert caught.value.code == code, kind
        assert self.store.newest(self.reference) is before

    @property
    def reference(self) -> pb.StateReference:
        return pb.StateReference(
            cluster_id="made", node_pool="pool", epoch=EPOCH, version=self.snapshot.version
        )

    def check(self) -> None:
        """The state is the snapshot, and so is the answer."""
        state = self.store.find(self.reference)
        kept, inline = state.cluster, decode_snapshot(self.snapshot)
        assert (kept.now, kept.nodes, kept.queues) == (inline.now, inline.nodes, inline.queues)
        assert plain(kept) == plain(inline)
        if self.draw.chance(4):
            request = DecideRequest(state=self.reference)
            by_state = ENGINE.decide_on(*state.at(self.snapshot.now), request)
            assert by_state == ENGINE.decide(DecideRequest(snapshot=self.snapshot))


def walk(seed: int) -> None:
    """A random sequence of good and bad deltas."""
    draw = SeededDraw(seed)
    state = Walk(draw)
    for _ in range(STEPS):
        if draw.chance(60):
            state.stumble()
        state.go()

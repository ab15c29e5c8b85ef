"""A state on its way by random deltas, good and bad: after each, what is kept is what must be kept."""

from typing import Final

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import StateError, StateStore, StoreLimits, full_state
from tenure.v1 import state_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import Draw, SeededDraw
from tests.state.column_forms import mix_columns
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot
from tests.state.invalid_deltas import INVALID_DELTAS
from tests.state.named_cluster import name_cluster
from tests.state.short_engine import short_engine

EPOCH: Final = "epoch"
STEPS: Final = 6
ENGINE: Final = short_engine()


class DeltaWalk:
    """One state in a store, the snapshot that it must be, and the deltas that led there."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.snapshot = generate_snapshot(draw, draw.integer(1, 3), draw.integer(1, 12))
        self.store = StateStore(StoreLimits(max_states=2, max_bytes=2**30, idle_seconds=3_600))
        self.store.put(full_state(EPOCH, mix_columns(draw, self.snapshot), DEFAULT_ROWS))
        self.past: list[pb.StateDelta] = []

    def next_delta(self) -> tuple[pb.StateDelta, ClusterSnapshot]:
        """A good delta, and the snapshot after it."""
        after = generate_next_snapshot(self.draw, self.snapshot)
        delta = compute_delta(self.snapshot, after)
        delta.base.epoch = EPOCH
        delta.upserts.CopyFrom(mix_columns(self.draw, delta.upserts))
        return delta, after

    def apply_next(self) -> None:
        """Apply a good delta. Now and then it is sent twice, as when an answer got lost."""
        delta, self.snapshot = self.next_delta()
        for _ in range(2 if self.draw.chance(20) else 1):
            assert self.store.apply(delta).reference.version == self.snapshot.version
        self.past.append(delta)
        self.check()

    def send_invalid(self) -> None:
        """Send something bad: it is refused with the right code, and the state is the very same object."""
        kind = self.draw.choice(sorted(INVALID_DELTAS))
        delta, code = INVALID_DELTAS[kind](self)
        before = self.store.newest(self.reference)
        with pytest.raises(StateError) as caught:
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
        assert name_cluster(kept) == name_cluster(inline)
        if self.draw.chance(4):
            request = DecideRequest(state=self.reference)
            by_state = ENGINE.decide_state(*state.with_time(self.snapshot.now), request)
            assert by_state == ENGINE.decide(DecideRequest(snapshot=self.snapshot))


def run_walk(seed: int) -> None:
    """A random sequence of good and bad deltas."""
    draw = SeededDraw(seed)
    state = DeltaWalk(draw)
    for _ in range(STEPS):
        if draw.chance(60):
            state.send_invalid()
        state.apply_next()

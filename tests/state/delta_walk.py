"""A state that random valid and invalid deltas change. It is checked after each delta."""

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
    """One state in a store, the expected snapshot, and the deltas applied so far."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.snapshot = generate_snapshot(draw, draw.integer(1, 3), draw.integer(1, 12))
        self.store = StateStore(StoreLimits(max_states=2, max_bytes=2**30, idle_seconds=3_600))
        self.store.put(full_state(EPOCH, mix_columns(draw, self.snapshot), DEFAULT_ROWS))
        self.past: list[pb.StateDelta] = []

    def next_delta(self) -> tuple[pb.StateDelta, ClusterSnapshot]:
        """A valid delta, and the snapshot after it."""
        after = generate_next_snapshot(self.draw, self.snapshot)
        delta = compute_delta(self.snapshot, after)
        delta.base.epoch = EPOCH
        delta.upserts.CopyFrom(mix_columns(self.draw, delta.upserts))
        return delta, after

    def apply_next(self) -> None:
        """Apply a valid delta. Now and then it is sent twice, as after a lost response."""
        delta, self.snapshot = self.next_delta()
        for _ in range(2 if self.draw.chance(20) else 1):
            assert self.store.apply(delta).reference.version == self.snapshot.version
        self.past.append(delta)
        self.check()

    def send_invalid(self) -> None:
        """Send an invalid delta. It is rejected with the expected code, and the state object is the same."""
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
        """Check that the state and the response equal those of the snapshot."""
        state = self.store.find(self.reference)
        kept, inline = state.cluster, decode_snapshot(self.snapshot)
        assert (kept.now, kept.nodes, kept.queues) == (inline.now, inline.nodes, inline.queues)
        assert name_cluster(kept) == name_cluster(inline)
        if self.draw.chance(4):
            request = DecideRequest(state=self.reference)
            by_state = ENGINE.decide_state(*state.with_time(self.snapshot.now), request)
            assert by_state == ENGINE.decide(DecideRequest(snapshot=self.snapshot))


def run_walk(seed: int) -> None:
    """Run a random sequence of valid and invalid deltas."""
    draw = SeededDraw(seed)
    state = DeltaWalk(draw)
    for _ in range(STEPS):
        if draw.chance(60):
            state.send_invalid()
        state.apply_next()

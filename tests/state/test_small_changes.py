"""Warm-start caches have no effect on responses: they equal those to full snapshots, byte for byte."""

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.codec.simulation import BaseState, SimulationEngine
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.server.state.versions import next_state
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import add_group
from tests.state.named_cluster import name_cluster
from tests.state.short_engine import short_engine
from tests.state.small_changes import STEPS, first_snapshot, next_snapshot

SEQUENCES, CHUNKS = 20, 4
ENGINE = short_engine()
SIMULATOR = SimulationEngine(ENGINE.profile)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_responses_on_a_changed_state_equal_those_on_its_snapshot(chunk: int) -> None:
    short = 0
    for seed in range(chunk, SEQUENCES, CHUNKS):
        draw = SeededDraw(seed)
        snapshot = first_snapshot(draw)
        state = full_state("epoch", snapshot, DEFAULT_ROWS)
        for _ in range(STEPS):
            after = next_snapshot(draw, snapshot)
            state = next_state(state, compute_delta(snapshot, after), 2**30, DEFAULT_ROWS)
            snapshot = after
            short += state.decoded.change is not None
            assert name_cluster(state.cluster) == name_cluster(decode_snapshot(snapshot)), seed
            if draw.chance(70):
                assert decide_full(state, snapshot) == decode_full(snapshot), seed
            if draw.chance(20):
                assert simulate(state) == simulate(snapshot), seed
    assert short > SEQUENCES // CHUNKS * STEPS // 3


def test_decision_on_a_prepared_state_is_the_same() -> None:
    for seed in range(20):
        snapshot = first_snapshot(SeededDraw(seed))
        state = full_state("epoch", snapshot, DEFAULT_ROWS)
        ENGINE.warm_up(state.cluster, state.warm_start)
        assert not state.warm_start.is_empty
        assert decide_full(state, snapshot) == decode_full(snapshot), seed


def decide_full(state: State, snapshot: ClusterSnapshot) -> bytes:
    request = DecideRequest(state=state.reference)
    decided = ENGINE.decide_state(*state.with_time(snapshot.now), request, warm_start=state.warm_start)
    return decided.content


def simulate(on: State | ClusterSnapshot) -> bytes:
    """Simulate two cycles with one more job."""
    request, job = SimulateRequest(cycles=2), ClusterSnapshot(nodes=[{"name": "node-00000"}])
    add_group(SeededDraw(3), job, "group-more", 7)
    request.upserts.pod_groups.extend(job.pod_groups)
    request.upserts.pods.extend(job.pods)
    source = None
    if isinstance(on, State):
        request.state.CopyFrom(on.reference)
        source = BaseState(on.header, on.decoded, on.lazy_snapshot.read, on.warm_start)
    else:
        request.snapshot.CopyFrom(on)
    return SIMULATOR.simulate(request, source)


def decode_full(snapshot: ClusterSnapshot) -> bytes:
    return ENGINE.decide(DecideRequest(snapshot=snapshot)).content

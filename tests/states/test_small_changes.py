"""What is kept from one state to the next never shows: answers are those to whole snapshots, to the byte."""

import pytest
from tenure.client.deltas import difference
from tenure.server.codec.decode import decode_snapshot
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.simulate import Simulator
from tenure.server.source import Source
from tenure.server.state import State, full_state
from tenure.server.state.state import next_state
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.states.engine import short_engine
from tests.states.made import add_group
from tests.states.plain import plain
from tests.states.small_changes import STEPS, first_snapshot, next_snapshot

SEQUENCES, CHUNKS = 40, 4
ENGINE = short_engine()
SIMULATOR = Simulator(ENGINE.profile)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_answers_on_a_state_of_many_changes_are_those_to_the_snapshot(chunk: int) -> None:
    short = 0
    for seed in range(chunk, SEQUENCES, CHUNKS):
        draw = SeededDraw(seed)
        snapshot = first_snapshot(draw)
        state = full_state("epoch", snapshot, DEFAULT_ROWS)
        for _ in range(STEPS):
            after = next_snapshot(draw, snapshot)
            state = next_state(state, difference(snapshot, after), 2**30, DEFAULT_ROWS)
            snapshot = after
            short += state.decoded.change is not None
            assert plain(state.cluster) == plain(decode_snapshot(snapshot)), seed
            if draw.chance(70):
                assert answer(state, snapshot) == fresh(snapshot), seed
            if draw.chance(20):
                assert simulated(state) == simulated(snapshot), seed
    assert short > SEQUENCES // CHUNKS * STEPS // 3


def test_a_state_that_was_prepared_is_decided_on_likewise() -> None:
    for seed in range(20):
        snapshot = first_snapshot(SeededDraw(seed))
        state = full_state("epoch", snapshot, DEFAULT_ROWS)
        ENGINE.prepare(state.cluster, state.opening)
        assert not state.opening.is_empty
        assert answer(state, snapshot) == fresh(snapshot), seed


def answer(state: State, snapshot: ClusterSnapshot) -> bytes:
    request = DecideRequest(state=state.reference)
    decided = ENGINE.decide_on(*state.at(snapshot.now), request, opening=state.opening)
    return decided.SerializeToString(deterministic=True)


def simulated(on: State | ClusterSnapshot) -> bytes:
    """Two cycles with one more job."""
    request, job = SimulateRequest(cycles=2), ClusterSnapshot(nodes=[{"name": "node-00000"}])
    add_group(SeededDraw(3), job, "group-more", 7)
    request.upserts.pod_groups.extend(job.pod_groups)
    request.upserts.pods.extend(job.pods)
    source = None
    if isinstance(on, State):
        request.state.CopyFrom(on.reference)
        source = Source(on.header, on.decoded, on.written.read, on.opening)
    else:
        request.snapshot.CopyFrom(on)
    return SIMULATOR.simulate(request, source).SerializeToString(deterministic=True)


def fresh(snapshot: ClusterSnapshot) -> bytes:
    return ENGINE.decide(DecideRequest(snapshot=snapshot)).SerializeToString(deterministic=True)

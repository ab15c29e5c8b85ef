"""The last answer about a state is given again only where deciding anew would give the same bytes."""

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.engine import Engine
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.solver.registry import default_profile
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.properties.guardprofiles import random_profile
from tests.server.given import small_snapshot
from tests.states.made import NOW_S, made_snapshot

RUNS_S = 1_700_000_000
"""The time of the small snapshot."""


def quiet_state(draw: SeededDraw) -> State:
    """A state of which nobody waits and nothing is remembered."""
    snapshot = made_snapshot(draw, 4, 25)
    waits = {pod.pod_group for pod in snapshot.pods if not pod.node}
    for rows, is_kept in (
        (snapshot.pod_groups, lambda row: row.uid not in waits),
        (snapshot.pods, lambda row: row.pod_group not in waits),
    ):
        left = [type(row).FromString(row.SerializeToString()) for row in rows if is_kept(row)]
        del rows[:]
        rows.extend(left)
    for group in snapshot.pod_groups:
        group.annotations.clear()
    del snapshot.eviction_memory[:]
    return full_state("epoch", snapshot, DEFAULT_ROWS)


def decided(engine: Engine, state: State, now: Timestamp) -> DecideResponse:
    cluster, header = state.at(now)
    return engine.decide_on(cluster, header, DecideRequest())


def times(draw: SeededDraw, answer: DecideResponse) -> list[int]:
    """Nanoseconds around those that matter."""
    begin, wake = answer.based_on.now.ToNanoseconds(), answer.next_wake_time.ToNanoseconds()
    around = [begin, begin + 1, begin + draw.integer(1, 10**13)]
    return [*around, wake - 1, wake, wake + 1] if wake > begin else around


def test_answers_given_again_are_those_of_deciding_anew():
    again = 0
    for seed in range(60):
        draw = SeededDraw(seed)
        engine, state = Engine(random_profile(draw)), quiet_state(draw)
        first = decided(engine, state, state.snapshot.now)
        state.last_answer.keep((), first, state.snapshot)
        for nanoseconds in times(draw, first):
            now = Timestamp()
            now.FromNanoseconds(nanoseconds)
            known = state.last_answer.find((), now)
            if known is not None:
                again += 1
                assert known.SerializeToString() == decided(engine, state, now).SerializeToString()
    assert again > 60


def _skewed(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].last_start_time.seconds = RUNS_S + 1_000


def _remembered(snapshot: ClusterSnapshot) -> None:
    memory = snapshot.eviction_memory.add(victim="runs", preemptor="waits")
    memory.last_eviction_time.seconds = RUNS_S - 60


def _expected(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].expected_runtime.seconds = 10**8


@pytest.mark.parametrize("change", [_skewed, _remembered, _expected, lambda snapshot: None])
def test_what_depends_on_the_time_is_given_again_at_the_same_time_only(change):
    snapshot = small_snapshot()
    change(snapshot)
    state, engine = full_state("epoch", snapshot, DEFAULT_ROWS), Engine(default_profile())
    answer = decided(engine, state, snapshot.now)
    state.last_answer.keep((), answer, snapshot)
    assert state.last_answer.find((), snapshot.now) == answer
    assert state.last_answer.find((), Timestamp(seconds=RUNS_S + 1)) is None
    assert state.last_answer.find(("allocate",), snapshot.now) is None


def test_what_a_deadline_cut_short_is_not_kept():
    state, engine = quiet_state(SeededDraw(1)), Engine(default_profile())
    answer = decided(engine, state, state.snapshot.now)
    answer.stopped_early = True
    state.last_answer.keep((), answer, state.snapshot)
    assert state.last_answer.find((), state.snapshot.now) is None


def test_an_answer_is_not_given_for_a_time_before_its_own():
    state, engine = quiet_state(SeededDraw(1)), Engine(default_profile())
    state.last_answer.keep((), decided(engine, state, Timestamp(seconds=NOW_S + 9)), state.snapshot)
    assert state.last_answer.find((), Timestamp(seconds=NOW_S + 8)) is None

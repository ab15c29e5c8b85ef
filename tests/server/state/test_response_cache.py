"""The last response to a state is returned again only if a new decision would have identical bytes."""

from dataclasses import replace

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import Engine
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.solver.model.disruption_limits import EvictionRate
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile
from tests.small_snapshot import small_snapshot
from tests.state.generated_snapshots import NOW_S, generate_snapshot

RUNS_S = 1_700_000_000
"""The time of the small snapshot."""


def idle_state(draw: SeededDraw) -> State:
    """Build a state without pending pod groups and without eviction history."""
    snapshot = generate_snapshot(draw, 4, 25)
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
    del snapshot.eviction_history[:]
    return full_state("epoch", snapshot, DEFAULT_ROWS)


def decide(engine: Engine, state: State, now: Timestamp) -> EncodedResponse:
    cluster, header = state.with_time(now)
    return engine.decide_state(cluster, header, DecideRequest())


def times(draw: SeededDraw, answer: EncodedResponse) -> list[int]:
    """Return times in nanoseconds around the snapshot time and the next wake time."""
    begin, wake = answer.summary.now, answer.summary.next_wake_time or 0
    around = [begin, begin + 1, begin + draw.integer(1, 10**13)]
    return [*around, wake - 1, wake, wake + 1] if wake > begin else around


def test_cached_responses_equal_newly_decided_ones():
    again = 0
    for seed in range(60):
        draw = SeededDraw(seed)
        engine, state = Engine(random_profile(draw)), idle_state(draw)
        first = decide(engine, state, state.snapshot.now)
        state.response_cache.put((), first, state.snapshot)
        for nanoseconds in times(draw, first):
            now = Timestamp()
            now.FromNanoseconds(nanoseconds)
            known = state.response_cache.find((), nanoseconds)
            if known is not None:
                again += 1
                assert known == decide(engine, state, now)
    assert again > 60


def _with_late_start(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].last_start_time.seconds = RUNS_S + 1_000


def _with_eviction_history(snapshot: ClusterSnapshot) -> None:
    memory = snapshot.eviction_history.add(victim="runs", preemptor="waits")
    memory.last_eviction_time.seconds = RUNS_S - 60


def _with_expected_runtime(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].expected_runtime.seconds = 10**8


@pytest.mark.parametrize(
    "change", [_with_late_start, _with_eviction_history, _with_expected_runtime, lambda snapshot: None]
)
def test_time_dependent_response_is_cached_for_the_same_time_only(change):
    snapshot = small_snapshot()
    change(snapshot)
    state, engine = full_state("epoch", snapshot, DEFAULT_ROWS), Engine(default_profile())
    answer = decide(engine, state, snapshot.now)
    state.response_cache.put((), answer, snapshot)
    assert state.response_cache.find((), RUNS_S * SECOND) == answer
    assert state.response_cache.find((), (RUNS_S + 1) * SECOND) is None
    assert state.response_cache.find(("allocate",), RUNS_S * SECOND) is None


@pytest.mark.parametrize(("tokens", "is_cached"), [(1_000, False), (4_000, True)], ids=["fills", "full"])
def test_response_with_an_eviction_rate_is_cached_until_later_only_if_the_rate_is_full(tokens, is_cached):
    snapshot = small_snapshot()
    del snapshot.pod_groups[1], snapshot.pods[2:]
    snapshot.pod_groups[0].preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    snapshot.eviction_rates.add(name="ten", tokens_milli=tokens, time=snapshot.now)
    profile = default_profile()
    rate = EvictionRate("ten", 10, 3_600 * SECOND, 4)
    engine = Engine(replace(profile, options=replace(profile.options, eviction_rates=(rate,))))
    state = full_state("epoch", snapshot, DEFAULT_ROWS)
    state.response_cache.put((), decide(engine, state, snapshot.now), snapshot)
    later = Timestamp(seconds=RUNS_S + 60)
    known = state.response_cache.find((), later.seconds * SECOND)
    assert known == (decide(engine, state, later) if is_cached else None)


def test_incomplete_response_is_not_cached():
    state, engine = idle_state(SeededDraw(1)), Engine(default_profile())
    answer = decide(engine, state, state.snapshot.now)
    stopped = answer._replace(summary=answer.summary._replace(stopped_early=True))
    state.response_cache.put((), stopped, state.snapshot)
    assert state.response_cache.find((), answer.summary.now) is None


def test_cached_response_is_not_returned_for_an_earlier_time():
    state, engine = idle_state(SeededDraw(1)), Engine(default_profile())
    state.response_cache.put((), decide(engine, state, Timestamp(seconds=NOW_S + 9)), state.snapshot)
    assert state.response_cache.find((), (NOW_S + 8) * SECOND) is None

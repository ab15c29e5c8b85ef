"""What earlier answers left in a snapshot becomes facts: counters, opt-outs, the memory of evictions."""

import pytest
from tenure.server.codec.decode import decode_snapshot
from tenure.server.codec.limits import MAX_COUNT
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.workload import Preemptibility
from tenure.v1 import snapshot_pb2 as pb

from tests.server.contested import answered, contested
from tests.server.given import small_snapshot

SECOND = 10**9
RUNS, WAITS = 0, 1


def remembering(*pairs: tuple[str, str]) -> pb.ClusterSnapshot:
    """The small snapshot with an eviction of each pair; the first happened in second 0."""
    snapshot = small_snapshot()
    for number, (victim, preemptor) in enumerate(pairs):
        memory = snapshot.eviction_memory.add(victim=victim, preemptor=preemptor)
        memory.last_eviction_time.seconds = number
    return snapshot


def test_memory_names_pod_groups_by_index_in_order_of_the_pair() -> None:
    found = decode_snapshot(remembering(("waits", "runs"), ("runs", "waits"))).eviction_memory
    assert found == (EvictionMemory(RUNS, WAITS, SECOND), EvictionMemory(WAITS, RUNS, 0))


@pytest.mark.parametrize("pair", [("gone", "waits"), ("runs", "gone"), ("gone", "away")])
def test_memory_of_pod_groups_that_are_not_there_is_of_no_account(pair: tuple[str, str]) -> None:
    found = decode_snapshot(remembering(pair, ("runs", "waits"))).eviction_memory
    assert [(memory.victim, memory.preemptor) for memory in found] == [(RUNS, WAITS)]


def test_failures_and_their_time_are_kept_and_may_be_missing() -> None:
    snapshot = remembering(("runs", "waits"), ("waits", "runs"))
    snapshot.eviction_memory[1].failures = 2
    snapshot.eviction_memory[1].last_failure_time.nanos = 5
    snapshot.eviction_memory[1].unsettled = True
    assert decode_snapshot(snapshot).eviction_memory == (
        EvictionMemory(RUNS, WAITS, 0),
        EvictionMemory(WAITS, RUNS, SECOND, failures=2, last_failure=5, unsettled=True),
    )


def test_counters_and_opt_outs_of_a_pod_group() -> None:
    snapshot = small_snapshot()
    runs = snapshot.pod_groups[0]
    runs.eviction_count = 3
    runs.waited_after_evictions.seconds = 90
    runs.opt_outs.extend(["requeue", "preempt", "requeue"])
    first, second = decode_snapshot(snapshot).pod_groups
    assert (first.eviction_count, first.waited_after_evictions) == (3, 90 * SECOND)
    assert first.opt_outs == {"preempt", "requeue"}
    assert (second.eviction_count, second.waited_after_evictions, second.opt_outs) == (0, 0, frozenset())


def test_semi_preemptible_is_a_value_of_the_field() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].preemptibility = pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE
    assert decode_snapshot(snapshot).pod_groups[0].preemptibility is Preemptibility.SEMI_PREEMPTIBLE


def test_the_largest_counts_can_still_be_counted_on() -> None:
    """What a snapshot may hold must not make an answer that cannot be written down."""
    snapshot = contested(left_quota_milli=0)
    snapshot.pod_groups[0].eviction_count = MAX_COUNT
    patches = [step.patch for group in answered(snapshot).groups for step in group.decisions]
    assert MAX_COUNT + 1 in [patch.eviction_count for patch in patches]

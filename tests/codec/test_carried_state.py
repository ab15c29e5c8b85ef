"""Facts that callers store from earlier responses: counters, opt-outs and eviction history."""

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.disruption_limits import DisruptionBudget
from tenure.solver.model.workload_parts import Preemptibility
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT

from tests.codec.snapshots.contested_snapshot import contested_snapshot, decide
from tests.small_snapshot import small_snapshot

SECOND = 10**9
RUNS, WAITS = 0, 1


def with_eviction_records(*pairs: tuple[str, str]) -> pb.ClusterSnapshot:
    """The small snapshot with one eviction record per pair. The first eviction happened in second 0."""
    snapshot = small_snapshot()
    for number, (victim, preemptor) in enumerate(pairs):
        memory = snapshot.eviction_history.add(victim=victim, preemptor=preemptor)
        memory.last_eviction_time.seconds = number
    return snapshot


def test_eviction_records_refer_to_pod_groups_by_index_in_pair_order() -> None:
    found = decode_snapshot(with_eviction_records(("waits", "runs"), ("runs", "waits"))).eviction_history
    assert found == (EvictionRecord(RUNS, WAITS, SECOND), EvictionRecord(WAITS, RUNS, 0))


@pytest.mark.parametrize("pair", [("gone", "waits"), ("runs", "gone"), ("gone", "away")])
def test_eviction_records_of_missing_pod_groups_are_ignored(pair: tuple[str, str]) -> None:
    found = decode_snapshot(with_eviction_records(pair, ("runs", "waits"))).eviction_history
    assert [(memory.victim, memory.preemptor) for memory in found] == [(RUNS, WAITS)]


def test_failures_and_their_time_are_decoded_and_optional() -> None:
    snapshot = with_eviction_records(("runs", "waits"), ("waits", "runs"))
    snapshot.eviction_history[1].consecutive_failures = 2
    snapshot.eviction_history[1].last_failure_time.nanos = 5
    snapshot.eviction_history[1].result_pending = True
    assert decode_snapshot(snapshot).eviction_history == (
        EvictionRecord(RUNS, WAITS, 0),
        EvictionRecord(WAITS, RUNS, SECOND, consecutive_failures=2, last_failure=5, result_pending=True),
    )


def test_counters_and_opt_outs_of_a_pod_group() -> None:
    snapshot = small_snapshot()
    runs = snapshot.pod_groups[0]
    runs.eviction_count = 3
    runs.total_eviction_wait.seconds = 90
    runs.opt_out_actions.extend(["requeue", "preempt", "requeue"])
    first, second = decode_snapshot(snapshot).pod_groups
    assert (first.facts.eviction_count, first.facts.total_eviction_wait) == (3, 90 * SECOND)
    assert first.facts.opt_out_actions == {"preempt", "requeue"}
    assert (second.facts.eviction_count, second.facts.total_eviction_wait, second.facts.opt_out_actions) == (
        0,
        0,
        frozenset(),
    )


def test_semi_preemptible_is_a_value_of_the_field() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].preemptibility = pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE
    assert decode_snapshot(snapshot).pod_groups[0].facts.preemptibility is Preemptibility.SEMI_PREEMPTIBLE


def test_largest_counts_can_be_incremented() -> None:
    """The largest counts that a snapshot may contain must not lead to a response that cannot be encoded."""
    snapshot = contested_snapshot(left_quota_milli=0)
    snapshot.pod_groups[0].eviction_count = MAX_COUNT
    patches = [step.patch for group in decide(snapshot).groups for step in group.decisions]
    assert MAX_COUNT + 1 in [patch.eviction_count for patch in patches]


def test_disruption_budgets_are_in_the_order_of_names_and_pods_name_them() -> None:
    snapshot = small_snapshot()
    budget = snapshot.disruption_budgets.add(name="b", allowed=2, counted_pods=["runs-0"])
    budget.next_allowed_time.nanos = 7
    snapshot.disruption_budgets.add(name="a")
    snapshot.pods[0].disruption_budgets.extend(["b", "gone"])
    found = decode_snapshot(snapshot)
    assert found.disruption_budgets == (
        DisruptionBudget("a", 0),
        DisruptionBudget("b", 2, frozenset(["runs-0"]), 7),
    )
    names = {task.facts.uid: task.facts.disruption_budgets for task in found.tasks}
    assert names.pop(snapshot.pods[0].uid) == ("b", "gone")
    assert set(names.values()) == {()}

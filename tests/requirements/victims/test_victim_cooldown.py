"""A victim is left alone for longer after each eviction without progress (R14.30, R14.31).

Ever new pod groups of one queue ask for the place of `old`; the guard `evictionbackoff` knows none of them.
"""

from typing import Final

from tenure.v1 import decision_pb2
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import bound, evicted, outcome, patches, protections
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide

GUARDED: Final = "plugins:\n  victimcooldown: {cooldown: 10m}\n"
NUMBER: Final = "evictions_without_progress"


def cluster_with_one_place() -> ClusterText:
    """`old` has run for 20 minutes on the only GPU."""
    return ClusterText().node().queue("q", quota=1).runs("old", "q", ran="20m")


def ends(cluster: ClusterText, name: str) -> None:
    """A pod group ends, and its objects are deleted."""
    snapshot = cluster.snapshot
    pods = [pod for pod in snapshot.pods if pod.pod_group != name]
    groups = [group for group in snapshot.pod_groups if group.uid != name]
    history = [row for row in snapshot.eviction_history if name not in (row.victim, row.preemptor)]
    for field, rows in (("pods", pods), ("pod_groups", groups), ("eviction_history", history)):
        snapshot.ClearField(field)
        getattr(snapshot, field).extend(rows)


def cycle(cluster: ClusterText, decide: Decide, configuration: str, later: str = "1m") -> DecideResponse:
    """One cycle, and its decisions carried out."""
    answer = decide(cluster, configuration, "allocate", "preempt")
    go_on(cluster, answer, seconds(later))
    return answer


def comes_and_goes(cluster: ClusterText, decide: Decide, configuration: str, name: str) -> DecideResponse:
    """Another pod group takes the place of `old`, and ends; then `old` starts again. Its eviction."""
    answer = cycle(cluster.waits(name, "q", priority=75), decide, configuration)
    assert evicted(answer) == ["old-0"]
    assert bound(cycle(cluster, decide, configuration)) == [f"{name}-0"]
    ends(cluster, name)
    assert bound(cycle(cluster, decide, configuration)) == ["old-0"]
    return answer


def test_ever_new_preemptors_wait_for_the_cooldown_of_the_victim(decide: Decide) -> None:
    cluster = cluster_with_one_place()
    assert patches(comes_and_goes(cluster, decide, GUARDED, "first"), NUMBER) == {"old": 1}
    start = cluster.group("old").last_start_time.seconds
    cluster.waits("second", "q", priority=75)
    answer = cycle(cluster, decide, GUARDED, later="8m59s")
    (waits,) = answer.outcomes
    assert (evicted(answer), outcome(answer, "second")) == ([], "DELAYED")
    assert waits.reason.code == decision_pb2.REASON_CODE_VICTIM_COOLDOWN
    assert waits.reason.until.seconds == answer.next_wake_time.seconds == start + 600
    assert protections(answer, "victimcooldown") == ["ALL"]
    assert evicted(cycle(cluster, decide, GUARDED, later="1s")) == []
    answer = cycle(cluster, decide, GUARDED)
    assert (evicted(answer), patches(answer, NUMBER)) == (["old-0"], {"old": 2})


def test_cooldown_doubles_and_progress_ends_it(decide: Decide) -> None:
    cluster = cluster_with_one_place()
    cluster.group("old").evictions_without_progress = 2
    comes_and_goes(cluster, decide, GUARDED, "first")
    cluster.waits("second", "q", priority=75)
    answer = cycle(cluster, decide, GUARDED, later="58m59s")
    start = cluster.group("old").last_start_time.seconds
    assert answer.outcomes[0].reason.until.seconds == start + 4 * 600
    ends(cluster, "second")
    cycle(cluster, decide, GUARDED, later="1s")
    answer = cycle(cluster.waits("third", "q", priority=75), decide, GUARDED)
    assert (evicted(answer), patches(answer, NUMBER)) == (["old-0"], {"old": 1})


def test_without_the_guard_nothing_is_counted_and_nobody_waits(decide: Decide) -> None:
    cluster = cluster_with_one_place()
    for name in ("first", "second", "third"):
        assert patches(comes_and_goes(cluster, decide, "", name), NUMBER) == {}
    assert cluster.group("old").eviction_count == 3

"""What becomes of victims, and pod groups that are held (R14.34, R14.35, R19.25, R19.26)."""

from typing import Final

import pytest
from tenure.v1 import decide_pb2, decision_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import bound, decisions, evicted, outcome, patches
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide

UNSET, REQUEUE, HOLD, DELETE, SUSPEND = pb.Fate.values()
STORED: Final = ("last_eviction_time", "eviction_count", "held_by", "set_eviction_record")


def fates(answer: DecideResponse) -> dict[str, str]:
    """Fate of each evicted pod."""
    found = [each.evict for each in decisions(answer) if each.HasField("evict")]
    return {each.pod: pb.Fate.Name(each.fate).removeprefix("FATE_") for each in found}


def sentence(answer: DecideResponse) -> str:
    """What follows the reason in the sentence of the first victim."""
    first = next(each for each in decisions(answer) if each.HasField("evict"))
    return first.reason.message.partition("; ")[2]


def contested(**more: object) -> ClusterText:
    """`old` runs on both GPUs, and `urgent` needs both."""
    cluster = ClusterText().node(gpus=2).queue("top").queue("q", "top").runs("old", "q", pods=2, **more)
    return cluster.waits("urgent", "q", priority=75, gpus=2)


FATES: Final = {
    "none is set": (UNSET, UNSET, UNSET, "UNSPECIFIED", ""),
    "its own": (HOLD, UNSET, UNSET, "HOLD", "it is held until released."),
    "that of its queue": (UNSET, DELETE, HOLD, "DELETE", "it is deleted."),
    "that of the nearest queue above": (UNSET, UNSET, HOLD, "HOLD", "it is held until released."),
    "its own before that of its queue": (HOLD, DELETE, UNSET, "HOLD", "it is held until released."),
    "requeue before that of its queue": (REQUEUE, HOLD, UNSET, "REQUEUE", "it waits again."),
    "it cannot be suspended": (SUSPEND, UNSET, UNSET, "REQUEUE", "it waits again."),
}


@pytest.mark.parametrize(("own", "queue", "top", "fate", "words"), FATES.values(), ids=FATES)
def test_fate_is_that_of_the_pod_group_else_of_the_nearest_queue(
    decide: Decide, own: pb.Fate, queue: pb.Fate, top: pb.Fate, fate: str, words: str
) -> None:
    cluster = contested()
    cluster.group("old").on_evict = own
    cluster.snapshot.queues[1].on_evict, cluster.snapshot.queues[0].on_evict = queue, top
    answer = decide(cluster, "", "allocate", "preempt")
    assert fates(answer) == {"old-0": fate, "old-1": fate}
    assert sentence(answer) == words


def test_suspendable_pod_group_is_suspended_and_others_are_warned_about(decide: Decide) -> None:
    cluster = contested()
    cluster.group("old").on_evict = SUSPEND
    code = decide_pb2.WARNING_CODE_CANNOT_BE_SUSPENDED
    (warning,) = [each for each in decide(cluster).warnings if each.code == code]
    assert list(warning.pod_groups) == ["old"]
    cluster.group("old").suspendable = True
    answer = decide(cluster, "", "allocate", "preempt")
    assert (set(fates(answer).values()), sentence(answer)) == ({"SUSPEND"}, "it is suspended.")
    assert code not in [each.code for each in answer.warnings]


def test_surplus_waits_again_whatever_the_fate_of_its_pod_group(decide: Decide) -> None:
    """E14.6."""
    cluster = ClusterText().node(gpus=3).queue("q").runs("old", "q", pods=3, minimum=1)
    cluster.waits("urgent", "q", priority=75, gpus=2)
    cluster.group("old").on_evict, cluster.snapshot.queues[0].on_evict = HOLD, DELETE
    answer = decide(cluster, "", "allocate", "preempt")
    assert len(evicted(answer)) == 2
    assert set(fates(answer).values()) == {"REQUEUE"}
    assert patches(answer, "held_by") == {}
    whole = ClusterText().node(gpus=3).queue("q").runs("old", "q", pods=3, minimum=1)
    whole.waits("urgent", "q", priority=75, gpus=3)
    whole.group("old").on_evict, whole.snapshot.queues[0].on_evict = HOLD, DELETE
    assert set(fates(decide(whole, "", "allocate", "preempt")).values()) == {"HOLD"}


def test_relocated_pod_has_no_fate(decide: Decide) -> None:
    cluster = ClusterText().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    cluster.runs("a", "q", node="n1").runs("b", "q", node="n2").waits("wide", "q", gpus=2)
    for group in cluster.snapshot.pod_groups:
        group.on_evict = HOLD
    answer = decide(cluster, "", "allocate", "consolidation")
    assert set(fates(answer).values()) == {"UNSPECIFIED"}
    assert sentence(answer) == "it restarts on another node."


def test_held_victim_waits_until_it_is_released(decide: Decide) -> None:
    cluster = contested()
    cluster.group("old").on_evict = HOLD
    answer = decide(cluster, "", "allocate", "preempt")
    assert patches(answer, "held_by") == {"old": pb.HOLD_REASON_EVICTED}
    go_on(cluster, answer, seconds("1m"))
    go_on(cluster, decide(cluster, "", "allocate"), seconds("1m"))
    pods = [pod for pod in cluster.snapshot.pods if pod.pod_group == "urgent"]
    assert pods[0].node
    cluster.snapshot.pods.remove(pods[0])
    answer = decide(cluster, "", "allocate")
    assert (bound(answer), outcome(answer, "old")) == ([], "HELD")
    (held,) = answer.outcomes
    assert (held.reason.code, held.pending) == (decision_pb2.REASON_CODE_HELD, 2)
    assert held.reason.message == "Pod group old (queue q) is held: it was evicted, and is to be held then."
    assert not answer.HasField("next_wake_time")
    cluster.group("old").held_by = pb.HOLD_REASON_UNSPECIFIED
    assert bound(decide(cluster, "", "allocate")) == ["old-0", "old-1"]


def test_eviction_limit_holds_until_somebody_looks(decide: Decide) -> None:
    """E14.5."""
    limit = "plugins:\n  evictionlimit: {maxEvictions: '3', then: hold}\n"
    cluster = contested()
    cluster.group("old").evictions.by_cause.update({"preempt": 1, "reclaim": 1, "stale_gang": 4})
    answer = decide(cluster, limit, "allocate", "preempt")
    assert (set(fates(answer).values()), sentence(answer)) == ({"HOLD"}, "it is held until released.")
    assert patches(answer, "held_by") == {"old": pb.HOLD_REASON_EVICTION_LIMIT}
    go_on(cluster, answer, seconds("1m"))
    assert cluster.group("old").evictions.by_cause == {"preempt": 2, "reclaim": 1, "stale_gang": 4}
    answer = decide(cluster, limit, "allocate")
    assert (bound(answer), outcome(answer, "old")) == (["urgent-0"], "HELD")
    held = next(each for each in answer.outcomes if each.pod_group == "old")
    assert "it was evicted as often as it may be" in held.reason.message


def test_eviction_limit_protects_instead_by_default(decide: Decide) -> None:
    """E14.5, immune."""
    limit = "plugins:\n  evictionlimit: {maxEvictions: '3'}\n"
    cluster = contested()
    cluster.group("old").evictions.by_cause.update({"preempt": 1, "reclaim": 1, "stale_gang": 4})
    answer = decide(cluster, limit, "allocate", "preempt")
    assert (len(evicted(answer)), set(fates(answer).values())) == (2, {"UNSPECIFIED"})
    cluster.group("old").evictions.by_cause["preempt"] += 1
    assert evicted(decide(cluster, limit, "allocate", "preempt")) == []


@pytest.mark.parametrize(
    ("argument", "of_top", "of_q", "is_held"),
    [
        ("immune", "HOLD", "UNSPECIFIED", True),
        ("immune", "HOLD", "IMMUNE", False),
        ("hold", "UNSPECIFIED", "UNSPECIFIED", True),
        ("hold", "UNSPECIFIED", "IMMUNE", False),
        ("hold", "IMMUNE", "HOLD", True),
    ],
)
def test_queue_says_what_happens_at_the_limit(
    argument: str, of_top: str, of_q: str, is_held: bool, decide: Decide
) -> None:
    """R14.33: the nearest queue that says so, else the argument of the guard."""
    limit = f"plugins:\n  evictionlimit: {{maxEvictions: '2', then: {argument}}}\n"
    cluster = ClusterText().node().queue("top").queue("q", "top")
    cluster.runs("old", "q").waits("urgent", "q", priority=75)
    for queue, value in zip(cluster.snapshot.queues, (of_top, of_q), strict=True):
        queue.at_eviction_limit = pb.AtEvictionLimit.Value(f"AT_EVICTION_LIMIT_{value}")
    cluster.group("old").evictions.by_cause["preempt"] = 1
    answer = decide(cluster, limit, "preempt")
    assert evicted(answer) == ["old-0"]
    assert patches(answer, "held_by") == ({"old": pb.HOLD_REASON_EVICTION_LIMIT} if is_held else {})
    cluster.group("old").evictions.by_cause["preempt"] = 2
    assert evicted(decide(cluster, limit, "preempt")) == (["old-0"] if is_held else [])


def test_unknown_consequence_of_the_limit_is_refused_with_its_field(decide: Decide) -> None:
    cluster = contested()
    cluster.snapshot.queues[0].at_eviction_limit = 9  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"queues\[0\].at_eviction_limit: 9 is not a value"):
        decide(cluster)


def test_release_ends_the_hold_of_an_eviction_that_is_not_later(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=1).queue("q").waits("old", "q")
    group, now = cluster.group("old"), cluster.snapshot.now
    group.last_eviction_time.CopyFrom(now)
    kinds = {}
    for number in pb.HoldReason.values()[1:]:
        if number == pb.HOLD_REASON_NOT_BEFORE:
            continue  # told of a pod group with a time before which it may not start; it is never sent
        group.held_by = number
        for later in (-1, 0):
            group.release_time.seconds = now.seconds + later
            kinds[number, later] = outcome(decide(cluster, "", "allocate"), "old")
    ends = (pb.HOLD_REASON_EVICTION_LIMIT, pb.HOLD_REASON_EVICTED, pb.HOLD_REASON_TIME_LIMIT)
    assert kinds == {key: "BOUND" if key[0] in ends and key[1] == 0 else "HELD" for key in kinds}


def test_held_pod_group_counts_for_no_queue_and_keeps_its_running_pods(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=4).queue("q").runs("old", "q", minimum=1)
    cluster.pods("old", "PENDING", pods=2)
    cluster.group("old").held_by = pb.HOLD_REASON_USER
    answer = decide(cluster)
    assert (bound(answer), evicted(answer), outcome(answer, "old")) == ([], [], "HELD")
    assert answer.queues[0].requested.gpu_milli == 1_000


def test_nothing_is_stored_of_a_deleted_pod_group(decide: Decide) -> None:
    cluster = contested()
    assert [bool(patches(decide(cluster), field)) for field in STORED] == [True, True, False, True]
    cluster.group("old").on_evict = DELETE
    answer = decide(cluster)
    assert set(fates(answer).values()) == {"DELETE"}
    assert [patches(answer, field) for field in STORED] == [{}, {}, {}, {}]


def test_unknown_fate_is_refused_with_its_field(decide: Decide) -> None:
    cluster = contested()
    cluster.group("old").on_evict = 9  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"pod_groups\[0\].on_evict: 9 is not a value"):
        decide(cluster)

"""A snapshot in which the pending gang `waits` needs the capacity of the running pod group `runs`."""

from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse, WarningCode

from tests.checker import verify
from tests.small_snapshot import small_snapshot

NOW_S = 1_700_000_000
RAN_S = 10_000_000
"""How long `runs` has been running."""


def contested_snapshot(*, left_quota_milli: int = 2000) -> pb.ClusterSnapshot:
    """Both pod groups are preemptible. `waits` is in another queue and has the higher priority.

    If queue `left` of `runs` has a quota, it is within its fair share, and only a requeue can free the
    capacity.
    """
    snapshot = small_snapshot()
    snapshot.nodes[1].unschedulable = True
    snapshot.queues[2].priority = 200
    snapshot.queues[1].gpu_milli.quota = left_quota_milli
    for group in snapshot.pod_groups:
        group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    snapshot.pod_groups[1].priority = 90
    return snapshot


def decide(snapshot: pb.ClusterSnapshot) -> DecideResponse:
    """Return the response of an engine with the default profile, after checking it for violations."""
    answer = Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()
    assert verify(snapshot, answer) == []
    return answer


def warnings_of(answer: DecideResponse) -> list[tuple[str, int, list[str]]]:
    """Code, count and pod groups of every warning."""
    return [
        (WarningCode.Name(each.code).removeprefix("WARNING_CODE_"), each.count, list(each.pod_groups))
        for each in answer.warnings
    ]


def evicted_pods(answer: DecideResponse) -> set[str]:
    """Uids of the evicted pods."""
    steps = [step for group in answer.groups for step in group.decisions]
    return {step.evict.pod for step in steps if step.HasField("evict")}

"""A large pod group starts at its planned time, and small ones use its capacity until then (R17.5, R17.8)."""

from typing import Final

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.requirements.answers import bound, evicted, patches
from tests.requirements.cluster import NOW, ClusterText
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers

RESERVES: Final = 'actions: "allocate, reservation"\nplugins: {reservation: {minWait: 0s}}\n'
ALLOCATES: Final = "actions: allocate\n"
ENDS: Final = RESERVES.replace("allocate,", "timelimit, allocate,")
"""Profile with reservations, in which what reaches its time limit is evicted."""
HOUR: Final = 3_600


def behind_a_job_of_two_hours() -> ClusterText:
    """Four GPUs: `old` has two of them for another hour, and `big` wants all."""
    cluster = ClusterText().node(gpus=4).queue("q")
    cluster.runs("old", "q", gpus=2).waits("big", "q", gpus=4)
    cluster.group("old").time_limit.seconds = 2 * HOUR
    return cluster


def with_small_ones(cluster: ClusterText) -> ClusterText:
    """`short` ends in time, `long` does not and cannot be evicted, `soft` can."""
    cluster.waits("short", "q").waits("long", "q").waits("soft", "q")
    cluster.group("short").time_limit.seconds = HOUR // 2
    cluster.group("long").time_limit.seconds = 3 * HOUR
    for name in ("short", "long"):
        cluster.group(name).preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    return cluster


def reserved(answer: DecideResponse) -> dict[str, int]:
    """Planned starts in seconds from the first snapshot."""
    return {row.pod_group: row.start_time.seconds - NOW for row in answer.planned_starts}


def test_small_pod_groups_do_not_push_back_a_large_one(decide: Decide) -> None:
    cluster = behind_a_job_of_two_hours()
    first = decide(cluster, RESERVES)
    assert reserved(first) == {"big": HOUR}
    assert first.planned_starts[0].certainty == pb.CERTAINTY_BOUNDED
    go_on(cluster, first, 60)
    second = decide(with_small_ones(cluster), RESERVES)
    assert [pod.split("-")[0] for pod in bound(second)] == ["short", "soft"]
    go_on(cluster, second, HOUR - 60)
    for pod in cluster.snapshot.pods:
        if pod.pod_group in ("old", "short"):
            pod.status = pb.POD_STATUS_SUCCEEDED
    third = decide(cluster, RESERVES)
    assert [pod.split("-")[0] for pod in evicted(third)] == ["soft"]


def test_without_planned_starts_they_do(decide: Decide) -> None:
    cluster = with_small_ones(behind_a_job_of_two_hours())
    answer = decide(cluster, ALLOCATES)
    assert sorted(pod.split("-")[0] for pod in bound(answer)) == ["long", "short"]
    assert not answer.planned_starts
    assert not answer.state_patches


def test_rows_change_by_patches_and_end_with_the_wait(decide: Decide) -> None:
    cluster = behind_a_job_of_two_hours()
    first = decide(cluster, RESERVES)
    assert [patch.set_planned_start for patch in first.state_patches] == list(first.planned_starts)
    go_on(cluster, first, 60)
    assert not decide(cluster, RESERVES).state_patches
    cluster.snapshot.pods[0].status = pb.POD_STATUS_SUCCEEDED
    last = decide(cluster, RESERVES)
    assert [patch.delete_planned_start for patch in last.state_patches] == ["big"]


def test_row_of_an_unknown_pod_group_harms_no_other(decide: Decide) -> None:
    cluster = behind_a_job_of_two_hours()
    cluster.snapshot.planned_starts.add(pod_group="gone", since=cluster.snapshot.now)
    answer = decide(cluster, RESERVES)
    assert reserved(answer) == {"big": HOUR}
    assert any(
        "planned_starts.pod_group: ignored 1 planned start" in each.message for each in answer.warnings
    )


def told(answer: DecideResponse) -> tuple[dict[str, int], list[str], list[str], list[str]]:
    """Planned starts, bound and evicted pods, and pod groups that become backfills."""
    return reserved(answer), bound(answer), evicted(answer), sorted(patches(answer, "backfill_for"))


def test_simulated_cycles_keep_a_planned_start_until_its_owner_starts(
    servers: Servers, decide: Decide
) -> None:
    """`soft` becomes a backfill once the planned start is known, and ends at the planned start."""
    cluster = behind_a_job_of_two_hours().waits("soft", "q")
    cluster.group("soft").not_before_time.seconds = NOW + 60
    request = SimulateRequest(snapshot=cluster.snapshot, cycles=4)
    request.interval.FromSeconds(HOUR // 2)
    cycles = servers.client(ENDS).simulate(request).cycles
    big = {"big": HOUR}
    assert [told(cycle) for cycle in cycles] == [
        (big, [], [], []),
        (big, ["soft-0"], [], ["soft"]),
        (big, [], ["old-0", "soft-0"], []),
        ({}, ["big-0"], [], []),
    ]
    assert [row.since.seconds - NOW for cycle in cycles for row in cycle.planned_starts] == [0, 0, 0]
    for cycle in cycles:
        answer = decide(cluster, ENDS)
        assert told(answer) == told(cycle)
        assert (answer.planned_starts, answer.state_patches) == (cycle.planned_starts, cycle.state_patches)
        go_on(cluster, answer, HOUR // 2)

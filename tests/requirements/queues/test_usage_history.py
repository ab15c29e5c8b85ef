"""A queue that used much gets less beyond its quota than one that used nothing (R18.1, R18.2, R18.3)."""

from typing import Final

import pytest
from tenure.v1.decide_pb2 import WARNING_CODE_USAGE_WITHOUT_MIN_RUNTIME, DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import QueueUsage

from tests.requirements.answers import bound
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers

KEPT: Final = "plugins: {proportion: {usageHalfLife: 7d, usageMaxGap: 7d}}\n"
"""All of the time between two cycles is charged."""


def shares(answer: DecideResponse) -> dict[str, int]:
    """Fair shares of GPUs by queue."""
    return {queue.name: queue.fair_share.gpu_milli // 1_000 for queue in answer.queues}


def used(answer: DecideResponse) -> list[QueueUsage]:
    """Rows to store."""
    return [patch.set_queue_usage for patch in answer.state_patches]


def after_a_week_of_one_queue(decide: Decide, configuration: str) -> ClusterText:
    """Two queues without quota ask for 8 GPUs each; `busy` had all of them for a week."""
    cluster = ClusterText().node(gpus=8).queue("busy", quota=0).queue("idle", quota=0)
    cluster.runs("old", "busy", gpus=8)
    answer = decide(cluster, configuration)
    go_on(cluster, answer, seconds("7d"))
    del cluster.snapshot.pods[:], cluster.snapshot.pod_groups[:]
    for number in range(8):
        cluster.waits(f"busy-{number}", "busy").waits(f"idle-{number}", "idle")
    return cluster


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [("", {"busy": 4, "idle": 4}), (KEPT, {"busy": 3, "idle": 5})],
    ids=["without history", "half-life of a week"],
)
def test_queue_that_used_nothing_for_a_week_is_served_first(
    decide: Decide, configuration: str, expected: dict[str, int]
) -> None:
    answer = decide(after_a_week_of_one_queue(decide, configuration), configuration)
    assert shares(answer) == expected
    assert sum(pod.startswith("idle") for pod in bound(answer)) == expected["idle"]
    assert bool(answer.state_patches) == bool(configuration)


def test_history_comes_back_as_rows_that_changed(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=8).queue("busy", quota=0).queue("idle", quota=0)
    cluster.runs("old", "busy", gpus=8)
    first = decide(cluster, KEPT)
    assert [row.queue for row in used(first)] == ["", "busy", "idle"]
    assert [row.used.rate.gpu for row in used(first)] == [8_000, 8_000, 0]
    go_on(cluster, first, 30)
    cluster.waits("new", "idle", gpus=0)
    second = decide(cluster, KEPT)
    assert [row.queue for row in used(second)] == ["idle"]
    assert second.next_wake_time.seconds <= cluster.snapshot.now.seconds + 590


def test_simulated_cycles_carry_the_history(servers: Servers, decide: Decide) -> None:
    """Each week that `busy` has all GPUs makes its share smaller, as with a caller that stores rows."""
    configuration = f"{KEPT}actions: allocate\n"
    cluster = ClusterText().node(gpus=8).queue("busy", quota=0).queue("idle", quota=0)
    cluster.runs("old", "busy", gpus=8)
    for number in range(8):
        cluster.waits(f"busy-{number}", "busy").waits(f"idle-{number}", "idle")
    request = SimulateRequest(snapshot=cluster.snapshot, cycles=3)
    request.interval.FromSeconds(seconds("7d"))
    cycles = servers.client(configuration).simulate(request).cycles
    assert [shares(cycle)["busy"] for cycle in cycles] == [4, 3, 2]
    for cycle in cycles:
        answer = decide(cluster, configuration)
        assert (answer.queues, answer.state_patches) == (cycle.queues, cycle.state_patches)
        go_on(cluster, answer, seconds("7d"))


def test_account_of_the_caller_precedes_the_history(decide: Decide) -> None:
    cluster = after_a_week_of_one_queue(decide, KEPT)
    for row in cluster.snapshot.queue_usage:
        if row.queue:
            row.normalized.gpu = 0
    assert shares(decide(cluster, KEPT)) == {"busy": 4, "idle": 4}


SWINGS: Final = {
    "nothing keeps what just started": (KEPT, {}, True),
    "a queue has a minimum runtime": (KEPT, {"reclaim_min_runtime": "10m"}, False),
    "the guard has a default": (
        "plugins: {proportion: {usageHalfLife: 7d}, minruntime: {defaultReclaimMinRuntime: 10m}}\n",
        {},
        False,
    ),
    "past use does not count": ("plugins: {proportion: {usageHalfLife: 7d, kValue: '0'}}\n", {}, False),
    "there is no history": ("", {}, False),
}


@pytest.mark.parametrize(("configuration", "queue", "warns"), SWINGS.values(), ids=SWINGS)
def test_warning_if_shares_may_swing(
    decide: Decide, configuration: str, queue: dict[str, str], warns: bool
) -> None:
    """R18.1: reclaims follow fair shares."""
    cluster = ClusterText().node().queue("a", **queue).queue("b")
    codes = [each.code for each in decide(cluster, configuration).warnings]
    assert (WARNING_CODE_USAGE_WITHOUT_MIN_RUNTIME in codes) is warns


def test_past_use_and_the_share_by_weight_are_told(decide: Decide, servers: Servers) -> None:
    """R18.1: 4 by weight, 1 after a past use of half of the cluster, with k = 4."""
    configuration = "plugins: {proportion: {kValue: '4'}}\n"
    cluster = ClusterText().node(gpus=8).queue("busy", quota=0).queue("idle", quota=0)
    cluster.runs("theirs", "idle", pods=7, minimum=1).runs("mine", "busy").waits("more", "busy")
    assert not any(queue.HasField("past_use") for queue in decide(cluster, configuration).queues)
    cluster.waits("their-rest", "idle")
    row = cluster.snapshot.queue_usage.add(queue="busy")
    row.normalized.gpu = 500_000
    for number in range(7):
        cluster.waits(f"busy-{number}", "busy")
    found = {queue.name: queue for queue in decide(cluster, configuration).queues}
    assert (found["busy"].fair_share.gpu_milli, found["busy"].share_by_weight.gpu_milli) == (1_000, 4_000)
    assert (found["busy"].past_use.gpu, found["idle"].past_use.gpu) == (500_000, 0)
    request = ExplainRequest(snapshot=cluster.snapshot)
    request.why_pending.pod_group = "more"
    told = servers.client(configuration).explain(request).explanation
    words = "The fair share of its queue is 1 GPU: 4 by weight, 1 after past use of 0.50."
    assert words in told.operator
    assert words in told.tenant
    assert "past use" not in told.public

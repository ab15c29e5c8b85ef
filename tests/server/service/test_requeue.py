"""Requeue through the API: names of queues do not decide, and several pod groups make room together."""

from collections.abc import Iterator
from typing import Final

import pytest
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot

from tests.checker import verify
from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import count_metrics

NOW: Final = 1_700_000_000
HOUR: Final = 3_600


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def snapshot(theirs: str, mine: str, is_mine_older: bool, late: int, needs: int) -> ClusterSnapshot:
    """A node that is full of late jobs of one GPU in the queue `theirs`; a job in `mine` needs some GPUs."""
    found = ClusterSnapshot(cluster_id="test", version=1)
    found.now.FromSeconds(NOW)
    found.nodes.add(
        name="n",
        allocatable={"cpu_milli": 64_000, "memory_bytes": 64_000, "gpu_milli": late * 1000, "pods": 99},
    )
    for name, is_older in ((theirs, not is_mine_older), (mine, is_mine_older)):
        queue = found.queues.add(name=name, gpu_milli={"quota": late * 1000})
        queue.creation_time.FromSeconds(NOW - (900 if is_older else 100) * HOUR)
    for gpus in {1, needs}:
        requests = {"cpu_milli": 1000, "memory_bytes": 1000}
        found.shapes.add(id=str(gpus), requests=requests, gpu={"devices": gpus})
    for number in range(late):
        group = found.pod_groups.add(uid=f"late{number}", name=f"late{number}", queue=theirs, priority=10)
        group.preemptibility = PREEMPTIBILITY_PREEMPTIBLE
        group.expected_runtime.FromSeconds(HOUR)
        group.last_start_time.FromSeconds(NOW - 2 * HOUR)
        found.pods.add(
            uid=f"late{number}-0", pod_group=group.uid, shape="1", status="POD_STATUS_RUNNING", node="n"
        )
    found.pod_groups.add(uid="urgent", name="urgent", queue=mine, priority=20)
    for group in found.pod_groups:
        group.creation_time.FromSeconds(NOW - 9 * HOUR)
    found.pods.add(uid="urgent-0", pod_group="urgent", shape=str(needs), status="POD_STATUS_PENDING")
    return found


def requeued(answer: DecideResponse) -> list[str]:
    return [n.pod_group for n in answer.nominations if n.result == pb.NOMINATION_RESULT_REQUEUED]


@pytest.mark.parametrize("is_mine_older", [True, False], ids=["older", "younger"])
@pytest.mark.parametrize(("theirs", "mine"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize(("late", "needs"), [(1, 1), (2, 2)], ids=["one", "two together"])
def test_names_and_ages_of_equal_queues_do_not_decide(
    client: Client, theirs: str, mine: str, is_mine_older: bool, late: int, needs: int
) -> None:
    asked = snapshot(theirs, mine, is_mine_older, late, needs)
    answer = client.decide(asked)
    assert requeued(answer) == [f"late{number}" for number in range(late)]
    assert verify(asked, answer) == []


def test_pod_groups_that_make_room_together_have_one_decision_each_and_count_once(client: Client) -> None:
    count_metrics()
    answer = client.decide(snapshot("a", "b", False, 3, 2))
    (group,) = answer.groups
    kinds = [decision.WhichOneof("kind") for decision in group.decisions]
    assert (group.action, kinds.count("evict"), kinds.count("requeue")) == ("requeue", 2, 2)
    assert len({decision.id for decision in group.decisions}) == len(group.decisions)
    counts = count_metrics()
    assert counts["kai_scheduler_requeue_nominations_total", "expectedruntime"] == 3
    assert counts["kai_scheduler_requeue_committed_total", "expectedruntime"] == 2


def test_contender_has_the_room_in_the_cycles_that_follow(client: Client) -> None:
    request = SimulateRequest(snapshot=snapshot("a", "b", False, 2, 2), cycles=10)
    request.interval.FromSeconds(60)
    cycles = client.simulate(request).cycles
    evicted = [
        [d.evict.pod for g in each.groups for d in g.decisions if d.HasField("evict")] for each in cycles
    ]
    assert evicted == [["late0-0", "late1-0"], *[[]] * 9]

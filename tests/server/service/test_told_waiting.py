"""Remedies over a real connection: waiting is a remedy only if the cycles until then were played."""

from collections.abc import Iterator

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.client import Client
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decision_pb2 import OUTCOME_KIND_BOUND
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster, time_at


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=100) as client:
        yield client


def why_pending(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> pb.ExplainResponse:
    return client.explain(pb.ExplainRequest(snapshot=snapshot, why_pending={"pod_group": uid}))


def waits(response: pb.ExplainResponse) -> list[pb.Remedy]:
    return [each for each in response.remedies if each.kind == pb.REMEDY_KIND_WAIT]


def start_minute(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> int | None:
    """Return the minutes after which a simulation starts it, within the longest one; None: never."""
    request = SimulateRequest(snapshot=snapshot, cycles=100, interval=Duration(seconds=60))
    for minute, cycle in enumerate(client.simulate(request).cycles):
        if any(o.pod_group == uid and o.kind == OUTCOME_KIND_BOUND for o in cycle.outcomes):
            return minute
    return None


def young(*ages: str) -> GpuCluster:
    """Build a full node of pods that are protected for an hour after their start, and `job`."""
    cluster = GpuCluster().node("n1", len(ages)).queue("q", quota=len(ages), preempt_min_runtime="1h")
    for number, age in enumerate(ages):
        cluster.job(f"young-{number}", "q", on="n1", ran=age, priority=40)
    return cluster.job("job", "q", priority=90)


def test_waiting_is_a_remedy_if_a_simulation_starts_it(client: Client) -> None:
    snapshot = young("45m").snapshot
    (remedy,) = waits(why_pending(client, snapshot))
    assert remedy.until == time_at("10:50")
    assert start_minute(client, snapshot) == 16


def test_waiting_is_no_remedy_if_another_pod_group_is_faster(client: Client) -> None:
    snapshot = young("45m").job("first", "q", priority=95).snapshot
    response = why_pending(client, snapshot)
    assert waits(response) == []
    assert start_minute(client, snapshot) is None
    text = response.explanation
    assert "(preempt: pod group first waits for the same capacity and comes first)" in text.operator
    assert "because capacity goes first to pod groups that precede it." in text.tenant
    assert "it is still pending because no node that it may use can take its pods now." in text.public
    assert "It does not start by waiting, unless other work ends." in text.public


def test_waiting_is_a_remedy_from_the_end_at_which_its_turn_comes(client: Client) -> None:
    snapshot = young("45m", "30m").job("first", "q", priority=95).snapshot
    response = why_pending(client, snapshot)
    (remedy,) = waits(response)
    assert remedy.until == time_at("11:05")
    assert start_minute(client, snapshot) == 31
    assert "(until 2025-03-03 11:05:00 UTC)" in response.explanation.public


def test_cycles_are_limited_and_the_rest_is_reported_as_not_checked(client: Client) -> None:
    ages = [f"{minutes}m" for minutes in range(1, 60)]
    cluster = young(*ages)
    for number in range(len(ages)):
        cluster.job(f"first-{number}", "q", priority=95)
    response = why_pending(client, cluster.snapshot)
    assert waits(response) == []
    assert "It does not start in 60 cycles" in response.explanation.public
    assert "what happens later was not checked." in response.explanation.public

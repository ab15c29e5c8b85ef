"""A question in bytes is what the message is that it stands for."""

import pytest
from tenure.client.question import question
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot


@pytest.mark.parametrize("pods", [0, 1, 12, 2_000])
@pytest.mark.parametrize("actions", [(), ("allocate",), ("reclaim", "preempt")])
def test_snapshots_of_every_length_arrive(pods: int, actions: tuple[str, ...]) -> None:
    snapshot = ClusterSnapshot(version=7, pods=[{"uid": f"pod-{i}"} for i in range(pods)])
    asked = question(snapshot, actions)
    assert asked == DecideRequest(snapshot=snapshot, actions=actions).SerializeToString()


def test_an_empty_snapshot_is_a_snapshot() -> None:
    assert DecideRequest.FromString(question(ClusterSnapshot(), ())).HasField("snapshot")

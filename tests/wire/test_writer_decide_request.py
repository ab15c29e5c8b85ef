"""The bytes of a request equal those of the message it represents."""

import pytest
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.writer import encode_decide_request


@pytest.mark.parametrize("pods", [0, 1, 12, 2_000])
@pytest.mark.parametrize("actions", [(), ("allocate",), ("reclaim", "preempt")])
def test_request_bytes_equal_the_serialized_message_for_every_snapshot_length(
    pods: int, actions: tuple[str, ...]
) -> None:
    snapshot = ClusterSnapshot(version=7, pods=[{"uid": f"pod-{i}"} for i in range(pods)])
    asked = encode_decide_request(snapshot, actions)
    assert asked == DecideRequest(snapshot=snapshot, actions=actions).SerializeToString()


def test_empty_snapshot_is_present_in_the_request() -> None:
    assert DecideRequest.FromString(encode_decide_request(ClusterSnapshot(), ())).HasField("snapshot")

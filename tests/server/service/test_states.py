"""Pushed states over a real connection: push, delta, reference, and errors with their recovery."""

import threading
from collections.abc import Iterator

import grpc
import pytest
from tenure.v1 import state_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod
from tenure.wire.chunking import chunk_snapshot

from tests.small_snapshot import small_snapshot
from tests.state.state_calls import BASE, apply, delta, precondition_type, push, stub, violated_fields


@pytest.fixture(scope="module")
def service() -> Iterator[DecisionServiceStub]:
    with stub() as service:
        yield service


def decide(service: DecisionServiceStub, reference: pb.StateReference, now_s: int = 0) -> bytes:
    request = DecideRequest(state=reference)
    if now_s:
        request.now.seconds = now_s
    return service.Decide(request, timeout=10).SerializeToString()


def test_push_returns_the_state_reference(service: DecisionServiceStub) -> None:
    assert push(service) == BASE


def test_decision_by_reference_equals_that_on_the_inline_snapshot(service: DecisionServiceStub) -> None:
    inline = service.Decide(DecideRequest(snapshot=small_snapshot()), timeout=10)
    assert decide(service, push(service)) == inline.SerializeToString()


def test_decision_at_a_later_time_equals_that_on_a_later_snapshot(service: DecisionServiceStub) -> None:
    later = small_snapshot()
    later.now.seconds += 60
    inline = service.Decide(DecideRequest(snapshot=later), timeout=10)
    assert decide(service, push(service), later.now.seconds) == inline.SerializeToString()


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ({"epoch": "other"}, "STATE_ERROR_CODE_UNKNOWN_STATE"),
        ({"cluster_id": "other"}, "STATE_ERROR_CODE_UNKNOWN_STATE"),
        ({"node_pool": "other"}, "STATE_ERROR_CODE_UNKNOWN_STATE"),
        ({"version": 6}, "STATE_ERROR_CODE_VERSION_GAP"),
        ({"version": 8}, "STATE_ERROR_CODE_VERSION_GAP"),
    ],
)
def test_reference_to_an_unknown_state_is_a_failed_precondition(
    service: DecisionServiceStub, reference: dict[str, object], says: str
) -> None:
    named = push(service)
    for field, value in reference.items():
        setattr(named, field, value)
    with pytest.raises(grpc.RpcError) as caught:
        decide(service, named)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert precondition_type(caught.value) == says


def test_time_before_that_of_the_state_is_a_clock_regression(service: DecisionServiceStub) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        decide(service, push(service), 1_699_999_999)
    assert precondition_type(caught.value) == "STATE_ERROR_CODE_CLOCK_REGRESSION"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (DecideRequest(state=BASE, snapshot=small_snapshot()), "state"),
        (DecideRequest(snapshot=small_snapshot(), now={"seconds": 5}), "now"),
        (DecideRequest(state=BASE, now={"nanos": -1}), "now"),
        (DecideRequest(state=BASE, actions=["no"]), "actions[0]"),
    ],
)
def test_request_without_exactly_one_source_is_rejected(
    service: DecisionServiceStub, request_: DecideRequest, field: str
) -> None:
    push(service)
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(request_, timeout=10)
    assert violated_fields(caught.value) == [field]


def without_pending_group(base: pb.StateReference) -> pb.StateDelta:
    """A delta that removes the pending pod group."""
    waiting = [pod for pod in small_snapshot().pods if not pod.node]
    removes = pb.StateKeys(pods=[pod.uid for pod in waiting], pod_groups={pod.pod_group for pod in waiting})
    return delta(base, removals=removes)


def test_decide_with_delta_equals_apply_delta_and_decide(service: DecisionServiceStub) -> None:
    change = without_pending_group(push(service))
    one = service.Decide(DecideRequest(delta=change), timeout=10).SerializeToString()
    again = service.Decide(DecideRequest(delta=change), timeout=10).SerializeToString()
    before = decide(service, push(service))
    two = decide(service, apply(service, change))
    assert one == again == two != before


def test_delta_of_a_decide_request_is_a_base_for_further_deltas(service: DecisionServiceStub) -> None:
    change = without_pending_group(push(service))
    service.Decide(DecideRequest(delta=change), timeout=10)
    after = pb.StateReference(cluster_id="test", epoch="e", version=change.version)
    assert decide(service, after) == decide(service, apply(service, change))
    later = delta(after)
    later.now.seconds += 60
    asked = service.Decide(DecideRequest(delta=later, now=later.now), timeout=10)
    assert asked.header.version == change.version + 1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (DecideRequest(delta=delta(), snapshot=small_snapshot()), "delta"),
        (DecideRequest(delta=delta(), state=BASE), "delta"),
        (DecideRequest(delta=delta(upserts=ClusterSnapshot(pods=[Pod()]))), "upserts.pods[0].uid"),
    ],
)
def test_delta_of_an_invalid_request_is_not_applied(
    service: DecisionServiceStub, request_: DecideRequest, field: str
) -> None:
    before = decide(service, push(service))
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(request_, timeout=10)
    assert field in violated_fields(caught.value)
    assert decide(service, BASE) == before


def test_delta_on_another_version_is_a_failed_precondition(service: DecisionServiceStub) -> None:
    base = push(service)
    base.version = 5
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(DecideRequest(delta=delta(base)), timeout=10)
    assert precondition_type(caught.value) == "STATE_ERROR_CODE_VERSION_GAP"


def test_delta_of_a_request_with_invalid_actions_can_be_resent(
    service: DecisionServiceStub,
) -> None:
    change = without_pending_group(push(service))
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(DecideRequest(delta=change, actions=["no"]), timeout=10)
    assert violated_fields(caught.value) == ["actions[0]"]
    answer = service.Decide(DecideRequest(delta=change), timeout=10)
    assert answer.header.version == change.version


def test_later_chunks_only_add_rows(service: DecisionServiceStub) -> None:
    whole, first, second = small_snapshot(), ClusterSnapshot(), ClusterSnapshot()
    first.CopyFrom(whole)
    del first.pods[:]
    second.pods.extend(whole.pods)
    sent = [
        pb.PutSnapshotRequest(epoch="p", chunk=first),
        pb.PutSnapshotRequest(chunk=second, last_chunk=True),
    ]
    reference = service.PutSnapshot(iter(sent), timeout=10).state
    assert (reference.cluster_id, reference.version) == ("test", 7)
    assert decide(service, reference) == decide(service, push(service))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"epoch": ""}, "epoch"),
        ({"last_chunk": False}, "last_chunk"),
        ({"chunk": ClusterSnapshot(cluster_id="test")}, "now"),
    ],
)
def test_invalid_push_retains_the_previous_state(
    service: DecisionServiceStub, change: dict[str, object], field: str
) -> None:
    reference = push(service)
    piece = {"epoch": "new", "chunk": small_snapshot(), "last_chunk": True, **change}
    with pytest.raises(grpc.RpcError) as caught:
        service.PutSnapshot(iter([pb.PutSnapshotRequest(**piece)]), timeout=10)
    assert violated_fields(caught.value) == [field]
    assert decide(service, reference)


def test_interrupted_push_stores_nothing(service: DecisionServiceStub) -> None:
    reference, halt = push(service), threading.Event()

    def cut_off() -> Iterator[pb.PutSnapshotRequest]:
        yield pb.PutSnapshotRequest(epoch="new", chunk=small_snapshot())
        halt.wait(10)

    call = service.PutSnapshot.future(cut_off(), timeout=10)
    call.cancel()
    halt.set()
    assert decide(service, reference)


def test_chunk_and_snapshot_beyond_the_limits_are_rejected_by_name() -> None:
    big = small_snapshot()
    big.pod_groups[0].annotations["note"] = "x" * (2**20)
    with stub(max_state_mib=1) as service:
        for sent, limit in (
            ([pb.PutSnapshotRequest(epoch="e", chunk=big, last_chunk=True)], "maxChunkMib"),
            ([pb.PutSnapshotRequest(epoch="e", chunk=half_of(big))] * 2, "maxStateMib"),
        ):
            with pytest.raises(grpc.RpcError, match=limit) as caught:
                service.PutSnapshot(iter(sent), timeout=10)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        push(service)


def half_of(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    part = ClusterSnapshot(pod_groups=snapshot.pod_groups)
    part.pod_groups[0].annotations["note"] = "x" * (2**19 + 100)
    return part


def test_delta_changes_the_state_and_its_replay_does_not(service: DecisionServiceStub) -> None:
    push(service)
    upserts = ClusterSnapshot(
        pods=[Pod(uid="runs-0", pod_group="runs", shape="gpu", status="POD_STATUS_SUCCEEDED")]
    )
    change = delta(upserts=upserts, removals=pb.StateKeys(pods=["waits-1", "never there"]))
    after = apply(service, change)
    assert after.version == 8
    assert apply(service, change) == after
    inline = small_snapshot()
    inline.version, inline.now.seconds = 8, 1_700_000_001
    del inline.pods[3], inline.pods[0]
    inline.pods.extend(upserts.pods)
    assert decide(service, after) == service.Decide(DecideRequest(snapshot=inline)).SerializeToString()


def test_delta_that_is_not_valid_names_rows_and_keys(service: DecisionServiceStub) -> None:
    push(service)
    upserts = ClusterSnapshot(
        pods=[Pod(uid="new", pod_group="nobody", shape="gpu", status="POD_STATUS_PENDING")]
    )
    with pytest.raises(grpc.RpcError) as caught:
        apply(service, delta(upserts=upserts, removals=pb.StateKeys(shapes=["half"])))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert violated_fields(caught.value) == ["pods['runs-1'].shape", "upserts.pods[0].pod_group"]
    assert decide(service, BASE)


def test_chunks_are_no_larger_than_the_server_accepts() -> None:
    large = small_snapshot()
    for i in range(30):
        large.pod_groups.add(uid=f"g{i}", queue="left").annotations["note"] = "x" * 100_000
    sent = list(chunk_snapshot("e", large))
    assert len(sent) == 3
    assert all(piece.ByteSize() <= 2**20 for piece in sent)
    assert [piece.last_chunk for piece in sent] == [False, False, True]
    assert sum(len(piece.chunk.pod_groups) for piece in sent) == 32

"""Kept states over a real connection: pushed, changed, referred to, and refused with the recovery to take."""

import threading
from collections.abc import Iterator

import grpc
import pytest
from tenure.client.pieces import pieces
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod

from tests.server.given import small_snapshot
from tests.states.calls import BASE, apply, delta, fields, precondition, push, stub


@pytest.fixture(scope="module")
def service() -> Iterator[DecisionServiceStub]:
    with stub() as service:
        yield service


def decide(service: DecisionServiceStub, reference: pb.StateReference, now_s: int = 0) -> bytes:
    request = DecideRequest(state=reference)
    if now_s:
        request.now.seconds = now_s
    return service.Decide(request, timeout=10).SerializeToString()


def test_push_answers_what_to_refer_to(service: DecisionServiceStub) -> None:
    assert push(service) == BASE


def test_decision_by_reference_is_that_of_the_inline_snapshot(service: DecisionServiceStub) -> None:
    inline = service.Decide(DecideRequest(snapshot=small_snapshot()), timeout=10)
    assert decide(service, push(service)) == inline.SerializeToString()


def test_decision_at_a_later_time_is_that_of_a_later_snapshot(service: DecisionServiceStub) -> None:
    later = small_snapshot()
    later.now.seconds += 60
    inline = service.Decide(DecideRequest(snapshot=later), timeout=10)
    assert decide(service, push(service), later.now.seconds) == inline.SerializeToString()


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ({"epoch": "other"}, "STATE_FAULT_CODE_UNKNOWN_STATE"),
        ({"cluster_id": "other"}, "STATE_FAULT_CODE_UNKNOWN_STATE"),
        ({"node_pool": "other"}, "STATE_FAULT_CODE_UNKNOWN_STATE"),
        ({"version": 6}, "STATE_FAULT_CODE_VERSION_GAP"),
        ({"version": 8}, "STATE_FAULT_CODE_VERSION_GAP"),
    ],
)
def test_reference_to_what_is_not_kept_is_a_failed_precondition(
    service: DecisionServiceStub, reference: dict[str, object], says: str
) -> None:
    named = push(service)
    for field, value in reference.items():
        setattr(named, field, value)
    with pytest.raises(grpc.RpcError) as caught:
        decide(service, named)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert precondition(caught.value) == says


def test_time_before_that_of_the_state_is_a_clock_regression(service: DecisionServiceStub) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        decide(service, push(service), 1_699_999_999)
    assert precondition(caught.value) == "STATE_FAULT_CODE_CLOCK_REGRESSION"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (DecideRequest(state=BASE, snapshot=small_snapshot()), "state"),
        (DecideRequest(snapshot=small_snapshot(), now={"seconds": 5}), "now"),
        (DecideRequest(state=BASE, now={"nanos": -1}), "now"),
        (DecideRequest(state=BASE, actions=["no"]), "actions[0]"),
    ],
)
def test_question_that_is_no_one_question_is_refused(
    service: DecisionServiceStub, request_: DecideRequest, field: str
) -> None:
    push(service)
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(request_, timeout=10)
    assert fields(caught.value) == [field]


def gone(base: pb.StateReference) -> pb.StateDelta:
    """The pod group that waits is not there any more."""
    waiting = [pod for pod in small_snapshot().pods if not pod.node]
    removes = pb.StateKeys(pods=[pod.uid for pod in waiting], pod_groups={pod.pod_group for pod in waiting})
    return delta(base, removes=removes)


def test_decision_after_a_delta_is_that_of_two_calls(service: DecisionServiceStub) -> None:
    change = gone(push(service))
    one = service.Decide(DecideRequest(delta=change), timeout=10).SerializeToString()
    again = service.Decide(DecideRequest(delta=change), timeout=10).SerializeToString()
    before = decide(service, push(service))
    two = decide(service, apply(service, change))
    assert one == again == two != before


def test_delta_that_comes_with_a_question_can_be_built_upon(service: DecisionServiceStub) -> None:
    change = gone(push(service))
    service.Decide(DecideRequest(delta=change), timeout=10)
    after = pb.StateReference(cluster_id="test", epoch="e", version=change.version)
    assert decide(service, after) == decide(service, apply(service, change))
    later = delta(after)
    later.now.seconds += 60
    asked = service.Decide(DecideRequest(delta=later, now=later.now), timeout=10)
    assert asked.based_on.version == change.version + 1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (DecideRequest(delta=delta(), snapshot=small_snapshot()), "delta"),
        (DecideRequest(delta=delta(), state=BASE), "delta"),
        (DecideRequest(delta=delta(upserts=ClusterSnapshot(pods=[Pod()]))), "upserts.pods[0].uid"),
    ],
)
def test_delta_that_does_not_go_with_the_question_is_not_applied(
    service: DecisionServiceStub, request_: DecideRequest, field: str
) -> None:
    before = decide(service, push(service))
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(request_, timeout=10)
    assert field in fields(caught.value)
    assert decide(service, BASE) == before


def test_delta_on_another_version_is_a_failed_precondition(service: DecisionServiceStub) -> None:
    base = push(service)
    base.version = 5
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(DecideRequest(delta=delta(base)), timeout=10)
    assert precondition(caught.value) == "STATE_FAULT_CODE_VERSION_GAP"


def test_delta_of_a_question_that_is_refused_for_its_actions_can_be_sent_again(
    service: DecisionServiceStub,
) -> None:
    change = gone(push(service))
    with pytest.raises(grpc.RpcError) as caught:
        service.Decide(DecideRequest(delta=change, actions=["no"]), timeout=10)
    assert fields(caught.value) == ["actions[0]"]
    answer = service.Decide(DecideRequest(delta=change), timeout=10)
    assert answer.based_on.version == change.version


def test_later_pieces_only_add_rows(service: DecisionServiceStub) -> None:
    whole, first, second = small_snapshot(), ClusterSnapshot(), ClusterSnapshot()
    first.CopyFrom(whole)
    del first.pods[:]
    second.pods.extend(whole.pods)
    second.cluster_id, second.version = "of no account", 99
    sent = [pb.PutSnapshotRequest(epoch="p", part=first), pb.PutSnapshotRequest(part=second, last=True)]
    reference = service.PutSnapshot(iter(sent), timeout=10).state
    assert (reference.cluster_id, reference.version) == ("test", 7)
    assert decide(service, reference) == decide(service, push(service))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"epoch": ""}, "epoch"),
        ({"last": False}, "last"),
        ({"part": ClusterSnapshot(cluster_id="test")}, "now"),
    ],
)
def test_push_that_is_not_valid_keeps_what_was_there(
    service: DecisionServiceStub, change: dict[str, object], field: str
) -> None:
    reference = push(service)
    piece = {"epoch": "new", "part": small_snapshot(), "last": True, **change}
    with pytest.raises(grpc.RpcError) as caught:
        service.PutSnapshot(iter([pb.PutSnapshotRequest(**piece)]), timeout=10)
    assert fields(caught.value) == [field]
    assert decide(service, reference)


def test_stream_that_breaks_off_keeps_nothing(service: DecisionServiceStub) -> None:
    reference, halt = push(service), threading.Event()

    def cut_off() -> Iterator[pb.PutSnapshotRequest]:
        yield pb.PutSnapshotRequest(epoch="new", part=small_snapshot())
        halt.wait(10)

    call = service.PutSnapshot.future(cut_off(), timeout=10)
    call.cancel()
    halt.set()
    assert decide(service, reference)


def test_piece_and_snapshot_beyond_the_limits_are_refused_by_name() -> None:
    big = small_snapshot()
    big.pod_groups[0].annotations["note"] = "x" * (2**20)
    with stub(max_state_mib=1) as service:
        for sent, limit in (
            ([pb.PutSnapshotRequest(epoch="e", part=big, last=True)], "maxPartMib"),
            ([pb.PutSnapshotRequest(epoch="e", part=half(big))] * 2, "maxStateMib"),
        ):
            with pytest.raises(grpc.RpcError, match=limit) as caught:
                service.PutSnapshot(iter(sent), timeout=10)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        push(service)


def half(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    part = ClusterSnapshot(pod_groups=snapshot.pod_groups)
    part.pod_groups[0].annotations["note"] = "x" * (2**19 + 100)
    return part


def test_delta_changes_the_state_and_its_replay_does_not(service: DecisionServiceStub) -> None:
    push(service)
    upserts = ClusterSnapshot(
        pods=[Pod(uid="runs-0", pod_group="runs", shape="gpu", status="POD_STATUS_SUCCEEDED")]
    )
    change = delta(upserts=upserts, removes=pb.StateKeys(pods=["waits-1", "never there"]))
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
        apply(service, delta(upserts=upserts, removes=pb.StateKeys(shapes=["half"])))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert fields(caught.value) == ["pods['runs-1'].shape", "upserts.pods[0].pod_group"]
    assert decide(service, BASE)


def test_pieces_are_no_larger_than_a_server_takes() -> None:
    large = small_snapshot()
    for i in range(30):
        large.pod_groups.add(uid=f"g{i}", queue="left").annotations["note"] = "x" * 100_000
    sent = list(pieces("e", large))
    assert len(sent) == 3
    assert all(piece.ByteSize() <= 2**20 for piece in sent)
    assert [piece.last for piece in sent] == [False, False, True]
    assert sum(len(piece.part.pod_groups) for piece in sent) == 32

"""Nothing that a caller sends is accepted and then dropped, and no list names more than there is."""

from collections.abc import Iterator
from typing import Any, Final

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest
from grpc_status.rpc_status import from_call
from tenure.v1 import explain_pb2, simulate_pb2, state_pb2
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.wire.deltas import HEADER

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

EPOCH: Final = "e"


@pytest.fixture(scope="module")
def stub() -> Iterator[DecisionServiceStub]:
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        made = DecisionServiceStub(channel)
        made.PutSnapshot(
            iter([state_pb2.PutSnapshotRequest(epoch=EPOCH, chunk=small_snapshot(), last_chunk=True)])
        )
        yield made


def refused(call: Any, request: Any) -> dict[str, str]:
    """Descriptions by field of the error that a call ends with."""
    with pytest.raises(grpc.RpcError) as ended:
        call(request)
    assert ended.value.code() is grpc.StatusCode.INVALID_ARGUMENT, ended.value
    found = BadRequest()
    (detail,) = [one for one in from_call(ended.value).details if one.Is(BadRequest.DESCRIPTOR)]
    detail.Unpack(found)
    return {one.field: one.description for one in found.field_violations}


def delta(**rows: Any) -> state_pb2.StateDelta:
    snapshot = small_snapshot()
    base = {"cluster_id": snapshot.cluster_id, "node_pool": snapshot.node_pool, "epoch": EPOCH}
    made = state_pb2.StateDelta(
        base={**base, "version": snapshot.version}, version=snapshot.version + 1, **rows
    )
    made.now.CopyFrom(snapshot.now)
    return made


CHANGES: Final[dict[str, dict[str, Any]]] = {
    "upserts.cluster_id": {"upserts": {"cluster_id": "other"}},
    "upserts.node_pool": {"upserts": {"node_pool": "other"}},
    "upserts.version": {"upserts": {"version": 9}},
    "upserts.now": {"upserts": {"now": {"seconds": 1}}},
    "removals.eviction_history[0].result_pending": {
        "removals": {"eviction_history": [{"victim": "a", "preemptor": "b", "result_pending": True}]}
    },
}


@pytest.mark.parametrize("field", CHANGES)
def test_field_without_effect_in_changed_rows_is_refused_by_name_and_fix(
    stub: DecisionServiceStub, field: str
) -> None:
    changed, source = CHANGES[field], small_snapshot()
    calls: list[tuple[Any, Message, str]] = [
        (stub.ApplyDelta, state_pb2.ApplyDeltaRequest(delta=delta(**changed)), "delta."),
        (
            stub.ApplyDelta,
            state_pb2.ApplyDeltaRequest(delta=delta(**changed), faults=state_pb2.FAULTS_SET_ASIDE),
            "delta.",
        ),
        (stub.Decide, DecideRequest(delta=delta(**changed)), "delta."),
        (stub.Simulate, simulate_pb2.SimulateRequest(snapshot=source, **changed), ""),
    ]
    for call, request, prefix in calls:
        found = refused(call, request)
        assert list(found) in ([field], [prefix + field])
        assert "leave it out" in str(found) or "alone" in str(found)


def test_every_field_of_a_snapshot_that_is_no_row_is_in_the_table() -> None:
    single = {
        field.name
        for field in DecideRequest.DESCRIPTOR.fields_by_name["snapshot"].message_type.fields
        if not field.is_repeated
    }
    assert single - {"pod_columns"} == set(HEADER)


@pytest.mark.parametrize(
    "late", [{"epoch": "x"}, {"chunk": {"cluster_id": "x"}}, {"chunk": {"version": 2}}], ids=str
)
def test_field_of_the_first_chunk_is_refused_in_later_ones(
    stub: DecisionServiceStub, late: dict[str, Any]
) -> None:
    first = state_pb2.PutSnapshotRequest(epoch=EPOCH, chunk=small_snapshot())
    chunks = [first, state_pb2.PutSnapshotRequest(last_chunk=True, **late)]
    (problem,) = refused(stub.PutSnapshot, iter(chunks)).items()
    assert problem[0].startswith("pieces[1].")
    assert "belongs in the first chunk" in problem[1]


MANY: Final = 900_000


def lists(count: int) -> dict[str, tuple[str, Message]]:
    """Method and request by field, with so many names of things that exist in it."""
    source = small_snapshot()
    actions, waits = ["allocate"] * count, ["waits"] * count
    return {
        "Decide actions": ("Decide", DecideRequest(snapshot=source, actions=actions)),
        "Decide actions on a state": ("Decide", DecideRequest(state=delta().base, actions=actions)),
        "Simulate actions": ("Simulate", simulate_pb2.SimulateRequest(snapshot=source, actions=actions)),
        "Explain pod groups": (
            "Explain",
            explain_pb2.ExplainRequest(snapshot=source, when_starts={"pod_groups": waits}),
        ),
        "unknown actions": ("Decide", DecideRequest(snapshot=source, actions=["x"] * count)),
    }


@pytest.mark.parametrize("name", lists(0))
def test_list_of_names_is_bounded_by_what_exists(stub: DecisionServiceStub, name: str) -> None:
    method, request = lists(MANY)[name]
    (description,) = refused(getattr(stub, method), request).values()
    assert description.startswith(f"has {MANY:,} names, but there are ")

"""Calls for pushed states on a plain connection, and states to send."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import grpc
from google.rpc.error_details_pb2 import BadRequest, PreconditionFailure
from grpc_status import rpc_status
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.wire.chunking import chunk_snapshot

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

BASE = pb.StateReference(cluster_id="test", epoch="e", version=7)


@contextmanager
def stub(**limits: int) -> Iterator[DecisionServiceStub]:
    """A server in this process, and a plain connection to it."""
    with run_server(**limits) as (_, address), grpc.insecure_channel(address) as channel:
        yield DecisionServiceStub(channel)


def push(service: DecisionServiceStub) -> pb.StateReference:
    """Push the small snapshot."""
    answer: pb.PutSnapshotResponse = service.PutSnapshot(chunk_snapshot("e", small_snapshot()), timeout=10)
    return answer.state


def delta(base: pb.StateReference = BASE, **fields: object) -> pb.StateDelta:
    """A delta that changes only version and time, unless other fields are given."""
    made = pb.StateDelta(base=base, version=base.version + 1, **fields)
    if "now" not in fields:
        made.now.seconds = 1_700_000_001
    return made


def apply(service: DecisionServiceStub, what: pb.StateDelta) -> pb.StateReference:
    answer: pb.ApplyDeltaResponse = service.ApplyDelta(pb.ApplyDeltaRequest(delta=what), timeout=10)
    return answer.state


def sync(service: DecisionServiceStub, deltas: Iterable[pb.StateDelta]) -> list[pb.SyncStateResponse]:
    requests = (pb.SyncStateRequest(nonce=f"n{i}", delta=each) for i, each in enumerate(deltas))
    return list(service.SyncState(requests, timeout=10))


def precondition_type(failure: grpc.RpcError) -> str:
    """Violation type in the details of a FAILED_PRECONDITION."""
    details = PreconditionFailure()
    assert rpc_status.from_call(failure).details[0].Unpack(details)
    return str(details.violations[0].type)


def violated_fields(failure: grpc.RpcError) -> list[str]:
    """Violated fields in the details of an INVALID_ARGUMENT."""
    details = BadRequest()
    assert rpc_status.from_call(failure).details[0].Unpack(details)
    return [violation.field for violation in details.field_violations]

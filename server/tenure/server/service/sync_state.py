"""SyncState: deltas one after the other, each answered in its turn."""

from collections.abc import Iterator

import grpc
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.service.shared import Shared
from tenure.server.state import Fault
from tenure.v1.state_pb2 import SyncStateRequest, SyncStateResponse


def sync_state(
    shared: Shared, requests: Iterator[SyncStateRequest], context: grpc.ServicerContext
) -> Iterator[SyncStateResponse]:
    """An ACK or NACK for each delta, until one comes after which only a full snapshot helps."""
    for request in requests:
        answer = _answer(shared, request)
        yield answer
        if answer.fault.resync_required:
            return


def _answer(shared: Shared, request: SyncStateRequest) -> SyncStateResponse:
    if not request.nonce:
        raise InvalidSnapshot([FieldViolation("nonce", "is required")])
    try:
        state = shared.states.apply(request.delta)
        return SyncStateResponse(nonce=request.nonce, state=state.reference)
    except Fault as fault:
        kept = shared.states.newest(request.delta.base)
        return SyncStateResponse(
            nonce=request.nonce, state=kept.reference if kept else None, fault=fault.message()
        )

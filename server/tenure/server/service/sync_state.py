"""SyncState: deltas one after the other, each answered in its turn."""

from collections.abc import Iterator

import grpc
from google.protobuf.message import DecodeError
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.prescan import LimitExceeded, text_of
from tenure.server.service.methods import Unread
from tenure.server.service.shared import Shared
from tenure.server.state import Fault, faults
from tenure.v1.state_pb2 import SyncStateRequest, SyncStateResponse


def sync_state(
    shared: Shared, requests: Iterator[Unread[SyncStateRequest]], context: grpc.ServicerContext
) -> Iterator[SyncStateResponse]:
    """An ACK or NACK for each delta, until one comes after which only a full snapshot helps."""
    for unread in requests:
        answer = _answer(shared, unread)
        yield answer
        if answer.fault.resync_required:
            return


def _answer(shared: Shared, unread: Unread[SyncStateRequest]) -> SyncStateResponse:
    try:
        request = unread.read()
    except (DecodeError, InvalidSnapshot, LimitExceeded) as error:
        return SyncStateResponse(nonce=_nonce(unread), fault=_unreadable(error).message())
    if not request.nonce:
        missing = faults.invalid([FieldViolation("nonce", "is required")])
        return SyncStateResponse(fault=missing.message())
    return _applied(shared, request)


def _applied(shared: Shared, request: SyncStateRequest) -> SyncStateResponse:
    try:
        with shared.pushes.delta_span():
            state = shared.states.apply(request.delta)
            shared.pushes.remember(state.reference)
        return SyncStateResponse(nonce=request.nonce, state=state.reference)
    except Fault as fault:
        kept = shared.states.newest(request.delta.base)
        return SyncStateResponse(
            nonce=request.nonce, state=kept.reference if kept else None, fault=fault.message()
        )


def _unreadable(error: DecodeError | InvalidSnapshot | LimitExceeded) -> Fault:
    match error:
        case InvalidSnapshot():
            return faults.invalid(error.violations)
        case LimitExceeded():
            return faults.too_many_rows(error, "delta")
    return faults.no_message(SyncStateRequest.DESCRIPTOR.full_name)


def _nonce(unread: Unread[SyncStateRequest]) -> str:
    """The nonce of a message that cannot be read as a whole, if it has one that may be repeated."""
    nonce = text_of(unread.content, SyncStateRequest.NONCE_FIELD_NUMBER)
    return nonce if len(nonce) <= unread.limits.max_name_length else ""

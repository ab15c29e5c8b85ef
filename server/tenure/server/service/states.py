"""PutSnapshot, ApplyDelta, SyncState, GetState, ListStates and ListCycles: push, change and read states."""

from collections.abc import Callable, Iterator

import grpc
from google.protobuf.message import DecodeError
from tenure.codec.pod_group_status import status_messages, unusable_message
from tenure.server.garbage_collection import freeze_gc
from tenure.server.security.callers import CURRENT, PermissionDenied, caller_key
from tenure.server.security.policy import Verb
from tenure.server.service.methods import UndecodedRequest
from tenure.server.service.service_context import ServiceContext
from tenure.server.shard import Shard
from tenure.server.state import State, StateError, errors
from tenure.v1.cycles_pb2 import (
    ListCyclesRequest,
    ListCyclesResponse,
    ListStatesRequest,
    ListStatesResponse,
)
from tenure.v1.state_pb2 import (
    FAULTS_SET_ASIDE,
    ApplyDeltaRequest,
    ApplyDeltaResponse,
    Faults,
    GetStateRequest,
    GetStateResponse,
    PutSnapshotRequest,
    PutSnapshotResponse,
    SetAsideRows,
    StateDelta,
    StateReference,
    SyncStateRequest,
    SyncStateResponse,
)
from tenure.wire.chunking import split_rows, split_snapshot
from tenure.wire.encoding import text_of
from tenure.wire.limits import LimitExceeded
from tenure.wire.violations import FieldViolation, SnapshotValidationError


def put_snapshot(
    shared: ServiceContext,
    chunks: Iterator[UndecodedRequest[PutSnapshotRequest]],
    context: grpc.ServicerContext,
) -> PutSnapshotResponse:
    """Merge chunks to a state and store it. An incomplete stream stores nothing."""
    caller = caller_key(context)
    with shared.upload_memory.open(caller) as upload:
        for unread in chunks:
            piece, has_long_texts = unread.read_tolerantly()
            upload.add(piece, has_long_texts=has_long_texts)
        with freeze_gc():
            deadline = shared.cycle_queue.call_deadline(context)
            state = upload.state(shared.limits, deadline.check)
            shared.engine.warm_up(state.cluster, state.warm_start, deadline)
    shared.states.push(state, caller)
    shared.push_links.add(state.reference)
    return PutSnapshotResponse(state=state.reference, set_aside=rows_set_aside(state))


def apply_delta(
    shared: ServiceContext, request: ApplyDeltaRequest, context: grpc.ServicerContext
) -> ApplyDeltaResponse:
    """Apply one delta; return the new reference."""
    check = shared.cycle_queue.call_deadline(context).check
    state = apply(shared, request.delta, request.faults, check)
    return ApplyDeltaResponse(state=state.reference, set_aside=rows_set_aside(state))


def apply(shared: ServiceContext, delta: StateDelta, faults: Faults, check: Callable[[], None]) -> State:
    """Store and return the state after a delta. Raises StateError, and CallEnded without a change."""
    state = shared.states.apply(delta, shared.limits if faults == FAULTS_SET_ASIDE else None, check)
    shared.push_links.add(state.reference)
    return state


def rows_set_aside(state: State) -> SetAsideRows | None:
    """Rows of a state that are set aside; None if there are none."""
    return state.set_aside.message if state.set_aside else None


def sync_state(
    shared: ServiceContext,
    requests: Iterator[UndecodedRequest[SyncStateRequest]],
    context: grpc.ServicerContext,
) -> Iterator[SyncStateResponse]:
    """Return an ACK or NACK per delta, until an error requires a full snapshot."""
    for unread in requests:
        answer = _respond(shared, unread)
        yield answer
        if answer.error.resync_required:
            return


def _respond(shared: ServiceContext, unread: UndecodedRequest[SyncStateRequest]) -> SyncStateResponse:
    try:
        request = unread.read()
    except (DecodeError, SnapshotValidationError, LimitExceeded) as error:
        return SyncStateResponse(nonce=_nonce(unread), error=_unreadable(error).message())
    if not request.nonce:
        missing = errors.invalid_delta([FieldViolation("nonce", "is required")])
        return SyncStateResponse(error=missing.message())
    return _apply(shared, request, unread.call.deadline.check)


def _apply(shared: ServiceContext, request: SyncStateRequest, check: Callable[[], None]) -> SyncStateResponse:
    try:
        with shared.push_links.delta_span():
            state = apply(shared, request.delta, request.faults, check)
        set_aside = rows_set_aside(state)
        return SyncStateResponse(nonce=request.nonce, state=state.reference, set_aside=set_aside)
    except StateError as fault:
        newest = shared.states.newest_reference(request.delta.base)
        return SyncStateResponse(nonce=request.nonce, state=newest, error=fault.message())


def _unreadable(error: DecodeError | SnapshotValidationError | LimitExceeded) -> StateError:
    match error:
        case SnapshotValidationError():
            return errors.invalid_delta(error.violations)
        case LimitExceeded():
            return errors.too_many_rows(error, "delta")
    return errors.no_message(SyncStateRequest.DESCRIPTOR.full_name)


def _nonce(unread: UndecodedRequest[SyncStateRequest]) -> str:
    """Nonce of a message that cannot be parsed completely, if it has a valid one."""
    nonce = text_of(unread.content, SyncStateRequest.NONCE_FIELD_NUMBER)
    return nonce if len(nonce) <= unread.limits.max_name_length else ""


def get_state(
    shared: ServiceContext, request: GetStateRequest, context: grpc.ServicerContext
) -> Iterator[GetStateResponse]:
    """Newest version of a state; concurrent deltas do not affect it. Raises StateError."""
    shard = (request.cluster_id, request.node_pool)
    reference = StateReference(cluster_id=shard[0], node_pool=shard[1])
    check = shared.cycle_queue.call_deadline(context).check
    state = shared.states.newest(reference, check)
    if state is None:
        raise errors.no_state(*shard)
    ahead = split_snapshot(state.snapshot)
    response = GetStateResponse(state=state.reference, chunk=next(ahead))
    for part in ahead:
        yield response
        response = GetStateResponse(chunk=part)
    if request.include_pod_group_statuses:
        for rows in split_rows(status_messages(state.cluster, shared.engine.registry, check)):
            yield response
            response = GetStateResponse(pod_group_statuses=rows)
        response.unusable_gpus.CopyFrom(unusable_message(state.cluster))
    response.last_chunk = True
    yield response


def list_cycles(shared: ServiceContext, request: ListCyclesRequest, context: grpc.ServicerContext) -> bytes:
    """Recent cycles after a number, and the newest version of the state: a serialized ListCyclesResponse."""
    shard = Shard(request.cluster_id, request.node_pool)
    newest = shared.states.newest_reference(StateReference(**shard._asdict()))
    cycles = shared.recent_cycles.after(shard, request.after)
    return cycles + ListCyclesResponse(state=newest).SerializeToString()


def list_states(
    shared: ServiceContext, request: ListStatesRequest, context: grpc.ServicerContext
) -> ListStatesResponse:
    """States that the caller may read."""
    found = shared.states.references()
    return ListStatesResponse(states=[state for state in found if _may_read(shared, state)])


def _may_read(shared: ServiceContext, state: StateReference) -> bool:
    try:
        shared.access.judge(CURRENT.get(), Verb.READ, Shard(state.cluster_id, state.node_pool))
    except PermissionDenied:
        return False
    return True

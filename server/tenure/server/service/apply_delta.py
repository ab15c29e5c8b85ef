"""ApplyDelta: one delta to a kept state."""

import grpc
from tenure.server.service.shared import Shared
from tenure.server.state import State
from tenure.v1.state_pb2 import ApplyDeltaRequest, ApplyDeltaResponse, StateDelta


def apply_delta(
    shared: Shared, request: ApplyDeltaRequest, context: grpc.ServicerContext
) -> ApplyDeltaResponse:
    """What to refer to after the delta."""
    return ApplyDeltaResponse(state=applied(shared, request.delta).reference)


def applied(shared: Shared, delta: StateDelta) -> State:
    """The state after a delta, kept from now on. Raises Fault."""
    state = shared.states.apply(delta)
    shared.pushes.remember(state.reference)
    return state

"""ApplyDelta: one delta to a kept state."""

import grpc
from tenure.server.service.shared import Shared
from tenure.v1.state_pb2 import ApplyDeltaRequest, ApplyDeltaResponse


def apply_delta(
    shared: Shared, request: ApplyDeltaRequest, context: grpc.ServicerContext
) -> ApplyDeltaResponse:
    """The state after the delta."""
    state = shared.states.apply(request.delta)
    shared.pushes.remember(state.reference)
    return ApplyDeltaResponse(state=state.reference)

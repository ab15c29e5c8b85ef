"""Simulate: cycles on a state that is not the real one. Nothing of it is counted, logged or kept."""

import grpc
from tenure.server.service.questions import referred, turn
from tenure.server.service.shared import Shared
from tenure.server.simulate import Simulator
from tenure.v1.decision_service_pb2 import SimulateResponse
from tenure.v1.simulate_pb2 import SimulateRequest


def simulate(shared: Shared, request: SimulateRequest, context: grpc.ServicerContext) -> SimulateResponse:
    """What would be decided. The simulator gets a profile and a state, and nothing it could change."""
    source = referred(shared, request)
    with turn(shared, request, context) as deadline:
        return Simulator(shared.engine.profile).simulate(request, source, deadline)

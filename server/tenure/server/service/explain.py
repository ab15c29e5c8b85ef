"""Explain: one question of a person about a state."""

import grpc
from tenure.server.explain import Explainer
from tenure.server.service.questions import referred, turn
from tenure.server.service.shared import Shared
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse


def explain(shared: Shared, request: ExplainRequest, context: grpc.ServicerContext) -> ExplainResponse:
    """The answer, found with the profile that decides; nothing of it is counted, logged or kept."""
    source = referred(shared, request)
    with turn(shared, request, context) as deadline:
        return Explainer(shared.engine.profile).explain(request, source, deadline)

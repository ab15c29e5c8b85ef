"""Decide, with estimated starts if the request asks for them (semantics R17.24)."""

import grpc
from tenure.server.explain import Explainer
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.server.service.decide import decide
from tenure.server.service.queries import acquire_query_slot, resolve_state
from tenure.server.service.service_context import ServiceContext
from tenure.server.state import StateError
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest, WhenStarts
from tenure.v1.state_pb2 import StateReference


def decide_and_estimate(
    shared: ServiceContext, request: DecideRequest, context: grpc.ServicerContext
) -> bytes:
    """Decide; then estimate, as a query of the shard, so that other decisions do not wait.

    Returns a serialized DecideResponse. The decision stands if there is no time for estimates, or the state
    is gone by then.
    """
    content = decide(shared, request, context)
    if not request.estimate_starts:
        return content
    try:
        return content + _estimates(shared, request, context)
    except (CycleQueueTimeout, StateError):
        return content


def _estimates(shared: ServiceContext, request: DecideRequest, context: grpc.ServicerContext) -> bytes:
    """Of the state that was decided on: without invalid rows, with the actions of the request."""
    question = ExplainRequest(when_starts=WhenStarts())
    if request.HasField("snapshot"):
        question.snapshot.CopyFrom(request.snapshot)
    else:
        question.state.CopyFrom(_reference(request))
    if request.HasField("now"):
        question.now.CopyFrom(request.now)
    source = resolve_state(shared, question, context)
    profile = shared.engine.profile_for(tuple(request.actions))
    with acquire_query_slot(shared, question, context) as deadline:
        found = Explainer(profile, shared.engine.registry).explain(question, source, deadline)
    return DecideResponse(start_estimates=found.start_estimates).SerializeToString()


def _reference(request: DecideRequest) -> StateReference:
    """The pushed state, or the result of the delta."""
    if request.HasField("state"):
        return request.state
    base = request.delta.base
    return StateReference(
        cluster_id=base.cluster_id,
        node_pool=base.node_pool,
        epoch=base.epoch,
        version=request.delta.version,
    )

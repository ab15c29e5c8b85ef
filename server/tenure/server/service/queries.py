"""Explain and Simulate: queries without side effects, in a queue of their own. Not counted or logged.

And Decide with estimated starts, which are such a query (semantics R17.24).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import grpc
from tenure.codec.simulation import BaseState, SimulationEngine
from tenure.server.deadlines import Deadline
from tenure.server.explain import Explainer
from tenure.server.explain.when_starts import encode_start_estimates
from tenure.server.security.callers import caller_key
from tenure.server.service.admission import TooManyCalls
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.server.service.decide import decide
from tenure.server.service.service_context import ServiceContext
from tenure.server.shard import Shard
from tenure.server.state import StateError
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse, WhenStarts
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.state_pb2 import StateReference


def resolve_state(
    shared: ServiceContext, request: SimulateRequest | ExplainRequest, context: grpc.ServicerContext
) -> BaseState | None:
    """The state that a request refers to; None when it brings a snapshot. Raises StateError."""
    if not request.HasField("state"):
        return None
    state = shared.states.find(request.state, shared.cycle_queue.call_deadline(context).check)
    return BaseState(state.header, state.decoded, lambda: state.snapshot, state.warm_start)


@contextmanager
def acquire_query_slot(
    shared: ServiceContext, request: SimulateRequest | ExplainRequest, context: grpc.ServicerContext
) -> Iterator[Deadline]:
    """Wait for a query slot of a shard; yield the deadline.

    Queries of a shard wait for each other, but not for its decisions, nor decisions for queries. Raises
    CycleQueueTimeout if the time runs out.
    """
    about = request.state if request.HasField("state") else request.snapshot
    shard = Shard(about.cluster_id, f"{about.node_pool} (queries)")
    with shared.cycle_queue.acquire(shard, context.time_remaining(), caller_key(context)) as deadline:
        if not context.add_callback(deadline.cancel):
            raise CycleQueueTimeout
        try:
            yield deadline
        except CycleStopped:
            raise CycleQueueTimeout from None


def simulate(shared: ServiceContext, request: SimulateRequest, context: grpc.ServicerContext) -> bytes:
    """Simulate cycles; return a serialized SimulateResponse.

    The simulation engine receives a profile and a state that it cannot change.
    """
    source = resolve_state(shared, request, context)
    registry = shared.engine.registry
    with acquire_query_slot(shared, request, context) as deadline:
        return SimulationEngine(shared.engine.profile, registry).simulate(
            request, source, deadline, partial(encode_start_estimates, registry)
        )


def explain(
    shared: ServiceContext, request: ExplainRequest, context: grpc.ServicerContext
) -> ExplainResponse:
    """Explain with the server's profile."""
    source = resolve_state(shared, request, context)
    with acquire_query_slot(shared, request, context) as deadline:
        return Explainer(shared.engine.profile, shared.engine.registry).explain(request, source, deadline)


def decide_and_estimate(
    shared: ServiceContext, request: DecideRequest, context: grpc.ServicerContext
) -> bytes:
    """Decide; then estimate, as a query of the shard, so that other decisions do not wait.

    Returns a serialized DecideResponse. The decision stands if there is no time for estimates, the caller has
    too many calls, or the state is gone by then.
    """
    content = decide(shared, request, context)
    if not request.estimate_starts:
        return content
    try:
        return content + _estimates(shared, request, context)
    except (CycleQueueTimeout, TooManyCalls, StateError):
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

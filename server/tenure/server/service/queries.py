"""Explain and Simulate: queries without side effects, in a queue of their own. Not counted or logged."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from tenure.codec.simulation import BaseState, SimulationEngine
from tenure.server.deadlines import Deadline
from tenure.server.explain import Explainer
from tenure.server.security.callers import caller_key
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.server.service.service_context import ServiceContext
from tenure.server.shard import Shard
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.simulate_pb2 import SimulateRequest


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
    with acquire_query_slot(shared, request, context) as deadline:
        return SimulationEngine(shared.engine.profile, shared.engine.registry).simulate(
            request, source, deadline
        )


def explain(
    shared: ServiceContext, request: ExplainRequest, context: grpc.ServicerContext
) -> ExplainResponse:
    """Explain with the server's profile."""
    source = resolve_state(shared, request, context)
    with acquire_query_slot(shared, request, context) as deadline:
        return Explainer(shared.engine.profile, shared.engine.registry).explain(request, source, deadline)

"""What Simulate and Explain have in common: the state they start from, and a turn of their own."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from tenure.server.deadline import Deadline
from tenure.server.service.shared import Shared
from tenure.server.service.turns import NoTurn
from tenure.server.shard import Shard
from tenure.server.source import Source
from tenure.solver.framework.stop import Stopped
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest


def referred(shared: Shared, request: SimulateRequest | ExplainRequest) -> Source | None:
    """The state that a request refers to; None when it brings a snapshot. Raises Fault."""
    if not request.HasField("state"):
        return None
    state = shared.states.find(request.state)
    return Source(state.header, state.decoded, state.written.read, state.opening)


@contextmanager
def turn(
    shared: Shared, request: SimulateRequest | ExplainRequest, context: grpc.ServicerContext
) -> Iterator[Deadline]:
    """A turn for a question about a shard, and what says when its time is up.

    Questions about a shard wait for each other, not for its decisions, and its decisions not for them.
    Raises NoTurn when the time is up before there is an answer.
    """
    about = request.state if request.HasField("state") else request.snapshot
    shard = Shard(about.cluster_id, f"{about.node_pool} (questions)")
    with shared.turns.of(shard, context.time_remaining()) as deadline:
        if not context.add_callback(deadline.give_up):
            raise NoTurn
        try:
            yield deadline
        except Stopped:
            raise NoTurn from None

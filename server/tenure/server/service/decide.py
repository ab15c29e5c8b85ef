"""Decide: one cycle, in the turn of its cluster and node pool, until the caller's deadline at the latest."""

from collections.abc import Callable

import grpc
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.service.shared import Shared
from tenure.server.service.turns import NoTurn
from tenure.server.shard import Shard
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


def decide(shared: Shared, request: DecideRequest, context: grpc.ServicerContext) -> DecideResponse:
    """One cycle on the snapshot of the request, or on the state it refers to."""
    snapshot, answer_by = _question(shared, request)
    shard = Shard(snapshot.cluster_id, snapshot.node_pool)
    with shared.turns.of(shard, context.time_remaining()) as deadline:
        if not context.add_callback(deadline.give_up):
            raise NoTurn
        answer = answer_by(deadline)
        shared.records.write(snapshot, answer)
        return answer


def _question(
    shared: Shared, request: DecideRequest
) -> tuple[ClusterSnapshot, Callable[[Callable[[], bool]], DecideResponse]]:
    """The snapshot in question, and what answers when it is given something that says when to stop."""
    if not request.HasField("state"):
        return request.snapshot, lambda stop: shared.engine.decide(request, stop)
    if request.HasField("snapshot"):
        raise InvalidSnapshot([FieldViolation("state", "cannot be set together with snapshot")])
    state = shared.states.find(request.state)
    cluster, header = state.at(request.now if request.HasField("now") else state.snapshot.now)
    actions = tuple(request.actions)

    def answer_by(stop: Callable[[], bool]) -> DecideResponse:
        answer = state.last_answer.find(actions, header.now)
        if answer is None:
            answer = shared.engine.decide_on(cluster, header, request, stop)
            state.last_answer.keep(actions, answer, state.snapshot)
        return answer

    return state.snapshot, answer_by

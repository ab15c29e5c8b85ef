"""Decide: one cycle, in the turn of its cluster and node pool, until the caller's deadline at the latest."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import grpc
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.service.apply_delta import applied
from tenure.server.service.recording import record
from tenure.server.service.shared import Shared
from tenure.server.service.turns import NoTurn
from tenure.server.shard import Shard
from tenure.server.state import State
from tenure.server.telemetry.timeline import Timeline
from tenure.server.view import View
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class _Question(NamedTuple):
    shard: Shard
    snapshot: ClusterSnapshot
    """What is asked about; of a state, its header."""
    state: State | None
    """What the request refers to, or makes by its delta."""
    answer_by: Callable[[Callable[[], bool], Timeline], DecideResponse]
    """Given what says when to stop, and what notes what happens."""


def decide(shared: Shared, request: DecideRequest, context: grpc.ServicerContext) -> DecideResponse:
    """One cycle on the snapshot of the request, or on the state that it refers to or makes by its delta."""
    shard, snapshot, state, answer_by = _question(shared, request)
    with shared.turns.of(shard, context.time_remaining()) as deadline:
        if not context.add_callback(deadline.give_up):
            raise NoTurn
        timeline = shared.cycles.timeline()
        answer = answer_by(deadline, timeline)
        known = None if state is None else state.decoded.pod_groups
        shared.cycles.write(View(snapshot, answer, known), timeline)
        record(shared, request, state, answer)
        return answer


def _question(shared: Shared, request: DecideRequest) -> _Question:
    """What is asked about, and what answers it."""
    named = [name for name in ("snapshot", "state", "delta") if request.HasField(name)]
    if len(named) > 1:
        raise InvalidSnapshot([FieldViolation(named[1], f"cannot be set together with {named[0]}")])
    if request.HasField("state"):
        state = shared.states.find(request.state)
        shared.pushes.link(request.state)
        return _about_state(shared, request, state)
    if request.HasField("delta"):
        state = applied(shared, request.delta)
        shared.states.refuse_stale(state)
        return _about_state(shared, request, state)
    shard = Shard(request.snapshot.cluster_id, request.snapshot.node_pool)
    return _Question(shard, request.snapshot, None, partial(shared.engine.decide, request))


def _about_state(shared: Shared, request: DecideRequest, state: State) -> _Question:
    """What is asked about a kept state; an answer that was given before is given again."""
    cluster, header = state.at(request.now if request.HasField("now") else state.header.now)
    actions = tuple(request.actions)

    def answer_by(stop: Callable[[], bool], timeline: Timeline) -> DecideResponse:
        answer = state.last_answer.find(actions, header.now)
        if answer is None:
            answer = shared.engine.decide_on(
                cluster, header, request, stop, timeline, state.opening, state.written.read
            )
            state.last_answer.keep(actions, answer, state.header)
        return answer

    return _Question(state.shard, state.header, state, answer_by)

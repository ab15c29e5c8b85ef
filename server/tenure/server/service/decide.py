"""Decide and GetCapabilities. Decide runs one cycle, queued by shard and limited by the caller's deadline."""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import grpc
from opentelemetry.trace import format_trace_id, get_current_span
from tenure.codec.decode import decode
from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.pod_group_status import with_statuses
from tenure.server.capabilities import build_capabilities
from tenure.server.records import CycleEntry
from tenure.server.security.callers import CURRENT, caller_key
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.server.service.service_context import ServiceContext
from tenure.server.service.states import apply, rows_set_aside
from tenure.server.shard import Shard
from tenure.server.state import State, accept, long_texts
from tenure.server.telemetry.cycle_log import CycleWorkloads
from tenure.server.telemetry.timeline import Timeline
from tenure.terms.cancellation import check_of
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest, GetCapabilitiesResponse
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import FAULTS_SET_ASIDE, SetAsideRows
from tenure.wire.violations import FieldViolation, SnapshotValidationError


def record(
    shared: ServiceContext, request: DecideRequest, state: State | None, response: EncodedResponse
) -> None:
    """Record a response; `state` is the pushed state of the request, None if it contains its snapshot."""
    actions, trace_id, caller = tuple(request.actions), _trace_id(), CURRENT.get().identity.name
    shared.recent_cycles.add(response, trace_id, caller)
    shared.recorder.record_cycle(
        CycleEntry(
            recorded_at=time.time_ns(),
            actions=actions,
            profile=shared.engine.profile_for(actions),
            response=response,
            snapshot=request.snapshot if state is None else None,
            epoch="" if state is None else state.epoch,
            lineage=None if state is None else state.lineage,
            trace_id=trace_id,
            caller=caller,
        ),
        None if state is None else state.lazy_snapshot.read,
    )


def _trace_id() -> str:
    """Trace ID of the caller or of the server; empty without tracing."""
    context = get_current_span().get_span_context()
    return format_trace_id(context.trace_id) if context.is_valid else ""


class _ShardRequest(NamedTuple):
    shard: Shard
    snapshot: ClusterSnapshot
    """Snapshot of the request; for a pushed state, its header."""
    state: State | None
    """Pushed state that the request refers to, or the result of its delta."""
    respond: Callable[[Callable[[], bool], Timeline], EncodedResponse]
    """Decides, given a stop function and a timeline to record events in."""
    set_aside: Callable[[], SetAsideRows | None] = lambda: None
    """Rows of the request that are set aside; known after the decision."""


def decide(shared: ServiceContext, request: DecideRequest, context: grpc.ServicerContext) -> bytes:
    """Decide one cycle on the snapshot of the request, the referenced state, or the result of its delta.

    Returns a serialized DecideResponse.
    """
    shard, snapshot, state, respond, set_aside = _resolve_request(shared, request, context)
    with shared.cycle_queue.acquire(shard, context.time_remaining(), caller_key(context)) as deadline:
        if not context.add_callback(deadline.cancel):
            raise CycleQueueTimeout
        timeline = shared.cycles.timeline()
        response = respond(deadline, timeline)
        workloads = CycleWorkloads(snapshot, None if state is None else state.decoded.pod_groups)
        shared.cycles.write(response.summary, workloads, timeline)
        record(shared, request, state, response._replace(statuses=b""))
        rows = set_aside()
        others = b"" if rows is None else DecideResponse(set_aside=rows).SerializeToString()
        return response.content + response.statuses + others


def _resolve_request(
    shared: ServiceContext, request: DecideRequest, context: grpc.ServicerContext
) -> _ShardRequest:
    """Resolve what to decide on, and how."""
    named = [name for name in ("snapshot", "state", "delta") if request.HasField(name)]
    if len(named) > 1:
        raise SnapshotValidationError([FieldViolation(named[1], f"cannot be set together with {named[0]}")])
    if request.HasField("state"):
        state = shared.states.find(request.state, shared.cycle_queue.call_deadline(context).check)
        shared.push_links.link(request.state)
        return _with_state(shared, request, state)
    if request.HasField("delta"):
        state = apply(shared, request.delta, request.faults, shared.cycle_queue.call_deadline(context).check)
        shared.states.check_staleness(state)
        return _with_state(shared, request, state)._replace(set_aside=partial(rows_set_aside, state))
    shard = Shard(request.snapshot.cluster_id, request.snapshot.node_pool)
    if request.faults == FAULTS_SET_ASIDE:
        tolerant = _TolerantDecision(shared, request)
        return _ShardRequest(shard, request.snapshot, None, tolerant.respond, lambda: tolerant.rows)
    return _ShardRequest(shard, request.snapshot, None, partial(shared.engine.decide, request))


class _TolerantDecision:
    """Decides on the snapshot of a request, without its invalid rows."""

    def __init__(self, shared: ServiceContext, request: DecideRequest) -> None:
        self._shared, self._request = shared, request
        self.rows: SetAsideRows | None = None
        """Rows that are set aside; None: none."""

    def respond(self, stop: Callable[[], bool], timeline: Timeline) -> EncodedResponse:
        """Decide. Raises SnapshotValidationError for violations outside of rows."""
        engine, request = self._shared.engine, self._request
        if long_texts(request.snapshot, self._shared.limits):
            self._set_aside(check_of(stop))
            return engine.decide(request, stop, timeline)
        try:
            return engine.decide(request, stop, timeline)
        except SnapshotValidationError:
            self._set_aside(check_of(stop))
        return engine.decide(request, stop, timeline)

    def _set_aside(self, check: Callable[[], None]) -> None:
        """Remove invalid rows from the snapshot. Raises SnapshotValidationError, and what `check` raises."""
        guarded, snapshot = self._shared.engine.registry.guarded.names, self._request.snapshot
        found = accept(snapshot, lambda rest: decode(rest, guarded, check), self._shared.limits)
        if found.set_aside is not None:
            snapshot.CopyFrom(found.snapshot)
            self.rows = found.set_aside.message


def _with_state(shared: ServiceContext, request: DecideRequest, state: State) -> _ShardRequest:
    """Resolve a pushed state; a cached response is returned again."""
    cluster, header = state.with_time(request.now if request.HasField("now") else state.header.now)
    actions = tuple(request.actions)

    def respond(stop: Callable[[], bool], timeline: Timeline) -> EncodedResponse:
        response = state.response_cache.find(actions, cluster.now)
        if response is None:
            response = shared.engine.decide_state(
                cluster,
                header,
                request,
                stop=stop,
                timeline=timeline,
                warm_start=state.warm_start,
                read=state.lazy_snapshot.read,
            )
            state.response_cache.put(actions, response, state.header)
        return with_statuses(response, cluster, request, shared.engine.registry, check_of(stop))

    return _ShardRequest(state.shard, state.header, state, respond)


def get_capabilities(
    shared: ServiceContext, request: GetCapabilitiesRequest, context: grpc.ServicerContext
) -> GetCapabilitiesResponse:
    """Capabilities of the server, which are equal for all callers while records can be written."""
    return build_capabilities(
        shared.engine.profile, shared.limits, shared.engine.registry, records=shared.recorder.is_recording
    )

"""What is told to the recorder of a cycle."""

import time

from opentelemetry.trace import format_trace_id, get_current_span
from tenure.server.records import Cycle
from tenure.server.service.shared import Shared
from tenure.server.state import State
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse


def record(shared: Shared, request: DecideRequest, state: State | None, answer: DecideResponse) -> None:
    """Record an answer; `state` is what the request refers to, None when it brings its snapshot."""
    actions = tuple(request.actions)
    shared.recorder.decided(
        Cycle(
            recorded_at=time.time_ns(),
            actions=actions,
            profile=shared.engine.profile_for(actions),
            answer=answer,
            snapshot=request.snapshot if state is None else None,
            epoch="" if state is None else state.epoch,
            lineage=None if state is None else state.lineage,
            trace_id=_trace_id(),
        ),
        None if state is None else state.written.read,
    )


def _trace_id() -> str:
    """Of the caller's trace, or of the one that the server began; empty when nobody traces."""
    context = get_current_span().get_span_context()
    return format_trace_id(context.trace_id) if context.is_valid else ""

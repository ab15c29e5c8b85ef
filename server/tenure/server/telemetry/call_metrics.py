"""A span and metrics for each call, and links from decisions to the span that pushed the state.

Links are not parents: a state may be used for hours, and a trace that long is useless. Without an
OpenTelemetry SDK nothing is recorded.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import grpc
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from tenure.server.telemetry import cycle_spans
from tenure.server.telemetry.gauges import SECONDS
from tenure.v1.state_pb2 import StateReference

_TRACER: Final = trace.get_tracer("tenure.server")
MAX_LINKS: Final = 256
"""Maximum number of states whose span is remembered; each has a few versions."""
_Key = tuple[str, str, str, int]


class PushLinks:
    """The spans that pushed the latest `MOST` states. Thread-safe."""

    def __init__(self) -> None:
        self._spans: OrderedDict[_Key, SpanContext] = OrderedDict()
        self._changing = threading.Lock()

    def add(self, state: StateReference) -> None:
        """Remember the current span for a state, if it is recorded."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        with self._changing:
            self._spans[_key(state)] = span.get_span_context()
            self._spans.move_to_end(_key(state))
            if len(self._spans) > MAX_LINKS:
                self._spans.popitem(last=False)

    @contextmanager
    def delta_span(self) -> Iterator[None]:
        """A trace for one delta of a stream, which may last for days."""
        stream = trace.get_current_span().get_span_context()
        links = [Link(stream, {"tenure.link": "stream"})] if stream.is_valid else []
        with _TRACER.start_as_current_span(
            cycle_spans.DELTA, Context(), links=links, record_exception=False, set_status_on_exception=False
        ):
            yield

    def link(self, state: StateReference) -> None:
        """Link the current span to the one that pushed the state."""
        with self._changing:
            pushed = self._spans.get(_key(state))
        if pushed is not None:
            trace.get_current_span().add_link(pushed, {"tenure.link": "state"})


def _key(state: StateReference) -> _Key:
    return state.cluster_id, state.node_pool, state.epoch, state.version


_METER: Final = metrics.get_meter("tenure.server")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_KEEPS_NOTHING: Final = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
"""Tracer providers without an SDK."""
_STATE_ERRORS: Final = frozenset((grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN))
"""Statuses that are errors of the server; other statuses are not errors of the span."""
_DURATION: Final = _METER.create_histogram(
    "tenure_call_duration_seconds",
    description="Duration of calls; of streams from start to end.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_FAILURES: Final = _METER.create_counter(
    "tenure_call_failures_total",
    description="Failed calls by cause.",
)


@contextmanager
def call_span(service: str, method: str, context: grpc.ServicerContext) -> Iterator[Span]:
    """Server span of one call, in the trace that its metadata names."""
    begin = time.perf_counter()
    with _span(service, method, context) as span:
        try:
            yield span
        finally:
            code = context.code() or grpc.StatusCode.OK  # type: ignore[attr-defined]  # older stubs
            _note_status(span, code)
            taken = time.perf_counter() - begin
            _DURATION.record(taken, {"method": method, "code": code.name})


def _span(service: str, method: str, context: grpc.ServicerContext) -> AbstractContextManager[Span]:
    """Start the span; None if neither the SDK nor the caller needs one."""
    metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
    caller = _PROPAGATOR.extract(metadata)
    is_traced = trace.get_current_span(caller).get_span_context().is_valid
    if not is_traced and isinstance(trace.get_tracer_provider(), _KEEPS_NOTHING):
        return nullcontext(trace.INVALID_SPAN)
    return _TRACER.start_as_current_span(
        f"{service}/{method}",
        caller,
        SpanKind.SERVER,
        {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method},
        record_exception=False,
        set_status_on_exception=False,
    )


def count_failure(error: Exception, *, is_defect: bool) -> None:
    """Count a failed call by its error class; an unexpected exception is `internal`."""
    cause = "caller_gone" if isinstance(error, grpc.RpcError) else _in_words(type(error).__name__)
    _FAILURES.add(1, {"cause": "defect" if is_defect else cause})


def _note_status(span: Span, code: grpc.StatusCode) -> None:
    span.set_attribute("rpc.grpc.status_code", code.value[0])
    if code in _STATE_ERRORS:
        span.set_status(StatusCode.ERROR)


def _in_words(name: str) -> str:
    """`TooManyCalls` as `too_many_calls`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()

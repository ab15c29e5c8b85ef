"""Traces: one span per call. Without an OpenTelemetry SDK set up by the operator nothing is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_TRACER: Final = trace.get_tracer("tenure.server")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_FAULTS: Final = frozenset((grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN))
"""Statuses that are the server's fault; all others are the caller's business and no error of the span."""


@contextmanager
def call_span(service: str, method: str, context: grpc.ServicerContext) -> Iterator[Span]:
    """A server span around one call, in the caller's trace when its metadata names one."""
    carrier = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
    with _TRACER.start_as_current_span(
        f"{service}/{method}",
        _PROPAGATOR.extract(carrier),
        SpanKind.SERVER,
        {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        finally:
            code = context.code()  # type: ignore[attr-defined]  # the stubs are older than this method
            _note_status(span, code or grpc.StatusCode.OK)


def _note_status(span: Span, code: grpc.StatusCode) -> None:
    span.set_attribute("rpc.grpc.status_code", code.value[0])
    if code in _FAULTS:
        span.set_status(StatusCode.ERROR)

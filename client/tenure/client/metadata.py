"""What calls of all kinds carry beside their message."""

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Entries = tuple[tuple[str, str], ...]
_PROPAGATOR = TraceContextTextMapPropagator()


def trace_context() -> Entries:
    """The trace that the caller is in, if any (W3C `traceparent`): the server joins it."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return tuple(carrier.items())

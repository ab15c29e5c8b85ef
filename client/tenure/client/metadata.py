"""What calls of all kinds carry beside their message."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import grpc
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Entries = Iterable[tuple[str, str]]
_PROPAGATOR = TraceContextTextMapPropagator()


class _Call(NamedTuple):
    """What gRPC knows of a call before it is made."""

    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


_Calls: Any = type(
    "_Calls",
    (
        grpc.UnaryUnaryClientInterceptor,
        grpc.UnaryStreamClientInterceptor,
        grpc.StreamUnaryClientInterceptor,
        grpc.StreamStreamClientInterceptor,
    ),
    {},
)
"""Calls of all four kinds, which are intercepted alike."""


class MetadataInterceptor(_Calls):  # type: ignore[misc]
    """Adds metadata to calls of all kinds: `entries` is asked with every call."""

    def __init__(self, entries: Callable[[], Entries]) -> None:
        self._entries = entries

    def _intercept(self, continuation: Callable[[Any, Any], Any], call: Any, request: Any) -> Any:
        metadata = [*(call.metadata or ()), *self._entries()]
        own = _Call(
            call.method, call.timeout, metadata, call.credentials, call.wait_for_ready, call.compression
        )
        return continuation(own, request)

    intercept_unary_unary = _intercept
    intercept_unary_stream = _intercept
    intercept_stream_unary = _intercept
    intercept_stream_stream = _intercept


def trace_context() -> Entries:
    """The trace that the caller is in, if any (W3C `traceparent`): the server joins it."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.items()

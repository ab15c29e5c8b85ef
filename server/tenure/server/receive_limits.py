"""Limits on calls whose request message has not arrived: their number, and how long they may wait.

gRPC assigns a thread to a call before its message arrives. Calls without messages could occupy all threads
and block everything else, health checks included. Therefore every call receives its message as a stream of
one, monitored by a thread with timeouts.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from tenure.server.service import SERVICE
from tenure.server.sweeper import Sweeper

MAX_RECEIVING: Final = 256
"""Maximum number of calls that wait for their message. At the limit, the longest waiting call is cancelled:
normal messages arrive within moments, so it is rarely one of them."""
RECEIVE_SECONDS: Final = 30
"""Time for a message to arrive; then the call is CANCELLED."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_OWN_STREAMS: Final = f"/{SERVICE}/"
"""Streams of these methods have limits of their own."""


class ReceiveLimits(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Bounds the calls that wait for a message. Start it once, and stop it."""

    def __init__(self, seconds: float = RECEIVE_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[object, tuple[float, Callable[[], object]]] = {}
        """Start of the wait and cancel function of each call; the longest waiting is first."""
        self._changing = threading.Lock()
        self._sweeper = Sweeper(self._cancel_oldest)

    def start(self) -> None:
        """Start the timeout thread."""
        self._sweeper.start()

    def stop(self) -> None:
        """Stop the timeout thread."""
        self._sweeper.stop()

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler of the method, with limits on receiving."""
        handler, method = continuation(handler_call_details), handler_call_details.method
        if handler is None or (handler.request_streaming and method.startswith(_OWN_STREAMS)):
            return handler
        return self._with_limits(handler)

    def _with_limits(self, handler: Handler) -> Handler:
        if handler.request_streaming:
            return self._of_stream(handler)
        behavior: Any = handler.unary_stream if handler.response_streaming else handler.unary_unary
        if getattr(behavior, "experimental_non_blocking", False):
            return handler  # health watches, which wait for their message in threads of their own
        return self._of_message(handler, behavior)

    def _of_message(self, handler: Handler, behavior: Callable[..., Any]) -> Handler:
        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            request = self._next(requests, context)
            return behavior(_read(request, handler, context), context)

        make = grpc.stream_stream_rpc_method_handler if handler.response_streaming else _stream_unary
        return make(call, response_serializer=handler.response_serializer)

    def _of_stream(self, handler: Handler) -> Handler:
        behavior: Any = handler.stream_stream if handler.response_streaming else handler.stream_unary

        def call(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            return behavior(iter(lambda: self._next(requests, context), None), context)

        make = grpc.stream_stream_rpc_method_handler if handler.response_streaming else _stream_unary
        return make(call, handler.request_deserializer, handler.response_serializer)

    def _next(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
        """Next message, or None at the end of the stream."""
        ticket = object()
        with self._changing:
            self._waiting[ticket] = (time.monotonic(), context.cancel)
            crowded_out = self._oldest() if len(self._waiting) > MAX_RECEIVING else None
        if crowded_out is not None:
            crowded_out()
        try:
            return next(requests, None)
        finally:
            with self._changing:
                self._waiting.pop(ticket, None)

    def _oldest(self) -> Callable[[], object]:
        """Remove the longest waiting call; return its cancel function."""
        return self._waiting.pop(next(iter(self._waiting)))[1]

    def _cancel_oldest(self) -> float:
        """Cancel calls that exceeded the timeout; return seconds until the next could."""
        late = []
        with self._changing:
            while self._remaining_seconds() <= 0:
                late.append(self._oldest())
            left = self._remaining_seconds()
        for end in late:
            end()
        return left

    def _remaining_seconds(self) -> float:
        """Time that the longest waiting call has left."""
        since, _ = next(iter(self._waiting.values()), (time.monotonic(), None))
        return since + self._seconds - time.monotonic()


_stream_unary: Final = grpc.stream_unary_rpc_method_handler


def _read(request: bytes | None, handler: Handler, context: grpc.ServicerContext) -> Any:
    """Message as the method expects it; a call without one has sent nothing to parse."""
    read = handler.request_deserializer or bytes
    with suppress(DecodeError):
        if request is not None:
            return read(request)
    return context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be parsed")

"""Messages that do not come: how many calls may wait for theirs, and for how long.

gRPC gives a call a thread before its message is there. Calls that only begin would hold all threads, and
nobody else would be answered, health checks included. So every call here takes its message as if it were a
stream of one, while somebody looks at the clock.
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
"""Calls that may wait for their message at a time. One more, and who waits longest is hung up on: honest
messages come within moments, so it is hardly ever one of them."""
RECEIVE_SECONDS: Final = 30
"""How long a message may take to come; then the call is CANCELLED."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_OWN_STREAMS: Final = f"/{SERVICE}/"
"""Streams of these methods have limits of their own."""


class ReceiveLimits(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Bounds the calls of a server that wait for a message. Start it once, and stop it."""

    def __init__(self, seconds: float = RECEIVE_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[object, tuple[float, Callable[[], object]]] = {}
        """Since when each waits, and what ends it; the one that waits longest comes first."""
        self._changing = threading.Lock()
        self._sweeper = Sweeper(self._cancel_oldest)

    def start(self) -> None:
        """Look at the clock from now on."""
        self._sweeper.start()

    def stop(self) -> None:
        """No more calls come."""
        self._sweeper.stop()

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """The method that was called, with a look at how its messages come."""
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
        """The next message, or None when there is no more."""
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
        """What ends the call that waits longest, which is taken off the list."""
        return self._waiting.pop(next(iter(self._waiting)))[1]

    def _cancel_oldest(self) -> float:
        """End calls that wait for too long; the seconds after which there may be more of them."""
        late = []
        with self._changing:
            while self._remaining_seconds() <= 0:
                late.append(self._oldest())
            left = self._remaining_seconds()
        for end in late:
            end()
        return left

    def _remaining_seconds(self) -> float:
        """How much time the call that waits longest has left."""
        since, _ = next(iter(self._waiting.values()), (time.monotonic(), None))
        return since + self._seconds - time.monotonic()


_stream_unary: Final = grpc.stream_unary_rpc_method_handler


def _read(request: bytes | None, handler: Handler, context: grpc.ServicerContext) -> Any:
    """The message as its method wants it; a call without one has sent nothing that could be read."""
    read = handler.request_deserializer or bytes
    with suppress(DecodeError):
        if request is not None:
            return read(request)
    return context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be read")

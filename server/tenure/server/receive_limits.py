"""Limits on calls whose request message has not arrived: their number, and how long they may wait.

gRPC assigns a thread to a call before its message arrives. Calls without messages could occupy all threads
and block everything else, health checks included. Therefore every call receives its message as a stream of
one, and waits for its turn to receive it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from tenure.server.memory import OTHERS_RECEIVING
from tenure.server.receiving_calls import ReceivingCalls
from tenure.server.security.callers import caller_key
from tenure.server.service import SERVICE
from tenure.server.sweeper import Sweeper

MAX_WAITING: Final = 256
"""Maximum number of calls that wait for their message."""
MAX_OTHERS_WAITING: Final = 64
"""Maximum number of waiting calls of health checks and reflection, which anyone may make."""
RECEIVE_SECONDS: Final = 30
"""Time for a message to arrive; then the call is CANCELLED."""
_PATIENCE_SECONDS: Final = 1.0
"""Time for a message to arrive while other calls wait for their turn."""
_OTHERS_PATIENCE_SECONDS: Final = 0.5

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_OWN_METHODS: Final = f"/{SERVICE}/"


class ReceiveLimits(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Bounds the calls that wait for a message. Start it once, and stop it.

    Of calls of the service, `max_receiving` receive a message at a time.
    """

    def __init__(self, max_receiving: int, seconds: float = RECEIVE_SECONDS) -> None:
        self._seconds = seconds
        self._own = ReceivingCalls(MAX_WAITING, max_receiving, min(_PATIENCE_SECONDS, seconds))
        self._others = ReceivingCalls(
            MAX_OTHERS_WAITING, OTHERS_RECEIVING, min(_OTHERS_PATIENCE_SECONDS, seconds)
        )
        self._sweeper = Sweeper(self._cancel_late)

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
        handler = continuation(handler_call_details)
        is_own = handler_call_details.method.startswith(_OWN_METHODS)
        if handler is None or (handler.request_streaming and is_own):
            return handler  # streams of the service have limits of their own
        calls = self._own if is_own else self._others
        return (
            self._of_stream(handler, calls) if handler.request_streaming else self._of_message(handler, calls)
        )

    def _of_message(self, handler: Handler, calls: ReceivingCalls) -> Handler:
        behavior: Any = handler.unary_stream if handler.response_streaming else handler.unary_unary

        def call(requests: Iterator[bytes], context: grpc.ServicerContext, *send: Any) -> Any:
            request = self._next(requests, context, calls)
            return behavior(_read(request, handler, context), context, *send)

        for name in ("experimental_non_blocking", "experimental_thread_pool"):
            if hasattr(behavior, name):  # health watches, which have no thread while they wait
                setattr(call, name, getattr(behavior, name))
        make = grpc.stream_stream_rpc_method_handler if handler.response_streaming else _stream_unary
        return make(call, response_serializer=handler.response_serializer)

    def _of_stream(self, handler: Handler, calls: ReceivingCalls) -> Handler:
        behavior: Any = handler.stream_stream if handler.response_streaming else handler.stream_unary

        def call(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            return behavior(iter(lambda: self._next(requests, context, calls), None), context)

        make = grpc.stream_stream_rpc_method_handler if handler.response_streaming else _stream_unary
        return make(call, handler.request_deserializer, handler.response_serializer)

    def _next(self, requests: Iterator[Any], context: grpc.ServicerContext, calls: ReceivingCalls) -> Any:
        """Next message, or None at the end of the stream."""
        return calls.receive(caller_key(context), context.cancel, requests)

    def _cancel_late(self) -> float:
        return min(calls.cancel_late(self._seconds) for calls in (self._own, self._others))


_stream_unary: Final = grpc.stream_unary_rpc_method_handler


def _read(request: bytes | None, handler: Handler, context: grpc.ServicerContext) -> Any:
    """Message as the method expects it; a call without one has sent nothing to parse."""
    read = handler.request_deserializer or bytes
    with suppress(DecodeError):
        if request is not None:
            return read(request)
    return context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be parsed")

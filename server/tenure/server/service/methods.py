"""Kinds of methods: parsing, admission, spans and error mapping around a method's function."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message
from tenure.server.service.error_mapping import status_of
from tenure.server.service.service_context import ServiceContext
from tenure.server.service.stream_timeouts import Admission, receive_with_timeout, send_with_timeout
from tenure.server.settings import ServerLimits
from tenure.server.telemetry.call_metrics import call_span
from tenure.terms.durations import SECOND
from tenure.wire.scanner import check_request

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class MethodName(NamedTuple):
    """Name of a method on the wire: SERVICE/METHOD."""

    service: str
    method: str


@dataclass(frozen=True)
class UndecodedRequest(Generic[Request]):
    """A request of a stream, not parsed yet."""

    content: bytes
    kind: type[Request]
    limits: ServerLimits

    def read(self) -> Request:
        """Parse the request. Raises DecodeError if it is not valid, and the errors of check_request."""
        return _parse(self.content, self.kind, self.limits)


class Method(Protocol):
    """A method of a service."""

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for gRPC, with a span, admission, and a status for every exception."""


@dataclass(frozen=True)
class UnaryMethod(Generic[Request, Response]):
    """One request, one response, which may be serialized already."""

    request: type[Request]
    respond: Callable[[ServiceContext, Request, grpc.ServicerContext], Response | bytes]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """See Method."""

        def call(request: bytes, context: grpc.ServicerContext) -> Response | bytes:
            with call_span(*name, context):
                try:
                    with admission.call():
                        message = _parse(request, self.request, shared.limits)
                        return self.respond(shared, message, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.unary_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class ClientStreamingMethod(Generic[Request, Response]):
    """A stream of requests, one response."""

    request: type[Request]
    respond: Callable[[ServiceContext, Iterator[Request], grpc.ServicerContext], Response]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """See Method."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Response:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        coming = _receive(requests, self.request, admission, shared)
                        return self.respond(shared, coming, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.stream_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class ServerStreamingMethod(Generic[Request, Response]):
    """One request, a stream of responses."""

    request: type[Request]
    respond: Callable[[ServiceContext, Request, grpc.ServicerContext], Iterator[Response]]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """See Method."""
        idle_seconds = shared.limits.stream_idle_timeout / SECOND

        def call(request: bytes, context: grpc.ServicerContext) -> Iterator[Response]:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        message = _parse(request, self.request, shared.limits)
                        responses = self.respond(shared, message, context)
                        yield from send_with_timeout(responses, admission, context.cancel, idle_seconds)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.unary_stream_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class BidiStreamingMethod(Generic[Request, Response]):
    """A stream of requests, a stream of responses. The method handles requests that cannot be parsed."""

    request: type[Request]
    respond: Callable[
        [ServiceContext, Iterator[UndecodedRequest[Request]], grpc.ServicerContext], Iterator[Response]
    ]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """See Method."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Response]:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        unread = _receive_undecoded(requests, self.request, admission, shared)
                        yield from self.respond(shared, unread, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.stream_stream_rpc_method_handler(call, response_serializer=_to_bytes)


def _receive(
    requests: Iterator[bytes], kind: type[Request], admission: Admission, shared: ServiceContext
) -> Iterator[Request]:
    return (unread.read() for unread in _receive_undecoded(requests, kind, admission, shared))


def _receive_undecoded(
    requests: Iterator[bytes], kind: type[Request], admission: Admission, shared: ServiceContext
) -> Iterator[UndecodedRequest[Request]]:
    for request in receive_with_timeout(requests, admission, shared.limits.stream_idle_timeout / SECOND):
        yield UndecodedRequest(request, kind, shared.limits)


def _parse(request: bytes, kind: type[Request], limits: ServerLimits) -> Request:
    """Parse a request. Raises DecodeError if it is not valid, and the errors of check_request."""
    check_request(request, kind, limits)
    return kind.FromString(request)


def _to_bytes(response: Message | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()

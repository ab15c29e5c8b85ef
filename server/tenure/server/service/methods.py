"""Kinds of methods: what all calls have in common around what a method does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message
from tenure.server.prescan import check_request
from tenure.server.service.admission import Admission
from tenure.server.service.failures import status_of
from tenure.server.service.pacing import paced, taken
from tenure.server.service.shared import Shared
from tenure.server.settings import ServerLimits
from tenure.server.telemetry.calls import call_span
from tenure.solver.model.duration import SECOND

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Name(NamedTuple):
    """What a method is called on the wire: SERVICE/METHOD."""

    service: str
    method: str


@dataclass(frozen=True)
class Unread(Generic[Request]):
    """A request that came on a stream."""

    content: bytes
    kind: type[Request]
    limits: ServerLimits

    def read(self) -> Request:
        """The request. Raises DecodeError when it is none, and what check_request raises."""
        return _parsed(self.content, self.kind, self.limits)


class Method(Protocol):
    """Something a service answers."""

    def handler(self, name: Name, admission: Admission, shared: Shared) -> Handler:
        """The method as gRPC calls it, with a span, admission, and a status for everything that is raised."""


@dataclass(frozen=True)
class Unary(Generic[Request, Response]):
    """One request, one response."""

    request: type[Request]
    answer: Callable[[Shared, Request, grpc.ServicerContext], Response]

    def handler(self, name: Name, admission: Admission, shared: Shared) -> Handler:
        """See Method."""

        def call(request: bytes, context: grpc.ServicerContext) -> Response:
            with call_span(*name, context):
                try:
                    with admission.call():
                        message = _parsed(request, self.request, shared.limits)
                        return self.answer(shared, message, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.unary_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class Upload(Generic[Request, Response]):
    """A stream of requests, one response."""

    request: type[Request]
    answer: Callable[[Shared, Iterator[Request], grpc.ServicerContext], Response]

    def handler(self, name: Name, admission: Admission, shared: Shared) -> Handler:
        """See Method."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Response:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        coming = _coming(requests, self.request, admission, shared)
                        return self.answer(shared, coming, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.stream_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class Download(Generic[Request, Response]):
    """One request, a stream of responses."""

    request: type[Request]
    answer: Callable[[Shared, Request, grpc.ServicerContext], Iterator[Response]]

    def handler(self, name: Name, admission: Admission, shared: Shared) -> Handler:
        """See Method."""
        idle_seconds = shared.limits.stream_idle_timeout / SECOND

        def call(request: bytes, context: grpc.ServicerContext) -> Iterator[Response]:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        message = _parsed(request, self.request, shared.limits)
                        responses = self.answer(shared, message, context)
                        yield from taken(responses, admission, context.cancel, idle_seconds)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.unary_stream_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class Dialogue(Generic[Request, Response]):
    """A stream of requests, a stream of responses. One that cannot be read is for the method to answer."""

    request: type[Request]
    answer: Callable[[Shared, Iterator[Unread[Request]], grpc.ServicerContext], Iterator[Response]]

    def handler(self, name: Name, admission: Admission, shared: Shared) -> Handler:
        """See Method."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Response]:
            with call_span(*name, context):
                try:
                    with admission.stream():
                        unread = _unread(requests, self.request, admission, shared)
                        yield from self.answer(shared, unread, context)
                except Exception as error:
                    context.abort_with_status(status_of(error, self.request.DESCRIPTOR.full_name))

        return grpc.stream_stream_rpc_method_handler(call, response_serializer=_to_bytes)


def _coming(
    requests: Iterator[bytes], kind: type[Request], admission: Admission, shared: Shared
) -> Iterator[Request]:
    return (unread.read() for unread in _unread(requests, kind, admission, shared))


def _unread(
    requests: Iterator[bytes], kind: type[Request], admission: Admission, shared: Shared
) -> Iterator[Unread[Request]]:
    for request in paced(requests, admission, shared.limits.stream_idle_timeout / SECOND):
        yield Unread(request, kind, shared.limits)


def _parsed(request: bytes, kind: type[Request], limits: ServerLimits) -> Request:
    """A request as a message. Raises DecodeError when it is none, and what check_request raises."""
    check_request(request, kind, limits)
    return kind.FromString(request)


def _to_bytes(message: Message) -> bytes:
    return message.SerializeToString()

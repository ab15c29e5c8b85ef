"""Kinds of methods: admission, reading requests, and responses around a method's function."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message
from tenure.server.security.policy import Verb
from tenure.server.service.admission import Admission
from tenure.server.service.guarded_call import GuardedCall, MethodName, guarded_call
from tenure.server.service.service_context import ServiceContext
from tenure.server.service.stream_timeouts import receive_with_timeout, send_with_timeout
from tenure.server.settings import ServerLimits
from tenure.terms.durations import SECOND
from tenure.v1.state_pb2 import StateErrorCode

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


@dataclass(frozen=True)
class UndecodedRequest(Generic[Request]):
    """A request of a stream, not parsed yet."""

    content: bytes
    call: GuardedCall[Request]
    limits: ServerLimits

    def read(self) -> Request:
        """Parse the request; see GuardedCall.read."""
        return self.call.read(self.content)

    def read_tolerantly(self) -> tuple[Request, bool]:
        """The parsed request, and whether rows have texts that are too long and are set aside."""
        return self.call.read_tolerantly(self.content)


class Method(Protocol):
    """A method of a service."""

    @property
    def verb(self) -> Verb:
        """What the method does to the clusters that its requests name."""

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for gRPC, with a span, admission, and a status for every exception."""


@dataclass(frozen=True)
class UnaryMethod(Generic[Request, Response]):
    """One request, one response, which may be serialized already."""

    request: type[Request]
    verb: Verb
    respond: Callable[[ServiceContext, Request, grpc.ServicerContext], Response | bytes]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for a request and a response."""

        def call(request: bytes, context: grpc.ServicerContext) -> Response | bytes:
            with (
                guarded_call(name, self.request, self.verb, shared, context) as guarded,
                admission.call(guarded.key),
            ):
                response = self.respond(shared, guarded.read(request), context)
                guarded.note_state(response)
                return response

        return grpc.unary_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class ClientStreamingMethod(Generic[Request, Response]):
    """A stream of requests, one response."""

    request: type[Request]
    verb: Verb
    respond: Callable[[ServiceContext, Iterator[UndecodedRequest[Request]], grpc.ServicerContext], Response]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for a stream of requests and a response."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Response:
            with (
                guarded_call(name, self.request, self.verb, shared, context, is_upload=True) as guarded,
                _open_stream(guarded, admission, shared, context) as check,
            ):
                coming = receive_with_timeout(requests, check, _idle_seconds(shared))
                unread = (UndecodedRequest(content, guarded, shared.limits) for content in coming)
                response = self.respond(shared, unread, context)
                guarded.note_state(response)
                return response

        return grpc.stream_unary_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class ServerStreamingMethod(Generic[Request, Response]):
    """One request, a stream of responses."""

    request: type[Request]
    verb: Verb
    respond: Callable[[ServiceContext, Request, grpc.ServicerContext], Iterator[Response]]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for a request and a stream of responses."""

        def call(request: bytes, context: grpc.ServicerContext) -> Iterator[Response]:
            with (
                guarded_call(name, self.request, self.verb, shared, context) as guarded,
                _open_stream(guarded, admission, shared, context) as check,
            ):
                responses = self.respond(shared, guarded.read(request), context)
                for response in send_with_timeout(responses, check, context.cancel, _idle_seconds(shared)):
                    guarded.note_state(response)
                    yield response

        return grpc.unary_stream_rpc_method_handler(call, response_serializer=_to_bytes)


@dataclass(frozen=True)
class BidiStreamingMethod(Generic[Request, Response]):
    """A stream of requests, a stream of responses. The method handles requests that cannot be parsed."""

    request: type[Request]
    verb: Verb
    respond: Callable[
        [ServiceContext, Iterator[UndecodedRequest[Request]], grpc.ServicerContext], Iterator[Response]
    ]

    def handler(self, name: MethodName, admission: Admission, shared: ServiceContext) -> Handler:
        """Handler for streams of requests and responses."""

        def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Response]:
            with (
                guarded_call(
                    name, self.request, self.verb, shared, context, is_audited_by_message=True
                ) as guarded,
                _open_stream(guarded, admission, shared, context) as check,
            ):
                coming = receive_with_timeout(requests, check, _idle_seconds(shared))
                unread = (UndecodedRequest(content, guarded, shared.limits) for content in coming)
                for response in self.respond(shared, unread, context):
                    guarded.note_state(response)
                    guarded.audit(_result(response))
                    guarded.free()
                    yield response

        return grpc.stream_stream_rpc_method_handler(call, response_serializer=_to_bytes)


@contextmanager
def _open_stream(
    guarded: GuardedCall[Any], admission: Admission, shared: ServiceContext, context: grpc.ServicerContext
) -> Iterator[Callable[[], None]]:
    """Admit a stream for the block; yield a check, which raises an error when the stream must end.

    A caller that may do this nowhere takes no place from others, whatever it sends or does not send.
    """

    guarded.recheck()
    with (
        admission.stream(guarded.key, context.cancel) as stream,
        shared.access.streams.add(guarded.recheck, context.cancel),
    ):

        def check() -> None:
            stream.check()
            guarded.recheck()

        yield check


def _idle_seconds(shared: ServiceContext) -> float:
    return shared.limits.stream_idle_timeout / SECOND


def _result(response: Message) -> str:
    """Result of one request of a stream: OK, or the code of a state error."""
    error = getattr(response, "error", None)
    code = getattr(error, "code", 0)
    return StateErrorCode.Name(code).removeprefix("STATE_ERROR_CODE_") if code else "OK"


def _to_bytes(response: Message | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()

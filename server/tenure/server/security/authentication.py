"""Lets in calls that show a good token; all others end as UNAUTHENTICATED before their message is read.

Health checks need no token, so that probes keep working; they tell nothing but whether the server serves.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import grpc
from grpc_health.v1 import health
from tenure.server.security.tokens import Tokens

_OPEN: Final = f"/{health.SERVICE_NAME}/"
_HEADER: Final = "authorization"
_SCHEME: Final = "bearer"
_HOW: Final = "send the metadata `authorization: Bearer TOKEN` with a token of the server's token file"
_LOG: Final = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Authentication(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Asks every call but health checks for a token."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """The method that was called, or one that refuses."""
        method = handler_call_details.method
        if method.startswith(_OPEN):
            return continuation(handler_call_details)
        token = _token(handler_call_details)
        if token is None:
            return _refusal(f"the call has no token: {_HOW}")
        name = self._tokens.name_of(token)
        if name is None:
            _LOG.warning("A call of %r is refused: its token is unknown", method)
            return _refusal(f"the token of the call is unknown: {_HOW}")
        _LOG.debug("A call of %r by %s", method, name or "a token without name")
        return continuation(handler_call_details)


def _token(call: grpc.HandlerCallDetails) -> str | None:
    for key, value in call.invocation_metadata or ():
        scheme, _, token = str(value).partition(" ")
        if key == _HEADER and scheme.lower() == _SCHEME and token.strip():
            return token.strip()
    return None


def _refusal(message: str) -> Handler:
    """A handler for calls of any kind that does not wait for their message."""

    def refuse(requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, message)

    return grpc.stream_unary_rpc_method_handler(refuse)

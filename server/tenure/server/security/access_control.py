"""Access control of a server: TLS, and token authentication of calls.

Calls without a valid token end as UNAUTHENTICATED before their message is read. Health checks need no token,
so that probes work; they only return whether the server serves.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import grpc
from grpc_health.v1 import health
from tenure.server.listen_address import ListenError
from tenure.server.security.certificates import CertificateFiles, Certificates
from tenure.server.security.tokens import Tokens
from tenure.server.settings import Security

_OPEN: Final = f"/{health.SERVICE_NAME}/"
_HEADER: Final = "authorization"
_SCHEME: Final = "bearer"
_HOW: Final = "send the metadata `authorization: Bearer TOKEN` with a token of the server"
_LOG: Final = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Authentication(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Requires a token for every call except health checks."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler of the method, or one that rejects the call."""
        method = handler_call_details.method
        if method.startswith(_OPEN):
            return continuation(handler_call_details)
        token = _token(handler_call_details)
        if token is None:
            return _refusal(f"missing token; {_HOW}")
        name = self._tokens.name_of(token)
        if name is None:
            _LOG.warning("Rejected call of %r: unknown token", method)
            return _refusal(f"unknown token; {_HOW}")
        _LOG.debug("Call of %r by %s", method, name or "an unnamed token")
        return continuation(handler_call_details)


def _token(call: grpc.HandlerCallDetails) -> str | None:
    for key, value in call.invocation_metadata or ():
        scheme, _, token = str(value).partition(" ")
        if key == _HEADER and scheme.lower() == _SCHEME and token.strip():
            return token.strip()
    return None


def _refusal(message: str) -> Handler:
    """Handler that rejects calls of any kind without waiting for their message."""

    def refuse(requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, message)

    return grpc.stream_unary_rpc_method_handler(refuse)


@dataclass(frozen=True)
class AccessControl:
    """Certificates and tokens of a server; without them every call is accepted in plaintext."""

    certificates: Certificates | None = None
    tokens: Tokens | None = None

    @classmethod
    def of(cls, security: Security) -> "AccessControl":
        """Read the configured files. Raises ListenError if they cannot be used."""
        certificates = _certificates(security)
        return cls(certificates, None if security.token_file is None else Tokens(security.token_file))

    def interceptors(self) -> list["grpc.ServerInterceptor"]:  # type: ignore[type-arg]
        """Interceptors that every call passes first."""
        return [] if self.tokens is None else [Authentication(self.tokens)]

    def add_port(self, server: grpc.Server, address: str) -> int:
        """Add a port to a server; return the bound port. Raises RuntimeError if it cannot be bound."""
        if self.certificates is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, self.certificates.credentials())


def _certificates(security: Security) -> Certificates | None:
    certificate, key = security.tls_cert, security.tls_key
    if certificate is None and key is None:
        if security.tls_client_ca is not None:
            raise ListenError("a client CA requires TLS: add --tls-cert and --tls-key")
        return None
    if certificate is None or key is None:
        missing = "--tls-key" if key is None else "--tls-cert"
        raise ListenError(f"TLS requires a certificate and its key: add {missing}")
    return Certificates(CertificateFiles(certificate, key, security.tls_client_ca))


OPEN: Final = AccessControl()
"""Access control without authentication or encryption."""

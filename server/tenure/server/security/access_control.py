"""Access control of a server: TLS, who callers are, and what the policy permits them.

Calls without valid credentials end as UNAUTHENTICATED before their message is read. Health checks need none,
so that probes work; they only return whether the server serves.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import grpc
from grpc_health.v1 import health
from tenure.server.listen_address import ListenError
from tenure.server.security.callers import CURRENT, Caller, Identity, NotAuthenticated
from tenure.server.security.certificates import (
    CertificateFiles,
    Certificates,
    certificate_identity,
    check_validity,
)
from tenure.server.security.credentials_watch import CredentialsWatch, OpenStreams
from tenure.server.security.json_web_tokens import JwtIssuers, is_jwt
from tenure.server.security.policy import PolicyFile, Verb
from tenure.server.security.rejections import Rejections
from tenure.server.security.tokens import Tokens, digest_of
from tenure.server.settings import Security
from tenure.server.shard import Shard
from tenure.v1.decision_service_pb2 import DESCRIPTOR

_OPEN: Final = f"/{health.SERVICE_NAME}/"
_OWN: Final = f"/{DESCRIPTOR.services_by_name['DecisionService'].full_name}/"
"""Streams of these methods are checked by their calls, with the permission of the caller."""
_HEADER: Final = "authorization"
_SCHEME: Final = "bearer"
_HOW: Final = "send the metadata `authorization: Bearer TOKEN` with a token of the server"
_LOG: Final = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


@dataclass(frozen=True)
class AccessControl:
    """Credentials and policy of a server; without them every call is accepted in plaintext."""

    certificates: Certificates | None = None
    tokens: Tokens | None = None
    issuers: JwtIssuers | None = None
    policy: PolicyFile | None = None
    rejections: Rejections = field(default_factory=Rejections)
    streams: OpenStreams = field(default_factory=OpenStreams)

    @classmethod
    def of(cls, security: Security) -> "AccessControl":
        """Read the configured files. Raises ListenError if they cannot be used."""
        certificates, allow_unsafe = _certificates(security), security.allow_unsafe_files
        tokens = issuers = policy = None
        if security.token_file is not None:
            tokens = Tokens(security.token_file, allow_unsafe=allow_unsafe)
        if security.jwt_issuers:
            issuers = JwtIssuers(security.jwt_issuers, allow_unsafe=allow_unsafe)
        if security.policy_file is not None:
            if not (tokens or issuers or security.tls_client_ca):
                raise ListenError(
                    "server.policyFile requires callers that can be told apart: set server.tokenFile, "
                    "server.jwtIssuers or server.tlsClientCa"
                )
            policy = PolicyFile(security.policy_file, allow_unsafe=allow_unsafe)
        return cls(certificates, tokens, issuers, policy)

    def warnings(self) -> Iterator[str]:
        """What the configuration permits without saying so."""
        if self.policy is not None:
            return
        if self.issuers is not None:
            callers = "server.jwtIssuers accepts many callers"
        elif self.tokens is not None and self.tokens.count() > 1:
            callers = f"server.tokenFile has {self.tokens.count():,} tokens"
        else:
            return
        yield (
            f"{callers} and server.policyFile is not set: each of them may read and replace all states; set "
            "server.policyFile"
        )

    def interceptors(self) -> list["grpc.ServerInterceptor"]:  # type: ignore[type-arg]
        """Interceptors that every call passes first."""
        return [Authentication(self)] if self._identifies_callers else []

    def add_port(self, server: grpc.Server, address: str) -> int:
        """Add a port to a server; return the bound port. Raises RuntimeError if it cannot be bound."""
        if self.certificates is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, self.certificates.credentials())

    def identify(self, context: grpc.ServicerContext) -> Caller:
        """Caller of a call, by a token or the certificate of its connection. Raises NotAuthenticated.

        With tokens or issuers, a certificate alone identifies a caller only if there is a policy, whose rules
        then name it.
        """
        token = _token(context) if self._requires_tokens else None
        if self._requires_tokens and (token is not None or self.policy is None or not self._verifies_clients):
            return self._on_connection(context, self._by_token(token, context.peer()))
        return self._on_connection(context, self._by_certificate(context))

    def judge(self, caller: Caller, verb: Verb, shard: Shard | None) -> None:
        """Raise PermissionDenied unless the policy permits a verb on a cluster, or there is no policy."""
        if self.policy is not None:
            self.policy.judge(caller.identity, verb, shard)

    def watch(self) -> CredentialsWatch:
        """A watch of all files."""
        files = [each.files for each in (self.certificates, self.tokens, self.policy) if each is not None]
        return CredentialsWatch(files, self.issuers, self.rejections, self.streams)

    @property
    def _requires_tokens(self) -> bool:
        return self.tokens is not None or self.issuers is not None

    @property
    def _verifies_clients(self) -> bool:
        return self.certificates is not None and self.certificates.requires_clients

    @property
    def _identifies_callers(self) -> bool:
        return self._requires_tokens or self._verifies_clients

    def _on_connection(self, context: grpc.ServicerContext, caller: Caller) -> Caller:
        """The caller, as long as the client CA vouches for the certificate of its connection."""
        certificates = self.certificates
        if certificates is None or not certificates.requires_clients:
            return caller
        connection: Mapping[str, Any] = context.auth_context()

        def verify() -> None:
            certificates.check_connection(connection)
            caller.verify()

        verify()
        return replace(caller, verify=verify)

    def _by_token(self, token: str | None, peer: str) -> Caller:
        if token is None:
            raise NotAuthenticated("missing token", f"missing token; {_HOW}")
        tokens, digest = self.tokens, digest_of(token)
        if tokens is not None and (name := tokens.name_of(digest)) is not None:

            def verify() -> None:
                if tokens.name_of(digest) != name:
                    raise NotAuthenticated("unknown token", f"the token was taken away; {_HOW}")

            return Caller(Identity("token", (f"token:{name}",)), peer, verify)
        if self.issuers is not None and is_jwt(token):
            verified = self.issuers.identify(token)
            return Caller(verified.identity, peer, verified.verify)
        raise NotAuthenticated("unknown token", f"unknown token; {_HOW}")

    def _by_certificate(self, context: grpc.ServicerContext) -> Caller:
        connection: Mapping[str, Any] = context.auth_context()

        def verify() -> None:
            check_validity(connection)

        verify()
        return Caller(certificate_identity(connection), context.peer(), verify)


def _token(context: grpc.ServicerContext) -> str | None:
    """The token of a call. Raises NotAuthenticated if there are several: a proxy may have checked another."""
    values = [str(value) for key, value in context.invocation_metadata() or () if key == _HEADER]
    if len(values) > 1:
        raise NotAuthenticated("several tokens", f"`authorization` is sent {len(values)} times; send it once")
    scheme, _, token = "".join(values).partition(" ")
    return token.strip() or None if scheme.lower() == _SCHEME else None


class Authentication(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Identifies the caller of every call except health checks, for the code that the call runs.

    It must come before interceptors that wait for messages.
    """

    def __init__(self, access: AccessControl) -> None:
        self._access = access

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler of the method, or one that rejects the call."""
        method = handler_call_details.method
        handler = continuation(handler_call_details)
        if method.startswith(_OPEN):
            return handler
        return self._with_caller(method, handler)

    def _with_caller(self, method: str, handler: "Handler | None") -> Handler:
        """Handler that does not wait for a message before it has identified the caller."""
        behavior: Any = handler and (handler.stream_stream or handler.stream_unary)

        def call(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            self._identify(method, context)
            if behavior is None:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            return behavior(requests, context)

        def stream(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            caller = self._identify(method, context)
            with self._access.streams.add(caller.verify, context.cancel):
                yield from behavior(requests, context)

        if handler is None:
            return grpc.stream_unary_rpc_method_handler(call)
        assert handler.request_streaming, "handlers that wait for a message come after this one"
        if handler.response_streaming:
            make = grpc.stream_stream_rpc_method_handler
            wrapped = call if method.startswith(_OWN) else stream
        else:
            make, wrapped = grpc.stream_unary_rpc_method_handler, call
        return make(wrapped, handler.request_deserializer, handler.response_serializer)

    def _identify(self, method: str, context: grpc.ServicerContext) -> Caller:
        try:
            caller = self._access.identify(context)
        except NotAuthenticated as error:
            self._access.rejections.add(context.peer(), error.reason, f"{error.reason}, for {method!r}")
            context.abort(grpc.StatusCode.UNAUTHENTICATED, str(error))
        _LOG.debug("Call of %r by %r", method, caller.identity.name)
        CURRENT.set(caller)
        return caller


def _certificates(security: Security) -> Certificates | None:
    certificate, key = security.tls_cert, security.tls_key
    if certificate is None and key is None:
        if security.tls_client_ca is not None:
            raise ListenError("a client CA requires TLS: add --tls-cert and --tls-key")
        return None
    if certificate is None or key is None:
        missing = "--tls-key" if key is None else "--tls-cert"
        raise ListenError(f"TLS requires a certificate and its key: add {missing}")
    files = CertificateFiles(certificate, key, security.tls_client_ca, security.allow_unsafe_files)
    return Certificates(files)


OPEN: Final = AccessControl()
"""Access control without authentication or encryption."""

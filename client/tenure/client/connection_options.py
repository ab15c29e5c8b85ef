"""How to connect to a server: plaintext or TLS, client certificate, token, shard and call metadata."""

import json
import ssl
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import grpc
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from tenure.client.errors import InvalidCredentials
from tenure.wire.features import METADATA_KEY

Entries = tuple[tuple[str, str], ...]
_PROPAGATOR = TraceContextTextMapPropagator()


def trace_context() -> Entries:
    """W3C trace context (`traceparent`) of the caller, if any, which the server joins."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return tuple(carrier.items())


_SHARD: Final = "tenure-shard"
_MOST_CHARACTERS: Final = 512
"""Most characters of the cluster ID, and of the node pool, in metadata: servers limit its size."""


def shard(message: Any) -> Entries:
    """Metadata for load balancers: cluster ID and node pool that a request, snapshot or state names, if any.

    Both are percent-encoded and separated by a slash. Servers do not read it.
    """
    fields = message.DESCRIPTOR.fields_by_name
    if "cluster_id" in fields:
        parts = (quote(text, safe="")[:_MOST_CHARACTERS] for text in (message.cluster_id, message.node_pool))
        return ((_SHARD, "/".join(parts)),)
    sources = [name for name in ("snapshot", "state", "delta", "base") if name in fields]
    return next((shard(getattr(message, name)) for name in sources if message.HasField(name)), ())


class Token(NamedTuple):
    """A token, or the file that contains it, which is read for every call because it may change."""

    text: str | None
    file: Path | None

    def entries(self) -> Entries:
        """Call metadata with the token. Raises InvalidCredentials."""
        return (("authorization", f"Bearer {self.read()}"),)

    def read(self) -> str:
        """The token. Raises InvalidCredentials, without the token in the message."""
        if self.file is None:
            return _checked(self.text or "", "the token")
        try:
            return _checked(self.file.read_text("ascii").strip(), f"{self.file}: the token")
        except OSError as error:
            raise InvalidCredentials(f"{self.file}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidCredentials(f"{self.file}: the token must be ASCII") from None


def _checked(token: str, what: str) -> str:
    if not token:
        raise InvalidCredentials(f"{what} is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidCredentials(f"{what} must be one word of printable ASCII characters")
    return token


_RETRIES: Final = {
    "methodConfig": [
        {
            "name": [{"service": "tenure.v1.DecisionService"}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 3,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
            },
        },
        {"name": [{"service": "tenure.v1.DecisionService", "method": "SyncState"}]},
    ]
}
"""Retry policy: retry until the deadline, or for about three seconds, so that a server can be replaced.

Decisions have no side effects, so a call can be repeated whenever the server did not process it. A server
that stops may close a call that it has not begun, which is then CANCELLED.

Delta streams are not retried by gRPC: they open another call themselves, and a retried stream whose server
ends again (grpcio 1.85) sometimes reports neither a response nor its end.
"""


OPTIONS: Final = (
    ("grpc.service_config", json.dumps(_RETRIES)),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),  # default: a second, up to two minutes
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
"""Options of channels."""

File = str | Path
Options = Sequence[tuple[str, str | int]]

_PLAINTEXT: Final = (
    "a token must not be sent in plaintext to another machine: set the CA of the server certificate "
    "(tls_ca), or set allow_plaintext on a trusted network"
)


class ConnectionOptions(NamedTuple):
    """Connection arguments of Client."""

    tls_ca: File | None = None
    tls_cert: File | None = None
    tls_key: File | None = None
    token: str | None = None
    token_file: File | None = None
    allow_plaintext: bool = False
    require: Sequence[str] = ()

    @property
    def has_tls(self) -> bool:
        """Whether calls are encrypted."""
        return self.tls_ca is not None or self.tls_cert is not None

    def channel(self, address: str, options: Options) -> grpc.Channel:
        """Open a channel to an address. Raises InvalidCredentials."""
        if token := self._token():
            if not (self.has_tls or self.allow_plaintext or _is_loopback(address)):
                raise InvalidCredentials(_PLAINTEXT)
            token.read()
        if self.has_tls:
            return grpc.secure_channel(address, self._credentials(), options)
        return grpc.insecure_channel(address, options)

    def metadata(self, entries: Entries = ()) -> Entries:
        """Metadata of a call that is made now, with further entries. Raises InvalidCredentials."""
        token = self._token()
        required = ((METADATA_KEY, ",".join(self.require)),) if self.require else ()
        return (*trace_context(), *required, *entries, *(token.entries() if token else ()))

    def _token(self) -> Token | None:
        if self.token is not None and self.token_file is not None:
            raise InvalidCredentials("token and token_file are both set; set one of them")
        if self.token is None and self.token_file is None:
            return None
        return Token(self.token, None if self.token_file is None else Path(self.token_file))

    def _credentials(self) -> grpc.ChannelCredentials:
        """Raises InvalidCredentials for invalid files, which gRPC would report later and less precisely."""
        if (self.tls_cert is None) != (self.tls_key is None):
            missing = "tls_key" if self.tls_key is None else "tls_cert"
            raise InvalidCredentials(f"a client certificate requires its key: set {missing} too")
        key = chain = None
        if self.tls_cert is not None and self.tls_key is not None:
            key, chain = _content(self.tls_key), _content(self.tls_cert)
            _check_pair(self.tls_cert, self.tls_key)
        authority = None
        if self.tls_ca is not None:
            authority = _content(self.tls_ca)
            _check_authority(self.tls_ca)
        return grpc.ssl_channel_credentials(authority, key, chain)


def _is_loopback(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _content(file: File) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InvalidCredentials(f"{file}: cannot be read: {error.strerror}") from None


def _check_pair(certificate: File, key: File) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise InvalidCredentials(f"{key}: is not the private key of {certificate}") from None
        raise InvalidCredentials(
            f"{certificate} and {key}: not a PEM certificate and its private key without passphrase"
        ) from None


def _check_authority(file: File) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError, ValueError):
        raise InvalidCredentials(f"{file}: contains no PEM certificate") from None

"""Wait for a server; distinguish one that is unreachable or untrusted from one that is slow."""

import time
from typing import Final

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client.connection_options import Entries
from tenure.client.errors import TlsHandshakeFailed, Unavailable

_LAST_TRY_SECONDS: Final = 1.0
_TLS_FAILURE_MARKERS: Final = ("handshake failed", "verification", "security handshaker")
"""Parts of gRPC's messages for invalid certificates, in several spellings: retrying does not help."""


def wait_until_ready(
    health: HealthStub, address: str, has_tls: bool, deadline: float, metadata: Entries
) -> None:
    """Poll the server's health until it responds; `deadline` is on the monotonic clock.

    Raises TlsHandshakeFailed as soon as certificates are rejected, Unavailable at the deadline.
    """

    def check(seconds: float, *, wait: bool) -> str | None:
        """Try to reach the server: None, or gRPC's error. Any response counts."""
        request, timeout = HealthCheckRequest(), max(seconds, 0.001)
        try:
            health.Check(request, timeout=timeout, metadata=metadata, wait_for_ready=wait)
        except grpc.RpcError as failure:
            if failure.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                return failure.details() or ""
        return None

    if has_tls and (error := check(deadline - time.monotonic(), wait=False)):
        _raise_if_untrusted(address, error)
    if check(deadline - time.monotonic(), wait=True) is None:
        return
    error = check(_LAST_TRY_SECONDS, wait=False)
    if error is not None:
        _raise_if_untrusted(address, error)
        hint = "check the address and whether `tenure serve` is running there"
        if "Socket closed" in error:
            hint = "the connection was closed; check whether the server requires TLS or a client certificate"
        raise Unavailable(f"no response from {address}; {hint}") from None


def _raise_if_untrusted(address: str, message: str) -> None:
    if any(sign in message.lower() for sign in _TLS_FAILURE_MARKERS):
        raise TlsHandshakeFailed(
            f"TLS handshake with {address} failed; check whether the server uses TLS, and whether its "
            f"certificate is signed by the given CA and valid for this address ({message})"
        )

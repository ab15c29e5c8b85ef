"""Listen addresses, gRPC server options, and the plaintext health port.

Kubelet probes do not use TLS and come from outside the pod. With a health port, a server can use TLS, or
listen on loopback for another container of its pod, and still be probed.
"""

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from tenure.server.settings import ServerLimits


class ListenError(ValueError):
    """The server cannot or may not listen on an address. The message has the fix."""


def check_listen_address(address: str, *, allow_plaintext: bool, is_encrypted: bool = False) -> None:
    """Reject with ListenError an address that is malformed, or reachable from other machines in plaintext.

    `allow_plaintext` permits the latter, tokens included: for networks that are private or encrypted by other
    means. With TLS (`is_encrypted`) every address is allowed.
    """
    if address.startswith("unix:"):
        return
    host, colon, port = address.rpartition(":")
    is_bare_ipv6 = ":" in host and not host.startswith("[")
    if not colon or is_bare_ipv6 or not port.isdecimal() or int(port) > 65_535:
        raise ListenError(f"{address!r} is not HOST:PORT, such as 127.0.0.1:50051")
    if not (is_encrypted or allow_plaintext) and not is_loopback(host.strip("[]")):
        raise ListenError(
            f"{address!r} is not a loopback address, and calls are not encrypted: add --tls-cert and "
            "--tls-key, listen on 127.0.0.1, or add --allow-plaintext on a trusted network"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine only; of names, only localhost is."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


MAX_CONNECTIONS: Final = 1_000
"""Maximum number of connections; more are closed. Far more than there are schedulers."""
MAX_CALLS_PER_CONNECTION: Final = 256
"""Maximum number of concurrent calls on one connection; the client queues further ones."""
MAX_CALLS: Final = 1_024
"""Maximum number of concurrent calls in the server, including calls about to be rejected."""
MAX_WATCHES: Final = 128
"""Maximum number of open health watches."""
MAX_REJECTED_WATCHES: Final = 256
"""Maximum number of health watches that wait for their rejection; further ones are rejected at once."""

_SECOND_MS: Final = 1_000
_MIB: Final = 2**20
_IDENTITY_ONLY: Final = 1
_WINDOW_BYTES: Final = 512 * 1024
"""Bytes of a message that a caller may send before the server receives it."""


def server_options(limits: ServerLimits) -> list[tuple[str, int]]:
    """Options of the gRPC server.

    Compressed messages are UNIMPLEMENTED: gRPC decompresses up to the largest message before any check, so a
    few kilobytes would cost as much memory as `max_message_mib`.

    Pings are not limited: closing connections after a burst of ten thousand blocked gRPC for up to ten
    seconds, while answering costs little, and gRPC stops reading from a peer that does not read responses.

    Windows do not grow with the bandwidth of a connection (`bdp_probe`): gRPC buffers a window of every call
    that waits for its turn to receive. A message that is received gets a window of its size anyway.
    """
    return [
        ("grpc.max_receive_message_length", limits.max_message_mib * _MIB),
        ("grpc.max_send_message_length", -1),
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),
        ("grpc.max_concurrent_streams", MAX_CALLS_PER_CONNECTION),
        ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
        ("grpc.max_connection_idle_ms", 600 * _SECOND_MS),
        ("grpc.server_handshake_timeout_ms", 20 * _SECOND_MS),
        ("grpc.keepalive_time_ms", 60 * _SECOND_MS),
        ("grpc.keepalive_timeout_ms", 20 * _SECOND_MS),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", _WINDOW_BYTES),
        ("grpc.so_reuseport", 0),
    ]


_THREADS: Final = 2
_MAX_CHECKS: Final = 64
_MAX_HEALTH_CALLS: Final = _MAX_CHECKS + MAX_WATCHES + MAX_REJECTED_WATCHES
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 4_096),
    ("grpc.max_allowed_incoming_connections", 256),
    ("grpc.so_reuseport", 0),
)


class HealthPort:
    """Serves the health of a servicer until it is stopped. Raises ListenError if the address is in use."""

    def __init__(self, servicer: health_pb2_grpc.HealthServicer, address: str) -> None:
        self._grpc = grpc.server(
            ThreadPoolExecutor(_THREADS), options=_OPTIONS, maximum_concurrent_rpcs=_MAX_HEALTH_CALLS
        )
        health_pb2_grpc.add_HealthServicer_to_server(servicer, self._grpc)
        try:
            port = self._grpc.add_insecure_port(address)
        except RuntimeError:
            raise ListenError(f"cannot listen on {address}: in use, or not a local address") from None
        self._grpc.start()
        self.address = f"{address.rpartition(':')[0]}:{port}"

    def stop(self) -> None:
        """Stop serving."""
        self._grpc.stop(None)

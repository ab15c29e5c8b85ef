"""A second address on which health alone is answered, in clear text and to everybody.

Probes of a kubelet speak no TLS and come from outside the pod. With it, a server may be encrypted, or listen
on loopback for a neighbour in its pod, and still be probed.

Addresses to listen on, and which of them are safe without encryption.

What the gRPC server itself is told: sizes, compression, connections, pings.
"""

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from tenure.server.settings import ServerLimits


class ListenError(ValueError):
    """The server cannot or may not listen on an address. Says what to do instead."""


def check_listen_address(address: str, *, allow_plaintext: bool, is_encrypted: bool = False) -> None:
    """Refuse with ListenError an address that is malformed, or reachable from other machines in clear text.

    `beyond_loopback` permits the latter, tokens included: for networks that are private or encrypted by
    other means. With TLS (`is_encrypted`) every address is fine.
    """
    if address.startswith("unix:"):
        return
    host, colon, port = address.rpartition(":")
    is_bare_ipv6 = ":" in host and not host.startswith("[")
    if not colon or is_bare_ipv6 or not port.isdecimal() or int(port) > 65_535:
        raise ListenError(f"{address!r} is not HOST:PORT: write something like 127.0.0.1:50051")
    if not (is_encrypted or allow_plaintext) and not is_loopback(host.strip("[]")):
        raise ListenError(
            f"{address!r} can be reached from other machines, and calls are not encrypted: add --tls-cert "
            "and --tls-key, or listen on 127.0.0.1, or add --allow-plaintext on a network you trust"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine only; names other than localhost could mean anything."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


MAX_CONNECTIONS: Final = 1_000
"""Connections at a time; further ones are closed. Far more than there are schedulers."""
MAX_CALLS_PER_CONNECTION: Final = 256
"""Calls on one connection at a time; a client keeps further ones back."""
MAX_CALLS: Final = 1_024
"""Calls in the whole server at a time, those that are about to be refused included."""

_SECOND_MS: Final = 1_000
_MIB: Final = 2**20
_IDENTITY_ONLY: Final = 1


def server_options(limits: ServerLimits) -> list[tuple[str, int]]:
    """Options of a gRPC server.

    Compressed messages get UNIMPLEMENTED: gRPC unpacks up to the largest message before anybody looks at it,
    so a few kilobytes would cost as much memory as `max_message_mib`.

    Pings are answered however many come: hanging up on a burst of ten thousand kept gRPC from everything else
    for up to ten seconds, while answering costs little, and it stops reading from who reads no answers.
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
        ("grpc.so_reuseport", 0),
    ]


_THREADS: Final = 2
_MAX_CALLS: Final = 64
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 4_096),
    ("grpc.max_allowed_incoming_connections", 256),
    ("grpc.so_reuseport", 0),
)


class HealthPort:
    """Answers what a servicer knows of health until it is stopped. Raises ListenError for a taken address."""

    def __init__(self, servicer: health_pb2_grpc.HealthServicer, address: str) -> None:
        self._grpc = grpc.server(
            ThreadPoolExecutor(_THREADS), options=_OPTIONS, maximum_concurrent_rpcs=_MAX_CALLS
        )
        health_pb2_grpc.add_HealthServicer_to_server(servicer, self._grpc)
        try:
            port = self._grpc.add_insecure_port(address)
        except RuntimeError:
            raise ListenError(f"cannot listen on {address}: it is taken, or not of this machine") from None
        self._grpc.start()
        self.address = f"{address.rpartition(':')[0]}:{port}"

    def stop(self) -> None:
        """Answer no more."""
        self._grpc.stop(None)

"""Listen addresses, and options of gRPC servers."""

from ipaddress import ip_address
from typing import Final

from tenure.process.descriptors import descriptor_limit
from tenure.process.open_connections import ConnectionLimits, PortLimits
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


MAX_ACCEPTED: Final = 4_096
"""Maximum number of connections for a moment, until those beyond the limits are closed. gRPC closes more."""
_NEW: Final = ConnectionLimits(most=MAX_ACCEPTED, most_of_a_host=MAX_ACCEPTED)
SERVICE_PORT: Final = PortLimits(
    idle=ConnectionLimits(most=200, most_of_a_host=32),
    in_use=ConnectionLimits(most=800, most_of_a_host=400),
    new=_NEW,
    checked=ConnectionLimits(most=200, most_of_a_host=32),
)
"""Connections of callers are in use: far more than there are schedulers. A load balancer is one host."""
HEALTH_PORT: Final = PortLimits(
    idle=ConnectionLimits(most=128, most_of_a_host=32), in_use=ConnectionLimits(0, 0), new=_NEW
)
"""The health port has no callers, so no connection of it is in use."""
DESCRIPTORS: Final = 4 * MAX_ACCEPTED
"""Files and connections that a server may have open, if the system permits."""
IDLE_SECONDS: Final = 60
"""Time without a call after which a connection is closed; its client connects again for the next call."""
PROBE_IDLE_SECONDS: Final = 5
"""Time without a call after which a connection of the health port is closed."""
HANDSHAKE_SECONDS: Final = 5
"""Time for the handshakes of TLS and HTTP/2."""
MAX_CALLS_PER_CONNECTION: Final = 256
"""Maximum number of concurrent calls on one connection; the client queues further ones."""
MAX_PROBES_PER_CONNECTION: Final = 16
"""Maximum number of concurrent calls on one connection of the health port."""
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
        ("grpc.max_allowed_incoming_connections", max_accepted()),
        ("grpc.max_connection_idle_ms", IDLE_SECONDS * _SECOND_MS),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_SECONDS * _SECOND_MS),
        ("grpc.keepalive_time_ms", 60 * _SECOND_MS),
        ("grpc.keepalive_timeout_ms", 20 * _SECOND_MS),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", _WINDOW_BYTES),
        ("grpc.so_reuseport", 0),
    ]


def health_options() -> list[tuple[str, int]]:
    """Options of the gRPC server of the health port, whose connections last for a probe."""
    return [
        ("grpc.max_receive_message_length", 4_096),
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),
        ("grpc.max_concurrent_streams", MAX_PROBES_PER_CONNECTION),
        ("grpc.max_allowed_incoming_connections", max_accepted()),
        ("grpc.max_connection_idle_ms", PROBE_IDLE_SECONDS * _SECOND_MS),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_SECONDS * _SECOND_MS),
        ("grpc.keepalive_time_ms", 60 * _SECOND_MS),
        ("grpc.keepalive_timeout_ms", 20 * _SECOND_MS),
        ("grpc.so_reuseport", 0),
    ]


def max_accepted() -> int:
    """Maximum number of connections that gRPC accepts: at most a quarter of the files of the process."""
    return min(MAX_ACCEPTED, descriptor_limit() // 4)

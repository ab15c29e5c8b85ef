"""What the gRPC server itself is told: sizes, compression, connections, pings."""

from typing import Final

from tenure.server.settings import ServerLimits

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

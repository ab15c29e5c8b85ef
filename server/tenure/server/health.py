"""A second address on which health alone is answered, in clear text and to everybody.

Probes of a kubelet speak no TLS and come from outside the pod. With it, a server may be encrypted, or listen
on loopback for a neighbour in its pod, and still be probed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from tenure.server.listening import ListenError

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

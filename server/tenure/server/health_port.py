"""The plaintext port of health checks.

Kubelet probes do not use TLS and come from outside the pod. With a health port, a server can use TLS, or
listen on loopback for another container of its pod, and still be probed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from tenure.server.connections import GrpcConnections
from tenure.server.listen_address import (
    HEALTH_PORT,
    MAX_REJECTED_WATCHES,
    MAX_WATCHES,
    ListenError,
    health_options,
)
from tenure.server.receive_limits import MAX_OTHERS_WAITING, ReceiveLimits

_THREADS: Final = MAX_OTHERS_WAITING + 2
"""One for each call that waits for its message, and some to spare; a thread starts when it is needed."""
_MAX_CALLS: Final = 2 * MAX_OTHERS_WAITING + MAX_WATCHES + MAX_REJECTED_WATCHES


class HealthPort:
    """Serves the health of a servicer until it is stopped. Raises ListenError if the address is in use."""

    def __init__(self, servicer: health_pb2_grpc.HealthServicer, address: str) -> None:
        self._receive_limits = ReceiveLimits(max_receiving=1)
        self._connections = GrpcConnections()
        self._grpc = grpc.server(
            ThreadPoolExecutor(_THREADS, "health-port"),
            interceptors=[self._receive_limits],
            options=health_options(),
            maximum_concurrent_rpcs=_MAX_CALLS,
        )
        health_pb2_grpc.add_HealthServicer_to_server(servicer, self._grpc)
        try:
            port = self._grpc.add_insecure_port(address)
        except RuntimeError:
            raise ListenError(f"cannot listen on {address}: in use, or not a local address") from None
        self.address = f"{address.rpartition(':')[0]}:{port}"
        self._connections.add_port(self.address, HEALTH_PORT)
        self._grpc.start()
        self._receive_limits.start()
        self._connections.start()

    def stop(self) -> None:
        """Stop serving."""
        self._connections.stop()
        self._receive_limits.stop()
        self._grpc.stop(None)

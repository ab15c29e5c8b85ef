"""The server process: DecisionService with health and reflection, until it is told to stop."""

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tenure.server.engine import Engine
from tenure.server.listening import ListenError
from tenure.server.service import SERVICE, DecisionService
from tenure.server.settings import ServerLimits, Settings
from tenure.solver.model.duration import SECOND

_SPARE_THREADS: Final = 8
"""For health and reflection, so that they answer while calls wait for a cycle."""
_LAST_BYTES_SECONDS: Final = 2
"""For answers that are decided to reach their callers, and for health watchers to hang up."""
_MIB: Final = 2**20
_LOG: Final = logging.getLogger(__name__)


class Server:
    """A gRPC server in this process. Start it once, drain it once."""

    def __init__(self, engine: Engine, limits: ServerLimits) -> None:
        self._drain_seconds = limits.drain_timeout / SECOND
        self._service = DecisionService(engine, limits.max_waiting_calls)
        self._health = health.HealthServicer(
            experimental_non_blocking=True,
            experimental_thread_pool=ThreadPoolExecutor(max_workers=_SPARE_THREADS),
        )
        self._grpc = grpc.server(
            ThreadPoolExecutor(max_workers=1 + limits.max_waiting_calls + _SPARE_THREADS),
            options=[
                ("grpc.max_receive_message_length", limits.max_message_mib * _MIB),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
            ],
        )
        self._grpc.add_generic_rpc_handlers((self._service.handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._grpc)

    def start(self, address: str) -> str:
        """Listen, answer calls and say that we do; the address with the port that was bound.

        Raises ListenError when the address is taken or does not exist.
        """
        try:
            port = self._grpc.add_insecure_port(address)
        except RuntimeError:
            raise ListenError(f"cannot listen on {address}: it is taken, or not of this machine") from None
        self._grpc.start()
        for name in ("", SERVICE):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

    def drain(self) -> None:
        """Become NOT_SERVING, refuse calls, finish those in flight, and stop."""
        self._health.enter_graceful_shutdown()
        if not self._service.drain(self._drain_seconds):
            _LOG.warning("Calls still in flight after %g seconds are cut off.", self._drain_seconds)
        self._grpc.stop(_LAST_BYTES_SECONDS).wait()


def serve(settings: Settings, address: str, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then drain; a second signal ends the process at once.

    `announce` is called with the bound address when calls are answered. Must run in the main thread.
    """
    server, told_to_stop = Server(Engine(settings.profile), settings.limits), threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        signal.signal(number, lambda *_: told_to_stop.set())
    announce(server.start(address))
    told_to_stop.wait()
    for number in signals:
        signal.signal(number, signal.SIG_DFL)
    server.drain()

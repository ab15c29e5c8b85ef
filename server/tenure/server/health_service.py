"""The standard health service, which anyone may call: checks never wait, and watches are limited.

Watches beyond the limits are rejected one at a time, not together. Otherwise their callers would also come
again together, and each time delay all calls.

The servicer of the library holds its lock while it sends to a watcher. A watcher that does not read, or that
leaves while a status changes, blocks every check. Here each watch is served by a thread of a pool, which has
as many threads as there may be watches.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from tenure.server.errors import resource_exhausted
from tenure.server.listen_address import MAX_REJECTED_WATCHES, MAX_WATCHES
from tenure.server.security.callers import host_of

MAX_WATCHES_OF_A_PEER: Final = 16
"""Maximum number of open watches of one host."""


REJECTED_APART_SECONDS: Final = 1 / 64
"""Time between two rejections."""


class _Watch:
    """One open watch."""

    def __init__(self, service: str, send: Callable[[HealthCheckResponse], object]) -> None:
        self.service = service
        self.send = send
        self.sent: int | None = None
        """Status that was sent last."""
        self.is_sending = False


class HealthService(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # the library has no types
    """Status of each service, SERVING for the server itself until it is set. Thread-safe."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {"": HealthCheckResponse.SERVING}
        self._watches: dict[_Watch, None] = {}
        self._peers: Counter[str] = Counter()
        self._rejected: dict[Callable[[None], object], None] = {}
        """What ends each rejected watch that waits, the oldest first."""
        self._is_rejecting = False
        self._is_draining = False
        self._changing = threading.Lock()
        self._pool = ThreadPoolExecutor(MAX_WATCHES + 2, "health")
        watch: Any = self.Watch.__func__  # type: ignore[attr-defined]  # how gRPC marks such methods
        watch.experimental_non_blocking, watch.experimental_thread_pool = True, self._pool

    def Check(  # noqa: N802 (the name of the method)
        self, request: HealthCheckRequest, context: grpc.ServicerContext
    ) -> HealthCheckResponse:
        """The status; NOT_FOUND for an unknown service."""
        status = self._statuses.get(request.service)
        if status is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            return HealthCheckResponse()
        return HealthCheckResponse(status=status)

    def Watch(  # noqa: N802
        self,
        request: HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: Callable[[HealthCheckResponse | None], object],
    ) -> None:
        """Send the status, and each later one. RESOURCE_EXHAUSTED beyond the limits."""
        peer, watch = host_of(context.peer()), _Watch(request.service, send_response_callback)
        if not self._add(watch, peer):
            self._reject(context, send_response_callback)
            return
        if not context.add_callback(lambda: self._remove(watch, peer)):
            self._remove(watch, peer)
        self._update(watch)

    def set(self, service: str, status: int) -> None:
        """Set the status of a service, unless the server is draining."""
        with self._changing:
            if not self._is_draining:
                self._statuses[service] = status
        self._update_all()

    def enter_graceful_shutdown(self) -> None:
        """Set the status of all services to NOT_SERVING, for good."""
        with self._changing:
            self._is_draining = True
            self._statuses = dict.fromkeys(self._statuses, HealthCheckResponse.NOT_SERVING)
        self._update_all()

    def _reject(self, context: grpc.ServicerContext, end: Callable[[None], object]) -> None:
        """End a watch as soon as its turn comes, or at once if many wait."""
        status = resource_exhausted("too many health watches")
        with self._changing:
            if waits := len(self._rejected) < MAX_REJECTED_WATCHES:
                self._rejected[end] = None
            must_begin = waits and not self._is_rejecting
            self._is_rejecting |= must_begin
        if not waits:
            context.abort_with_status(status)
        context.set_code(status.code)
        context.set_details(status.details)
        context.set_trailing_metadata(status.trailing_metadata)
        if not context.add_callback(lambda: self._forget(end)):
            self._forget(end)
        if must_begin:
            self._pool.submit(self._end_rejected)

    def _forget(self, end: Callable[[None], object]) -> None:
        with self._changing:
            self._rejected.pop(end, None)

    def _end_rejected(self) -> None:
        """End the rejected watches, until none is left."""
        while True:
            time.sleep(REJECTED_APART_SECONDS)
            with self._changing:
                end = next(iter(self._rejected), None)
                if end is None:
                    self._is_rejecting = False
                    return
            end(None)
            self._forget(end)

    def _update_all(self) -> None:
        with self._changing:
            watches = list(self._watches)
        for watch in watches:
            self._pool.submit(self._update, watch)

    def _update(self, watch: _Watch) -> None:
        """Send statuses until the latest is sent. One thread at a time sends to a watch."""
        with self._changing:
            if watch.is_sending:
                return
            watch.is_sending = True
        while (status := self._next(watch)) is not None:
            watch.send(HealthCheckResponse(status=status))

    def _next(self, watch: _Watch) -> int | None:
        """Status to send; None if there is none: then the thread ends."""
        with self._changing:
            status: int = self._statuses.get(watch.service, HealthCheckResponse.SERVICE_UNKNOWN)
            if watch.sent == status or watch not in self._watches:
                watch.is_sending = False
                return None
            watch.sent = status
            return status

    def _add(self, watch: _Watch, peer: str) -> bool:
        with self._changing:
            if len(self._watches) >= MAX_WATCHES or self._peers[peer] >= MAX_WATCHES_OF_A_PEER:
                return False
            self._watches[watch] = None
            self._peers[peer] += 1
            return True

    def _remove(self, watch: _Watch, peer: str) -> None:
        with self._changing:
            self._watches.pop(watch, None)
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]

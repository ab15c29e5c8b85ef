"""The server process: DecisionService with health and reflection, until a signal stops it."""

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tenure.codec.engine import Engine
from tenure.process.descriptors import raise_descriptor_limit
from tenure.process.telemetry import Telemetry
from tenure.server.audit import NO_AUDIT, AuditLog, FileAuditLog
from tenure.server.audit import log as audit_log
from tenure.server.connections import GrpcConnections
from tenure.server.garbage_collection import pause_gc
from tenure.server.health_port import HealthPort
from tenure.server.health_service import HealthService
from tenure.server.installed import installed_registry
from tenure.server.listen_address import (
    DESCRIPTORS,
    MAX_CALLS,
    SERVICE_PORT,
    ListenError,
    server_options,
)
from tenure.server.memory import MemoryPlan
from tenure.server.receive_limits import MAX_OTHERS_WAITING, MAX_WAITING, ReceiveLimits
from tenure.server.records import NO_RECORDS, FileRecorder, Recorder, recorder
from tenure.server.required_features import RequiredFeatures
from tenure.server.security import rejections
from tenure.server.security.access_control import OPEN, AccessControl
from tenure.server.service import SERVICE, DecisionService
from tenure.server.service.admission import MAX_PAUSES
from tenure.server.settings import ServerLimits, Settings
from tenure.server.solver_host import ProcessEngine, SolverPool
from tenure.server.telemetry import requeue_metrics
from tenure.server.telemetry.cycle_metrics import Cycles
from tenure.server.telemetry.load_gauges import Load, register_fault_gauge, register_gauges
from tenure.server.telemetry.unusable_gauges import ShownCluster, UnusableGauges
from tenure.terms.durations import SECOND

FILES: Final = "tenure.files"
"""Health service of files: NOT_SERVING while one cannot be used. The server itself goes on serving."""
_CONTENTS: Final = ("certificates", "tokens", "policy", "audit")
_SPARE_THREADS: Final = 8
"""Threads for health and reflection, so that they respond while calls wait for a cycle."""
_LAST_BYTES_SECONDS: Final = 2
"""Time for decided responses to reach callers and records, and for health watchers to end."""
_LAST_CYCLES_SECONDS: Final = 3
"""Time for stopped cycles to finish decoding or encoding; then the process exits without them."""
_ABANDONED: Final = 1
"""Exit status when a call was abandoned."""
_SWITCH_SECONDS: Final = 0.0005
"""Thread switch interval, short so that health checks are served while cycles run."""
_MANY_SIGNALS: Final = 4_096
"""Bytes read at a time: one per signal."""
_LOG: Final = logging.getLogger(__name__)


def _threads(limits: ServerLimits) -> int:
    """Number of threads: one per admitted call and stream, and some to spare."""
    inside = limits.max_concurrent_cycles + limits.max_queued_calls + limits.max_streams
    return inside + MAX_WAITING + MAX_OTHERS_WAITING + MAX_PAUSES + _SPARE_THREADS


class GrpcServer:
    """A gRPC server in this process. Start it once, drain it once."""

    def __init__(
        self,
        engine: Engine,
        limits: ServerLimits,
        guard: AccessControl = OPEN,
        recorder: Recorder = NO_RECORDS,
        cycles: Cycles | None = None,
        audit: AuditLog = NO_AUDIT,
    ) -> None:
        self._engine = engine
        self._access_control = guard
        self._recorder = recorder
        self._drain_seconds = limits.drain_timeout / SECOND
        self._audit = audit
        self._watch = guard.watch()
        plan = MemoryPlan.of(limits)
        self._service = DecisionService(engine, limits, recorder, cycles or Cycles(), plan, guard, audit)
        self._receive_limits = ReceiveLimits(plan.max_receiving)
        self._connections = GrpcConnections(SERVICE)
        self._health = HealthService()
        self._grpc = grpc.server(
            ThreadPoolExecutor(max_workers=_threads(limits)),
            interceptors=[*guard.interceptors(), self._connections, self._receive_limits, RequiredFeatures()],
            options=server_options(limits),
            maximum_concurrent_rpcs=MAX_CALLS,
        )
        self._grpc.add_generic_rpc_handlers((self._service.handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._grpc)
        self._health_port: HealthPort | None = None

    def start(self, address: str) -> str:
        """Listen and become SERVING; return the address with the bound port.

        Raises ListenError if the address is in use or does not exist.
        """
        try:
            port = self._access_control.add_port(self._grpc, address)
        except RuntimeError:
            raise ListenError(f"cannot listen on {address}: in use, or not a local address") from None
        bound = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        self._connections.add_port(bound, SERVICE_PORT, serves_callers=True)
        self._watch.start(self._report_faults)
        self._grpc.start()
        self._connections.start()
        self._receive_limits.start()
        self._service.start()
        self.set_ready(True)
        self._engine.watch(self.set_ready)
        return bound

    def add_health_port(self, address: str) -> str:
        """Serve health only on an additional address; return it with the bound port.

        Call it before `start`. Raises ListenError if the address is in use or does not exist.
        """
        self.set_ready(False)
        self._health_port = HealthPort(self._health, address)
        return self._health_port.address

    def load(self) -> Load:
        """Current load of the server."""
        return self._service.load()

    def clusters(self) -> list[ShownCluster]:
        """Clusters of pushed states that are in memory."""
        return self._service.clusters()

    def faults(self) -> Mapping[str, str]:
        """Why files of credentials, rules and audit lines cannot be used at present, by what they contain."""
        return {**dict.fromkeys(_CONTENTS, ""), **self._watch.faults(), **self._audit.faults()}

    def _report_faults(self) -> None:
        status = health_pb2.HealthCheckResponse
        is_well = not any(self.faults().values())
        self._health.set(FILES, status.SERVING if is_well else status.NOT_SERVING)

    def set_ready(self, is_ready: bool) -> None:
        """Set the health status of the service."""
        status = health_pb2.HealthCheckResponse
        for name in ("", SERVICE):
            self._health.set(name, status.SERVING if is_ready else status.NOT_SERVING)

    def drain(self) -> bool:
        """Become NOT_SERVING, reject calls, finish those in flight, and stop; return whether all calls ended.

        Cycles that exceed the drain timeout respond with the decisions made so far.
        """
        self._health.enter_graceful_shutdown()
        has_ended = self._service.drain(self._drain_seconds)
        if not has_ended:
            _LOG.warning("Stopping cycles still in flight after %g seconds.", self._drain_seconds)
            self._service.cut_short()
            has_ended = self._service.drain(_LAST_CYCLES_SECONDS)
        self._receive_limits.stop()
        self._connections.stop()
        self._watch.stop()
        self._engine.close()
        stopping = self._grpc.stop(_LAST_BYTES_SECONDS)
        self._recorder.close(_LAST_BYTES_SECONDS)
        self._audit.close(_LAST_BYTES_SECONDS)
        stopping.wait()
        if self._health_port is not None:
            self._health_port.stop()
        return has_ended


def _engine(settings: Settings) -> Engine:
    """Engine with the configured solver host."""
    if settings.limits.solver_host == "thread":
        return Engine(settings.profile, installed_registry(), pause_gc)
    return ProcessEngine(settings.profile, SolverPool(settings.profile), installed_registry())


def _nominators(engine: Engine) -> list[str]:
    """Plugins of the profile that nominate for requeue."""
    names = [plugin.name for plugin in engine.profile.plugins]
    return [name for name in names if hasattr(engine.registry.plugins[name], "nominate")]


def _recorder(settings: Settings) -> Recorder:
    """Recorder for the configured file, if any."""
    return FileRecorder(settings.records) if settings.records.enabled else NO_RECORDS


def _audit_log(settings: Settings) -> AuditLog:
    """Audit log of the configured file, if any. Raises AuditError if it cannot be used."""
    security = settings.security
    if security.audit_file is None:
        return NO_AUDIT
    most_bytes = security.audit_max_mib * 2**20
    return FileAuditLog(security.audit_file, most_bytes=most_bytes, kept=security.audit_kept_files)


def _tune_threads() -> None:
    """Minimize how long threads of the process block each other.

    Objects from startup are long-lived and are excluded from garbage collection, which stops all threads.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_SECONDS)


def serve(
    settings: Settings,
    address: str,
    announce: Callable[[str], None],
    reread: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain; a second signal ends the process at once.

    Calls `announce` with the bound address once calls are served, and `reread` on every SIGHUP. Must run in
    the main thread.
    """
    raise_descriptor_limit(DESCRIPTORS)
    guard, telemetry = AccessControl.of(settings.security), Telemetry(settings.telemetry, "tenure")
    telemetry.start()
    for warning in guard.warnings():
        _LOG.warning(warning)
    recorder.initialize_counters()
    rejections.initialize_counters()
    audit_log.initialize_counters()
    cycles = Cycles(include_workload_names=settings.telemetry.include_workload_names)
    audit = _audit_log(settings)
    engine = _engine(settings)
    requeue_metrics.initialize_counters(_nominators(engine))
    server = GrpcServer(engine, settings.limits, guard, _recorder(settings), cycles, audit)
    register_gauges(server.load)
    UnusableGauges(server.clusters).register()
    register_fault_gauge(server.faults)
    stop_signal = threading.Event()
    _tune_threads()
    signal.signal(signal.SIGHUP, lambda *_: reread())
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        signal.signal(number, lambda *_: stop_signal.set())
    if settings.security.health_listen is not None:
        server.add_health_port(settings.security.health_listen)
    announce(server.start(address))
    wait_for_signal(stop_signal)
    for number in signals:
        signal.signal(number, signal.SIG_DFL)
    has_ended = server.drain()
    if not has_ended:
        _LOG.error("Abandoning calls that did not finish.")
    telemetry.end()
    if not has_ended:
        os._exit(_ABANDONED)


def wait_for_signal(is_stopped: threading.Event) -> None:
    """Wait until a signal handler sets the event. Must run in the main thread.

    Python runs handlers in the main thread, between two bytecode instructions. A signal that arrives just
    before that thread blocks, or in another thread, does not wake it, and its handler would wait for the next
    signal. Therefore every signal also writes a byte, and the main thread waits for bytes.
    """
    taking, giving = socket.socketpair()
    with taking, giving:
        giving.setblocking(False)
        before = signal.set_wakeup_fd(giving.fileno(), warn_on_full_buffer=False)
        try:
            while not is_stopped.is_set():
                taking.recv(_MANY_SIGNALS)
        finally:
            signal.set_wakeup_fd(before)

"""A real server on a free local port, in this process or in a separate one."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import Engine
from tenure.server.audit import NO_AUDIT, AuditLog
from tenure.server.grpc_server import GrpcServer
from tenure.server.records import NO_RECORDS, Recorder
from tenure.server.security.access_control import OPEN, AccessControl
from tenure.server.settings import ServerLimits
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.registry import default_profile
from tenure.terms.cancellation import never
from tenure.v1.decide_pb2 import DecideRequest

from tests.small_snapshot import child_environment


class BlockingEngine(Engine):
    """An engine in which every call waits until it is released."""

    def __init__(self) -> None:
        super().__init__(default_profile())
        self.entered, self.release = threading.Semaphore(0), threading.Event()

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
    ) -> EncodedResponse:
        self.entered.release()
        assert self.release.wait(30)
        return super().decide(request, stop, timeline)


class FailingEngine(Engine):
    """An engine that raises an unexpected error."""

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
    ) -> EncodedResponse:
        raise KeyError("secret of the inside")


@contextmanager
def run_server(
    engine: Engine | None = None,
    guard: AccessControl = OPEN,
    recorder: Recorder = NO_RECORDS,
    audit: AuditLog = NO_AUDIT,
    **limits: object,
) -> Iterator[tuple[GrpcServer, str]]:
    """Run a server in this process; yield it and its address, and drain it at the end."""
    settings = ServerLimits().model_copy(update=limits)
    server = GrpcServer(engine or Engine(default_profile()), settings, guard, recorder, audit=audit)
    address = server.start("127.0.0.1:0")
    try:
        yield server, address
    finally:
        server.drain()


@contextmanager
def run_server_process(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `tenure serve` on a free port; yield the process and its address, and kill it at the end.

    Records are disabled, unless the arguments or a configuration set a folder.
    """
    records = [] if {"--records", "--config"} & set(arguments) else ["--no-records"]
    command = [
        sys.executable,
        "-m",
        "tenure.cli",
        "serve",
        "--listen",
        "127.0.0.1:0",
        *records,
        *arguments,
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=child_environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()

"""Main function of a solver process: serve requests until the server closes the connection."""

import gc
import signal
import time
import traceback
from multiprocessing.connection import Connection
from typing import Final

from tenure.codec.engine import Engine
from tenure.server.culprit import culprit_of
from tenure.server.deadlines import CutShort, Deadline
from tenure.server.garbage_collection import pause_gc
from tenure.server.installed import installed_registry
from tenure.server.shard import CallEnded
from tenure.server.solver_host.protocol import (
    STOP,
    CallOver,
    InvalidRequest,
    SolveRequest,
    SolveResponse,
    SolveResult,
    WorkerError,
)
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.plugin_api.profile import profile_of
from tenure.v1.decide_pb2 import DecideRequest
from tenure.wire.violations import SnapshotValidationError

_LOOK_SECONDS: Final = 0.005
"""Interval at which a search checks for the stop signal."""


def run(connection: Connection, profile: str) -> None:
    """Serve until the other end of the connection is closed. Only the server ends the process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    engine = Engine(profile_of(profile), installed_registry(), pause_gc)
    gc.collect()
    gc.freeze()
    try:
        while True:
            if (question := connection.recv()) is not STOP:
                connection.send(_solve(engine, question, _StopSignal(connection, question.seconds)))
    except (EOFError, OSError):
        return


def _solve(engine: Engine, question: SolveRequest, stop: "_StopSignal") -> SolveResult:
    timeline = Timeline(is_detailed=question.is_detailed)
    try:
        request = DecideRequest.FromString(question.request)
        response = engine.decide(request, stop, timeline)
        return SolveResponse(response, timeline.entries, timeline.group_ids)
    except SnapshotValidationError as invalid:
        return InvalidRequest(list(invalid.violations))
    except CallEnded:
        return CallOver()
    except Exception as error:
        return WorkerError(traceback.format_exc(), culprit_of(error))


class _StopSignal:
    """Whether the deadline passed, or the server sent the stop signal or closed the connection."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._deadline = Deadline(seconds, CutShort())
        self._connection = connection
        self._next_look = 0.0
        self._is_stopped = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self._connection.poll():
                self._is_stopped = True
        return self._deadline() or self._is_stopped

    def search_time_left(self) -> int:
        """Microseconds until the search must stop."""
        return self._deadline.search_time_left()

    def check(self) -> None:
        """Raise CallEnded after the deadline. The stop signal ends the search only."""
        self._deadline.check()

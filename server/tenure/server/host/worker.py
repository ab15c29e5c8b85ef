"""What runs in a solver process: answers one question after the other until the server is gone."""

import gc
import signal
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Final

from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.deadline import Deadline
from tenure.server.digest import profile_of
from tenure.server.engine import Engine
from tenure.server.host.protocol import STOP, Answer, Answered, Defect, Question, Refused
from tenure.server.telemetry.timeline import Timeline
from tenure.v1.decision_service_pb2 import DecideRequest

_LOOK_SECONDS: Final = 0.005
"""How often a search looks whether the server told it to stop."""


def run(connection: Connection, profile: str) -> None:
    """Serve until the other end of the connection is closed. The server alone decides when that is."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    engine = Engine(profile_of(profile))
    gc.collect()
    gc.freeze()
    try:
        while True:
            if (question := connection.recv()) is not STOP:
                connection.send(_answer(engine, question, _Stop(connection, question.seconds)))
    except (EOFError, OSError):
        return


def _answer(engine: Engine, question: Question, stop: "_Stop") -> Answer:
    timeline = Timeline(is_close=question.is_watched)
    try:
        request = DecideRequest.FromString(question.request)
        answer = engine.decide(request, stop, timeline)
        return Answered(answer.SerializeToString(), timeline.entries, timeline.decided)
    except InvalidSnapshot as invalid:
        return Refused(list(invalid.violations))
    except Exception:
        return Defect(traceback.format_exc())


class _Stop:
    """Whether the caller's time is up, or anything came from the server: then it says stop, or is gone."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._deadline = Deadline(seconds, threading.Event())
        self._connection = connection
        self._next_look = 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self._connection.poll():
                self._deadline.give_up()
        return self._deadline()

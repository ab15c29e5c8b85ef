"""A scheduler whose server is killed between and during its messages.

The check `kill-points` repeats it until the server has been killed 250 times.
"""

import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tenure.client import Client, StateSession
from tenure.client.delta_stream import DeltaStream, OnSetAside
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.checks import Counts
from tests.properties.generators.draw import Draw, SeededDraw
from tests.state.failover.restartable_server import RestartableServer
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot

KILLS: Final = 250
STEPS: Final = 6
FILLER: Final = "x" * 150_000
"""Makes a snapshot of few rows large enough for several chunks."""
BEFORE: Final = (0, 0, 0.001, 0.005, 0.02)
"""Seconds between sending a message and killing the server."""
DOWNTIME: Final = (0, 0, 0, 0.3)
"""Seconds until the next server starts."""
CHANCE: Final = 30
"""Percentage of messages at which the server is killed."""


class KillingStream(DeltaStream):
    """Kills the server at random, before a delta or shortly after it."""

    maybe_kill: Callable[[], None]

    def send(self, delta: StateDelta, timeout: float) -> StateReference:
        self.maybe_kill()
        return super().send(delta, timeout)


class KillingClient(Client):
    """Sends messages and kills the server at random, before a message or shortly after it."""

    def __init__(self, server: RestartableServer, draw: Draw) -> None:
        super().__init__(server.address)
        self._server, self._draw = server, draw
        self._killer: threading.Thread | None = None

    def close(self) -> None:
        if self._killer is not None:
            self._killer.join()
        super().close()

    def open_delta_stream(self, on_set_aside: OnSetAside | None = None) -> DeltaStream:
        stream = KillingStream(self._begin_deltas, self._wait_until_ready, self._address, on_set_aside)
        stream.maybe_kill = self._maybe_kill
        return stream

    def _call(self, method: Any, question: Any, timeout: float | None, named: Any = None) -> Any:
        self._maybe_kill()
        return super()._call(method, question, timeout, named)

    def _call_stream(self, method: Any, question: Any, timeout: float | None, named: Any) -> Any:
        if not isinstance(question, Iterator):
            self._maybe_kill()
            return super()._call_stream(method, question, timeout, named)
        return super()._call_stream(method, self._between_messages(question), timeout, named)

    def _between_messages(self, pieces: Iterator[Any]) -> Iterator[Any]:
        for piece in pieces:
            self._maybe_kill()
            yield piece

    def _maybe_kill(self) -> None:
        if self._killer is not None:
            self._killer.join()
            self._killer = None
        if not self._draw.chance(CHANCE):
            return
        before, away = self._draw.choice(BEFORE), self._draw.choice(DOWNTIME)
        self._killer = threading.Timer(before, self._kill, [away])
        self._killer.start()
        if not before:
            self._killer.join()

    def _kill(self, away: float) -> None:
        self._server.kill()
        threading.Event().wait(away)
        self._server.start()


def snapshots(seed: int) -> list[ClusterSnapshot]:
    """Snapshots that the scheduler sends, one per cycle."""
    draw = SeededDraw(seed)
    seen = [generate_snapshot(draw, 2, 40)]
    for group in seen[0].pod_groups:
        group.annotations["filler"] = FILLER
    for _ in range(STEPS):
        seen.append(generate_next_snapshot(draw, seen[-1]))
    return seen


def decisions(client: Client, seen: list[ClusterSnapshot]) -> list[bytes]:
    """Responses to the snapshots, in order."""
    session = StateSession(client)
    session.push(seen[0])
    answers = [session.decide()]
    for snapshot in seen[1:]:
        session.update(snapshot)
        answers.append(session.decide())
    return [answer.SerializeToString(deterministic=True) for answer in answers]


def main() -> Counts:
    """Kill a server under a client until it was killed 250 times. Stops at the first run that differs."""
    passed = 0
    with TemporaryDirectory() as folder:
        try:
            for _ in survived(Path(folder), KILLS):
                passed += 1
        except Exception:
            traceback.print_exc()
            return Counts(passed, 1)
    print(f"{KILLS} deaths: every run gave the decisions of an undisturbed one")
    return Counts(passed, 0)


def survived(folder: Path, deaths: int) -> Iterator[int]:
    """Compare runs with and without kills until the server was killed this often; yield their numbers.

    Raises:
        AssertionError: A run differs from the run without kills.
    """
    runs = 0
    with RestartableServer(folder) as server:
        while server.deaths < deaths:
            seen = snapshots(runs)
            with Client(server.address) as client:
                undisturbed = decisions(client, seen)
            with KillingClient(server, SeededDraw(runs)) as client:
                assert decisions(client, seen) == undisturbed
            yield runs
            runs += 1

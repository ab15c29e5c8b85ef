"""A scheduler whose server is killed between any two of its messages, and in the middle of them.

The check `kill-points` runs it until the server has died 250 times.
"""

import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tenure.client import Client, StateSession
from tenure.client.delta_stream import DeltaStream
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.checks import Counts
from tests.properties.generators.draw import Draw, SeededDraw
from tests.state.failover.restartable_server import RestartableServer
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot

KILLS: Final = 250
STEPS: Final = 6
FILLER: Final = "x" * 150_000
"""Makes a snapshot of several pieces out of few rows."""
BEFORE: Final = (0, 0, 0.001, 0.005, 0.02)
"""Seconds from the time a message is sent until the server dies."""
DOWNTIME: Final = (0, 0, 0, 0.3)
"""Seconds until the next one starts."""
CHANCE: Final = 30
"""Of a hundred messages, how many the server dies of."""


class KillingStream(DeltaStream):
    """Kills the server now and then, before a delta or a moment after it."""

    maybe_kill: Callable[[], None]

    def send(self, delta: StateDelta, timeout: float) -> StateReference:
        self.maybe_kill()
        return super().send(delta, timeout)


class KillingClient(Client):
    """Sends what it is told, and kills the server now and then, before a message or a moment after it."""

    def __init__(self, server: RestartableServer, draw: Draw) -> None:
        super().__init__(server.address)
        self._server, self._draw = server, draw
        self._killer: threading.Thread | None = None

    def close(self) -> None:
        if self._killer is not None:
            self._killer.join()
        super().close()

    def open_delta_stream(self) -> DeltaStream:
        stream = KillingStream(self._service.SyncState, self._wait_until_ready, self._address)
        stream.maybe_kill = self._maybe_kill
        return stream

    def _call(self, method: Any, question: Any, timeout: float | None) -> Any:
        self._maybe_kill()
        return super()._call(method, question, timeout)

    def _call_stream(self, method: Any, question: Any, timeout: float | None) -> Any:
        if not isinstance(question, Iterator):
            self._maybe_kill()
            return super()._call_stream(method, question, timeout)
        return super()._call_stream(method, self._between_messages(question), timeout)

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
    """What the scheduler sees, from one cycle to the next."""
    draw = SeededDraw(seed)
    seen = [generate_snapshot(draw, 2, 40)]
    for group in seen[0].pod_groups:
        group.annotations["filler"] = FILLER
    for _ in range(STEPS):
        seen.append(generate_next_snapshot(draw, seen[-1]))
    return seen


def decisions(client: Client, seen: list[ClusterSnapshot]) -> list[bytes]:
    """One answer to each snapshot, in order."""
    session = StateSession(client)
    session.push(seen[0])
    answers = [session.decide()]
    for snapshot in seen[1:]:
        session.update(snapshot)
        answers.append(session.decide())
    return [answer.SerializeToString(deterministic=True) for answer in answers]


def main() -> Counts:
    """Kill a server under a client until it has died 250 times; stops at the first run that differs."""
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
    """The runs until the server has died so often. Raises when one differs from an undisturbed one."""
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

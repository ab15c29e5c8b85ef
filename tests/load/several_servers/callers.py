"""Callers of shards, each in a thread with a connection of its own, at a steady pace."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple
from unittest.mock import patch

from tenure.client import Client, StateSession, TenureError
from tenure.client.connection_options import OPTIONS
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.load.several_servers.shards import Shard

_OWN_CONNECTION: Final = (*OPTIONS, ("grpc.use_local_subchannel_pool", 1))
"""Else all callers of this process share one connection, which callers elsewhere do not."""


class Cycle(NamedTuple):
    """One cycle of a shard: what changed before it, and the response, or the error."""

    delta: StateDelta
    due: float
    seconds: float
    """From the time at which the cycle was due to the response."""
    response: DecideResponse | None
    error: str = ""


class Run(NamedTuple):
    """The cycles of a shard, and how often its caller pushed the whole snapshot."""

    shard: Shard
    cycles: Sequence[Cycle]
    pushes: int


class _CountingClient(Client):
    pushes = 0

    def put_snapshot(self, *arguments: object) -> StateReference:  # type: ignore[override]
        self.pushes += 1
        return super().put_snapshot(*arguments)  # type: ignore[arg-type]


class Callers:
    """All callers. Each begins at its own part of the period, and pushes before the first one begins."""

    def __init__(self, address: str, shards: Sequence[Shard], period: float, cycles: int) -> None:
        self._period, self._cycles = period, cycles
        self._clients = _clients(address, len(shards))
        self._sessions = [StateSession(client) for client in self._clients]
        self._shards = shards

    def push(self) -> None:
        """Push the first snapshots."""
        for session, shard in zip(self._sessions, self._shards, strict=True):
            session.push(shard.snapshot)

    @contextmanager
    def running(self, begin: float) -> Iterator[Sequence[Run]]:
        """Run the cycles beside the block; what is yielded has them afterwards."""
        runs: list[Run] = []
        with ThreadPoolExecutor(len(self._shards)) as threads:
            waiting = [threads.submit(self._run, number, begin) for number in range(len(self._shards))]
            yield runs
            runs.extend(each.result() for each in waiting)

    def close(self) -> None:
        for session, client in zip(self._sessions, self._clients, strict=True):
            session.close()
            client.close()

    def _run(self, number: int, begin: float) -> Run:
        shard, session, cycles = self._shards[number], self._sessions[number], list[Cycle]()
        response: DecideResponse | None = None
        for turn in range(self._cycles):
            due = begin + (turn + number / len(self._shards)) * self._period
            time.sleep(max(due - time.monotonic(), 0))
            base = StateReference(version=shard.snapshot.version + turn)
            delta, error = shard.motion.delta(base, response), ""
            try:
                session.apply(delta)
                response = session.decide()
            except TenureError as failure:
                response, error = None, repr(failure)
            cycles.append(Cycle(delta, due, time.monotonic() - due, response, error))
        return Run(shard, cycles, self._clients[number].pushes)


def _clients(address: str, count: int) -> list[_CountingClient]:
    with patch("tenure.client.client.OPTIONS", _OWN_CONNECTION):
        return [_CountingClient(address) for _ in range(count)]

"""Cycles to be recorded, and files of records to look into."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from tenure.client.deltas import difference
from tenure.server.engine import Engine
from tenure.server.records import Cycle, FileRecorder
from tenure.server.records.writing import Writer
from tenure.server.settings import RecordSettings
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.server.state.state import next_state
from tenure.solver.framework.stop import never
from tenure.solver.registry import default_profile
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.states.made import later_snapshot, made_snapshot

ENGINE = Engine(default_profile())


def run(seed: int, length: int, nodes: int = 6, pods: int = 30) -> list[ClusterSnapshot]:
    """A snapshot and what becomes of it."""
    draw = SeededDraw(seed)
    seen = [made_snapshot(draw, nodes, pods)]
    while len(seen) < length:
        seen.append(later_snapshot(draw, seen[-1]))
    return seen


def decided(snapshot: ClusterSnapshot, stop: Callable[[], bool] = never) -> DecideResponse:
    return ENGINE.decide(DecideRequest(snapshot=snapshot), stop)


def inline(snapshot: ClusterSnapshot, answer: DecideResponse | None = None) -> Cycle:
    """A cycle whose snapshot came with the request."""
    return Cycle(time.time_ns(), (), ENGINE.profile, answer or decided(snapshot), snapshot)


def referred(state: State, with_snapshot: bool = True) -> Cycle:
    """A cycle on a state that was pushed."""
    snapshot = state.snapshot if with_snapshot else None
    answer = decided(state.snapshot)
    return Cycle(time.time_ns(), (), ENGINE.profile, answer, snapshot, state.epoch, state.lineage)


def pushed(snapshots: list[ClusterSnapshot]) -> list[State]:
    """States made of the first by deltas."""
    states = [full_state("e", snapshots[0], DEFAULT_ROWS)]
    for before, after in pairwise(snapshots):
        delta = difference(before, after)
        delta.base.CopyFrom(states[-1].reference)
        states.append(next_state(states[-1], delta, 2**30, DEFAULT_ROWS))
    return states


def written(path: Path, cycles: list[Cycle]) -> None:
    """All of them, in one batch."""
    with closing(Writer(path)) as writer:
        assert writer.write(cycles) == []


def recorder(path: Path, **options: object) -> FileRecorder:
    return FileRecorder(RecordSettings(path=path), **options)  # type: ignore[arg-type]


def rows(path: Path, statement: str) -> list[tuple]:  # type: ignore[type-arg]
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()

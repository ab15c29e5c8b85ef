"""Cycles to record, and files of records to read."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import Engine
from tenure.server.records import CycleEntry, FileRecorder
from tenure.server.records.writer import RecordWriter
from tenure.server.settings import RecordSettings
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.server.state.versions import next_state
from tenure.solver.registry import default_profile
from tenure.terms.cancellation import never
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot

ENGINE = Engine(default_profile())


def draw_snapshots(seed: int, length: int, nodes: int = 6, pods: int = 30) -> list[ClusterSnapshot]:
    """Return a snapshot and random successors of it."""
    draw = SeededDraw(seed)
    seen = [generate_snapshot(draw, nodes, pods)]
    while len(seen) < length:
        seen.append(generate_next_snapshot(draw, seen[-1]))
    return seen


def decide(snapshot: ClusterSnapshot, stop: Callable[[], bool] = never) -> EncodedResponse:
    return ENGINE.decide(DecideRequest(snapshot=snapshot), stop)


def with_content(response: EncodedResponse, message: DecideResponse) -> EncodedResponse:
    """Return the response with the bytes of a message."""
    return response._replace(content=message.SerializeToString(deterministic=True))


def inline_cycle(snapshot: ClusterSnapshot, answer: EncodedResponse | None = None) -> CycleEntry:
    """Return a cycle whose snapshot was part of the request."""
    return CycleEntry(time.time_ns(), (), ENGINE.profile, answer or decide(snapshot), snapshot)


def state_cycle(state: State, with_snapshot: bool = True) -> CycleEntry:
    """Return a cycle on a pushed state."""
    snapshot = state.snapshot if with_snapshot else None
    answer = decide(state.snapshot)
    return CycleEntry(time.time_ns(), (), ENGINE.profile, answer, snapshot, state.epoch, state.lineage)


def push_states(snapshots: list[ClusterSnapshot]) -> list[State]:
    """Return states that are derived from the first by deltas."""
    states = [full_state("e", snapshots[0], DEFAULT_ROWS)]
    for before, after in pairwise(snapshots):
        delta = compute_delta(before, after)
        delta.base.CopyFrom(states[-1].reference)
        states.append(next_state(states[-1], delta, 2**30, DEFAULT_ROWS))
    return states


def write_records(path: Path, cycles: list[CycleEntry]) -> None:
    """Write all cycles in one batch."""
    with closing(RecordWriter(path)) as writer:
        assert writer.write(cycles) == []


def recorder(path: Path, **options: object) -> FileRecorder:
    return FileRecorder(RecordSettings(path=path), **options)  # type: ignore[arg-type]


def rows(path: Path, statement: str) -> list[tuple]:  # type: ignore[type-arg]
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()

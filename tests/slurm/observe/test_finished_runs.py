"""Jobs that completed leave their runtimes, for predictions (semantics R17.32)."""

from typing import Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.ports import FinishedRun
from tenure.slurm.observe.cluster import Reading, Scope
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.rows import JobRow, NodeRow
from tenure.slurm.observe.source import SlurmSource

NOW: Final = 1_800_000_000
NODE: Final = NodeRow("n1", "mixed", 64, 1_000, gres="gpu:8", partitions=["gpu"])


def job(state: str, start: int = NOW - 500, end: int = NOW) -> JobRow:
    return JobRow(
        *(7, state, 5),
        account="team",
        partition="gpu",
        start_time=start,
        end_time=end,
        nodes="n1",
        node_count=1,
        tres_alloc_str="cpu=1,node=1,gres/gpu=2",
        tres_req_str="cpu=1,node=1,gres/gpu=2",
        gres_detail=["gpu:2(IDX:0-1)"],
    )


def finished(*states: str) -> list[FinishedRun]:
    """What finishes while the job has these states in one pass after the other; "": it is not listed."""
    listings = [[job(state)] if state else [] for state in states]
    readings = iter([Reading(jobs, [NODE]) for jobs in listings])
    source = SlurmSource(Scope("c", ("gpu",)), (), lambda: next(readings), JobMemories())
    found: list[FinishedRun] = []
    for _ in states:
        source.snapshot(Timestamp(seconds=NOW))
        found += source.take_finished()
    return found


RUN: Final = [FinishedRun("team", 2_000, 500, NOW)]
CASES: Final[dict[str, tuple[tuple[str, ...], list[FinishedRun]]]] = {
    "completed": (("RUNNING", "COMPLETED"), RUN),
    "completed once, and listed for a while": (("RUNNING", "COMPLETED", "COMPLETED"), RUN),
    "its processes end first": (("RUNNING", "COMPLETING", "COMPLETED"), RUN),
    "never seen while it ran": (("PENDING", "COMPLETED"), []),
    "completed before the adapter started": (("COMPLETED",), []),
    "failed": (("RUNNING", "FAILED"), []),
    "cancelled": (("RUNNING", "CANCELLED"), []),
    "at its time limit": (("RUNNING", "TIMEOUT"), []),
    "requeued": (("RUNNING", "COMPLETING", "PENDING"), []),
    "no longer listed": (("RUNNING", ""), []),
}


@pytest.mark.parametrize(("states", "runs"), CASES.values(), ids=CASES)
def test_only_what_completed_leaves_a_runtime(states: tuple[str, ...], runs: list[FinishedRun]) -> None:
    assert finished(*states) == runs

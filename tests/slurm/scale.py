"""1,000 nodes and 10,000 jobs, made from recorded listings: from Slurm's output to decisions.

`python -m tests slurm-scale` prints what each step takes, without Slurm's own commands: wall time, and
processor time of the adapter and of the server. The change is a job that ends. On a loaded machine only
processor time says something.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.session import StateSession
from tenure.slurm.observe.cluster import Reading, Scope
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.rows import read_jobs, read_nodes
from tenure.slurm.observe.source import SlurmSource

from tests.checks import Counts
from tests.server.servers import run_server_process

RECORDED: Final = Path(__file__).with_name("recorded")
COLD_SECONDS: Final = 2.0
CHANGE_SECONDS: Final = 0.3
_SUBMITTED: Final = 1_800_000_000
_GPUS: Final = 8


def check_scale(
    nodes: Annotated[int, typer.Option(help="Nodes")] = 1_000,
    jobs: Annotated[int, typer.Option(help="Jobs; as many run as there are GPUs for")] = 10_000,
) -> Counts:
    """Measure the first pass and a change."""
    node_listing, rows = node_list(nodes), job_rows(jobs, nodes)
    listing = json.dumps({"jobs": rows}).encode()
    reading = {"jobs": listing}
    memories = JobMemories()

    def read() -> Reading:
        return Reading(read_jobs(reading["jobs"]), read_nodes(node_listing))

    source = SlurmSource(Scope("test", ("gpu",)), (), read, memories)
    seconds: dict[str, Times] = {}
    with (
        run_server_process() as (server, address),
        Client(address) as client,
        StateSession(client) as session,
    ):
        timed = partial(measure, seconds, server.pid)
        now = Timestamp(seconds=_SUBMITTED + 1_000)
        with timed("first rows"):
            snapshot = source.snapshot(now)
        with timed("first push"):
            session.push(snapshot)
        with timed("first decisions"):
            session.decide(now=now)
        reading["jobs"] = json.dumps({"jobs": rows[1:]}).encode()
        now = Timestamp(seconds=_SUBMITTED + 1_001)
        with timed("changed rows"):
            delta = source.delta(now)
        with timed("changed push"):
            session.apply(delta)
        with timed("changed decisions"):
            session.decide(now=now)
    for name, times in seconds.items():
        print(f"{name}: {times.wall:.2f} s, processor {times.adapter:.2f} s + server {times.server:.2f} s")
    cold = sum(times.wall for name, times in seconds.items() if name.startswith("first"))
    change = sum(times.wall for name, times in seconds.items() if name.startswith("changed"))
    print(f"first pass: {cold:.2f} s of {COLD_SECONDS} s; a change: {change:.2f} s of {CHANGE_SECONDS} s")
    print(f"listing of {jobs:,} jobs: {len(listing) / 2**20:.0f} MiB")
    holds = [cold <= COLD_SECONDS, change <= CHANGE_SECONDS]
    return Counts(sum(holds), len(holds) - sum(holds))


def node_list(count: int) -> bytes:
    """The listing of this many nodes."""
    (row, *_) = json.loads((RECORDED / "sinfo.json").read_bytes())["nodes"]
    rows = [
        {**row, "name": f"n{number}", "state": "mixed", "state_flags": []} for number in range(1, count + 1)
    ]
    return json.dumps({"nodes": rows}).encode()


def job_rows(count: int, nodes: int) -> list[dict[str, Any]]:
    """Rows of jobs with one GPU each: running ones on all GPUs, and pending ones."""
    listed = json.loads((RECORDED / "squeue.json").read_bytes().decode(errors="replace"))["jobs"]
    pattern = next(
        job for job in listed if job["job_state"] == "PENDING" and job["tres_per_node"] == "gres:gpu:1"
    )
    running = min(count * 4 // 5, nodes * _GPUS)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        row = {**pattern, "job_id": number + 1, "submit_time": _SUBMITTED + number % 900, "partition": "gpu"}
        row |= {"account": f"team-{number % 50}", "dependency": "", "eligible_time": 0, "array_job_id": 0}
        if number < running:
            node = f"n{number // _GPUS + 1}"
            row |= {"job_state": "RUNNING", "nodes": node, "start_time": _SUBMITTED + number % 900}
            row["gres_detail"] = [f"gpu:a100:1(IDX:{number % _GPUS})"]
        rows.append(row)
    return rows


class Times(NamedTuple):
    """What a step took, in seconds."""

    wall: float
    adapter: float
    server: float


@contextmanager
def measure(seconds: dict[str, Times], server: int, name: str) -> Iterator[None]:
    """Wall time of a block, and processor time of this process and of the server."""
    before = time.perf_counter(), time.process_time(), processor_seconds(server)
    yield
    after = time.perf_counter(), time.process_time(), processor_seconds(server)
    seconds[name] = Times(*(end - begin for begin, end in zip(before, after, strict=True)))


def processor_seconds(process: int) -> float:
    """Processor time of a process and of its children."""
    ticks, left = 0, [process]
    while left:
        folder = Path(f"/proc/{left.pop()}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
        for children in folder.glob("task/*/children"):
            left += map(int, children.read_text().split())
    return ticks / os.sysconf("SC_CLK_TCK")

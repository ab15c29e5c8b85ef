"""1,000 nodes and 10,000 jobs, made from recorded listings: from Slurm's output to decisions.

`python -m tests slurm-scale` prints what each step takes, without Slurm's own commands. The change is a job
that ends. On a loaded machine the seconds say nothing.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

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
    seconds: dict[str, float] = {}
    with run_server_process() as (_, address), Client(address) as client, StateSession(client) as session:
        now = Timestamp(seconds=_SUBMITTED + 1_000)
        with timed(seconds, "first rows"):
            snapshot = source.snapshot(now)
        with timed(seconds, "first push"):
            session.push(snapshot)
        with timed(seconds, "first decisions"):
            session.decide(now=now)
        reading["jobs"] = json.dumps({"jobs": rows[1:]}).encode()
        now = Timestamp(seconds=_SUBMITTED + 1_001)
        with timed(seconds, "changed rows"):
            delta = source.delta(now)
        with timed(seconds, "changed push"):
            session.apply(delta)
        with timed(seconds, "changed decisions"):
            session.decide(now=now)
    for name, value in seconds.items():
        print(f"{name}: {value:.2f} s")
    cold = sum(value for name, value in seconds.items() if name.startswith("first"))
    change = sum(value for name, value in seconds.items() if name.startswith("changed"))
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


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Wall time of a block."""
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began

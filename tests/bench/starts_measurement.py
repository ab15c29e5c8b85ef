"""Measures estimated starts: of all that wait on a cold cluster, and of one pod group on a warm one.

E: a full cluster of jobs of 1 to 8 GPUs that end at different times, some of them by a time limit, and ten
times as many jobs that wait as there are nodes. Jobs say how long they run. E1: only the first job of a queue
is asked for, on derived data that a cycle left, as in a server with a pushed state.
"""

import gc
import time
from functools import partial
from typing import Final

from tenure.codec.decode import decode_snapshot
from tenure.server.garbage_collection import pause_gc
from tenure.solver.cycle import decide
from tenure.solver.play.sequential_warm_start import SequentialWarmStart
from tenure.solver.play.start_times import StartEstimates, estimate_starts
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.terms.cancellation import never
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

from tests.bench.sample import Sample, StealMeter, load_average
from tests.bench.workloads.case import CallMode, Case
from tests.bench.workloads.snapshot_fixture import GPUS, MINUTE_S, NOW_S, SnapshotFixture

QUEUES: Final = 10
SIZES: Final = (1, 1, 2, 1, 4, 1, 2, 8)
"""GPUs of jobs, in turns."""
WAITING: Final = 10
"""Jobs that wait for each node."""
USUAL: Final = {"skip_similar_pod_groups": True, "max_consolidation_victims": 16, "fill_back": "full"}
SINGLE: Final = "E1"


def estimated_cases() -> tuple[Case, ...]:
    """Both at three sizes."""
    actions = default_profile().actions
    return tuple(
        Case(name, nodes, partial(crowd, nodes), actions, None, (CallMode.STARTS,), USUAL, nodes > 100)
        for name in ("E", SINGLE)
        for nodes in (50, 100, 500)
    )


def measure_starts(case: Case, runs: int) -> Sample:
    """Measure this many estimates of one cluster."""
    cluster, profile = decode_snapshot(case.build()), with_required_plugins(case.profile)
    kept, asked = SequentialWarmStart(), list[int]()
    if case.workload == SINGLE:
        decide(cluster, profile, warm_start=kept).close()
        asked = [next(group.index for group in cluster.pod_groups if group.facts.last_start is None)]
    theft, wall, cpu = StealMeter(), [], []
    estimates: StartEstimates | None = None
    for _ in range(runs):
        warm = kept.fork() if asked else None
        gc.collect()
        wall_begin, cpu_begin = time.perf_counter(), time.process_time()
        with pause_gc():
            estimates = estimate_starts(cluster, profile, BUILT_IN, asked, never, warm)
        cpu.append((time.process_time() - cpu_begin) * 1e3)
        wall.append((time.perf_counter() - wall_begin) * 1e3)
    assert estimates is not None
    counters = {
        f"{name} {field}": value
        for name, played in (("likely", estimates.likely), ("hard", estimates.hard))
        for field, value in played.work._asdict().items()
    }
    outcome = {"likely": len(estimates.likely.starts), "hard": len(estimates.hard.starts)}
    host = load_average(), theft.share()
    return Sample(case.name, CallMode.STARTS, wall, cpu, counters, outcome, *host)


def crowd(nodes: int) -> ClusterSnapshot:
    """A full cluster, and those that wait for it."""
    fixture, total = SnapshotFixture(nodes), nodes * GPUS
    for name in ("dept-0", "dept-1"):
        fixture.queue(name, "", total / 2, total / 2)
    for number in range(QUEUES):
        fixture.queue(f"queue-{number}", f"dept-{number % 2}", total / QUEUES, 1)
    running = 0
    for node in range(nodes):
        used = 0
        while used < GPUS:
            gpus = min(SIZES[running % len(SIZES)], GPUS - used)
            job = fixture.job(f"run-{running:06}", _queue(running), gpus=gpus, on=(node,))
            minutes = _say_runtime(job, running)
            job.last_start_time.seconds = NOW_S - MINUTE_S * (1 + running * 11 % minutes)
            used, running = used + gpus, running + 1
    for number in range(nodes * WAITING):
        size = SIZES[number % len(SIZES)]
        _say_runtime(fixture.job(f"wait-{number:06}", _queue(number), 1 + (number % 16 == 0), size), number)
    return fixture.build()


def _queue(number: int) -> str:
    return f"queue-{number % QUEUES}"


def _say_runtime(job: PodGroup, number: int) -> int:
    """Half an hour to a day, and twice as much as the time limit of every third job. Returns minutes."""
    minutes = 30 * (1 + number * 7 % 48)
    job.expected_runtime.seconds = MINUTE_S * minutes
    if number % 3 == 0:
        job.time_limit.seconds = 2 * MINUTE_S * minutes
    return minutes

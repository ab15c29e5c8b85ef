"""Measures whole simulated runs, as `tenure play` makes them: cases, the trace of each, and the measurement.

A run of P1 or P2 is a generated day. PP is the Philly trace, if PHILLY_TRACE names its file. It has the
settings that `docs/use/play.md` recommends for months of a full cluster.
"""

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from tenure.server.garbage_collection import pause_gc
from tenure.simulator.cluster import build_cluster, equal_nodes, equal_queues, gpu_milli_of
from tenure.simulator.decider import SolverDecider
from tenure.simulator.fitting import fit_jobs
from tenure.simulator.jobs import Trace
from tenure.simulator.settings import MINUTE, RunSettings
from tenure.simulator.simulation import Simulation
from tenure.simulator.traces.formats import read_trace
from tenure.simulator.traces.generated import generate
from tenure.solver.registry import default_profile
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.sample import Sample, StealMeter, load_average
from tests.bench.workloads.case import CallMode, Case

GPUS: Final = 8
"""Of each node."""
PHILLY: Final = "PHILLY_TRACE"


@dataclass(frozen=True)
class PlayedCase(Case):
    """A trace on equal nodes, with all actions. Its options differ from those of the default profile."""

    trace: Callable[[], Trace] = field(kw_only=True)
    settings: RunSettings = field(default=RunSettings(), kw_only=True)


def played_cases() -> tuple[PlayedCase, ...]:
    """Jobs of 15 teams as on Philly, small jobs of many nodes as on openb, and Philly itself."""
    cases = [
        *[_case("P1", nodes, partial(_teams, nodes), is_long=nodes > 16) for nodes in (8, 16, 64)],
        *[_case("P2", nodes, partial(_services, nodes), is_long=nodes > 100) for nodes in (100, 400, 1200)],
    ]
    if PHILLY in os.environ:
        bounded = replace(
            _case("PP", 64, _philly, is_long=True),
            options={"max_simulations_per_pod_group": 40},
            settings=RunSettings(cycle_period=MINUTE),
        )
        cases.append(bounded)
    return tuple(cases)


def _case(workload: str, nodes: int, trace: Callable[[], Trace], *, is_long: bool) -> PlayedCase:
    build, actions = partial(_cluster, nodes), default_profile().actions
    return PlayedCase(workload, nodes, build, actions, None, (CallMode.PLAY,), {}, is_long, trace=trace)


def measure_play(case: PlayedCase, runs: int) -> Sample:
    """Measure runs from the empty cluster to the end of the last job. The trace is read before."""
    bare = case.build()
    trace = fit_jobs(case.trace(), bare.nodes)
    queues = equal_queues(trace.queues, gpu_milli_of(list(bare.nodes)))
    cluster = build_cluster(list(bare.nodes), queues, trace.jobs)
    default = default_profile()
    profile = replace(default, options=replace(default.options, **case.options))  # type: ignore[arg-type]
    theft, wall, cpu, outcome = StealMeter(), [], [], dict[str, Any]()
    counters: dict[str, int] = {}
    for _ in range(runs):
        gc.collect()
        wall_begin, cpu_begin = time.perf_counter(), time.process_time()
        with pause_gc():
            results = Simulation(cluster, trace.jobs, case.settings, SolverDecider(profile)).run()
        cpu.append((time.process_time() - cpu_begin) * 1e3)
        wall.append((time.perf_counter() - wall_begin) * 1e3)
        counters = {**results.counters, "cycles": results.cycles}
        completed = sum(result.end is not None for result in results.jobs)
        outcome = {"jobs": len(results.jobs), "completed": completed, "evictions": len(results.evictions)}
        del results
    host = load_average(), theft.share()
    return Sample(case.name, CallMode.PLAY, wall, cpu, counters, outcome, *host)


def _cluster(nodes: int) -> ClusterSnapshot:
    return ClusterSnapshot(nodes=equal_nodes(nodes, GPUS))


def _teams(nodes: int) -> Trace:
    """A day of 15 teams. At times some ask for more than their share; the load is 0.4."""
    jobs = [
        {
            "queue": f"team-{number:02d}",
            "perHour": nodes * (0.35 if number < 5 else 0.08),
            "runtime": "20m",
            "spread": 4,
            "gpus": {1: 93, 4: 4, 8: 2, 16: 1},
            "dayNight": 0.6,
        }
        for number in range(15)
    ]
    return generate({"seed": 1, "days": 1, "jobs": jobs})


def _services(nodes: int) -> Trace:
    """A day of small jobs on many nodes, 7 for each node."""
    jobs = [
        {"queue": queue, "perHour": nodes * 0.1, "runtime": "2h", "spread": 3, "gpus": {1: 80, 2: 15, 8: 5}}
        for queue in ("best-effort", "burstable", "guaranteed")
    ]
    return generate({"seed": 1, "days": 1, "jobs": jobs})


def _philly() -> Trace:
    return read_trace(Path(os.environ[PHILLY]))[1]

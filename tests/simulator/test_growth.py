"""The work of a run grows with its events, and for each event at most as the logarithm of what runs.

Work is counted exactly (`tests.attacks.work.work_counter`), never timed, from the first event to the last:
the simulation, decoding of changes, cycles, encoding and metrics.
"""

import json
import math
import subprocess
import sys
from itertools import accumulate
from typing import Any, Final

import pytest

from tests.attacks.work import work_counter
from tests.small_snapshot import child_environment

pytestmark = pytest.mark.long

PROGRAM: Final = """
import sys
from tests.attacks.work import work_counter
work_counter.install("tenure.simulator")
from tests.simulator import test_growth
test_growth.main(*sys.argv[1:])
"""
DAYS: Final = 0.2
RATE: Final = 60
"""Jobs per hour of the smallest run."""
NODES: Final = 100
SLACK: Final = 1.05


@pytest.mark.parametrize("growing", ["jobs", "jobs and nodes"])
def test_work_for_an_event_grows_at_most_as_the_logarithm_of_what_runs(growing: str) -> None:
    program = [sys.executable, "-c", PROGRAM, growing]
    done = subprocess.run(program, env=child_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    few, *more = [json.loads(line) for line in done.stdout.splitlines()]
    for factor, run in zip((2, 4), more, strict=True):
        assert run["events"] > 0.9 * factor * few["events"], run
        assert run["most"] > 0.8 * factor * few["most"], run
        logarithm = math.log(run["most"]) / math.log(few["most"])
        assert per_event(run) < SLACK * logarithm * per_event(few), (few, run)


def per_event(run: dict[str, int]) -> float:
    """Units of work for each event."""
    return run["units"] / run["events"]


def main(growing: str) -> None:
    """Print the work of runs with jobs at one, two and four times the rate, after one that is not counted."""
    for factor in (0.1, 1, 2, 4):
        found = measure(RATE * factor, max(round(NODES * (1 if growing == "jobs" else factor)), 4))
        if factor >= 1:
            print(json.dumps(found), flush=True)


def measure(rate: float, nodes: int) -> dict[str, Any]:
    """Units of work of a run, its arrivals, ends and evictions, and the most jobs that ran at a time."""
    from tenure.simulator.metrics import build_metrics
    from tenure.simulator.simulation import Simulation
    from tenure.simulator.traces.generated import generate

    from tests.simulator.played import run_input, solver

    group = {"perHour": rate / 3, "runtime": "1h", "spread": 2, "gpus": {1: 80, 2: 15, 4: 5}}
    trace = generate({"days": DAYS, "jobs": [{**group, "queue": queue} for queue in "abc"]})
    run = run_input(trace.jobs, (nodes, 8))
    before = work_counter.work()
    results = Simulation(run.cluster, run.trace.jobs, run.settings, solver()).run()
    build_metrics(results, [])
    units = work_counter.work() - before
    moments = [(job.first_start, 1) for job in results.jobs] + [(job.end, -1) for job in results.jobs]
    most = max(accumulate(step for _, step in sorted(moments)))
    events = 2 * len(results.jobs) + len(results.evictions)
    return {"units": units, "events": events, "most": most, "cycles": results.cycles}

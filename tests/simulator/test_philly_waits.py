"""FIFO on the Philly trace: waits of an independent program, and its known figures over the whole trace.

The trace is not part of the repository. PHILLY_TRACE names the file; without it, these tests are skipped.
"""

import os
from pathlib import Path

import pytest
from tenure.simulator.baselines import Baseline
from tenure.simulator.runs import play
from tenure.simulator.traces.formats import read_trace
from tenure.terms.durations import SECOND

from tests.simulator.played import run_input
from tests.simulator.test_known_waits import AT_ONCE, reference_starts

TRACE = Path(os.environ.get("PHILLY_TRACE", "../shared/traces/philly/philly.csv"))
JOBS = 82_247
PREFIX = 4_000
FIGURES = {
    1024: (11, 0, 0, 13_147, 1.0),
    640: (33_167, 6_087, 98_801, 46_303, 190.9),
    512: (475_770, 504_187, 818_204, 488_906, 2_713.8),
}
"""By GPUs: mean, median and 95th percentile of the wait, mean turnaround, mean bounded slowdown; seconds."""

pytestmark = pytest.mark.skipif(not TRACE.exists(), reason="PHILLY_TRACE names no file")


def played(jobs, gpus: int, policy: Baseline):
    return play(run_input(jobs, (1, gpus), policy, AT_ONCE)).results.jobs


@pytest.mark.long
@pytest.mark.parametrize("policy", [Baseline.FIFO, Baseline.FIRST_FIT])
def test_waits_of_the_first_jobs_equal_an_independent_program(policy):
    _, trace = read_trace(TRACE)
    assert (len(trace.jobs), list(trace.bad_lines)) == (JOBS, [])
    results = played(trace.jobs[:PREFIX], 128, policy)
    expected = reference_starts([each.job for each in results], 128, strict=policy is Baseline.FIFO)
    assert [each.first_start // SECOND for each in results] == expected
    assert max(each.first_start - each.job.submit for each in results) > 3_600 * SECOND


@pytest.mark.long
@pytest.mark.parametrize(
    "gpus", [pytest.param(gpus, marks=pytest.mark.thorough if gpus < 1024 else ()) for gpus in FIGURES]
)
def test_figures_of_the_whole_trace_are_the_known_ones(gpus):
    _, trace = read_trace(TRACE)
    results = played(trace.jobs, gpus, Baseline.FIFO)
    waits = sorted([(each.first_start - each.job.submit) // SECOND for each in results])
    turnarounds = [(each.end - each.job.submit) / SECOND for each in results]
    slowdowns = [
        max(1.0, turnaround / max(each.job.runtime / SECOND, 10))
        for turnaround, each in zip(turnarounds, results, strict=True)
    ]
    last = len(waits) - 1
    found = (
        sum(waits) / len(waits),
        waits[last // 2],
        waits[int(0.95 * last)],
        sum(turnarounds) / len(waits),
        sum(slowdowns) / len(waits),
    )
    assert found == pytest.approx(FIGURES[gpus], rel=1e-3, abs=0.6)

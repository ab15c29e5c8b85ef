"""Waits that are known from elsewhere: by hand for FCFS and EASY, and an independent program for Philly."""

import heapq
from functools import cache
from random import Random

import pytest
from tenure.simulator.baselines import Baseline, BaselineDecider
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Simulation
from tenure.simulator.traces.swf import read_swf
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND

from tests.simulator.played import job, run_input, solver

AT_ONCE = RunSettings(cycle_period=0)
"""A cycle at every instant, as in the textbook."""
ALLOCATE = Profile(("allocate",), default_profile().plugins, default_profile().options)

# Ten processors. By hand:
#            job 1: 0-10 on 6
#            job 2: wants 8 at 1, must wait for job 1: 10-20
#            job 3: wants 4 at 2 for 5: fits beside job 1 and ends at 7 < 10, so EASY backfills it at 2
#            job 4: wants 4 at 3 for 20: would delay job 2 (2 spare); FCFS 20, EASY 20
#            job 5: wants 2 at 4 for 30: uses the 2 spare processors of job 2; but job 3 has them until 7
SWF = """; MaxProcs: 10
1 0 -1 10 6 -1 -1 6 10 -1 1 1 1 1 1 1 -1 -1
2 1 -1 10 8 -1 -1 8 10 -1 1 1 1 1 1 1 -1 -1
3 2 -1 5 4 -1 -1 4 5 -1 1 1 1 1 1 1 -1 -1
4 3 -1 20 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1
5 4 -1 30 2 -1 -1 2 30 -1 1 1 1 1 1 1 -1 -1
"""
FCFS_STARTS = {1: 0, 2: 10, 3: 20, 4: 20, 5: 20}
EASY_STARTS = {1: 0, 2: 10, 3: 2, 4: 20, 5: 7}


def starts(results) -> dict[int, int]:
    return {int(each.job.name.rpartition("-")[2]): each.first_start // SECOND for each in results.jobs}


@pytest.mark.parametrize(("policy", "expected"), [(Baseline.FIFO, FCFS_STARTS), (Baseline.EASY, EASY_STARTS)])
def test_fcfs_and_easy_reproduce_waits_computed_by_hand(policy, expected):
    run = run_input(read_swf(SWF.splitlines()).jobs, (1, 10), policy, AT_ONCE)
    assert starts(play(run).results) == expected


def test_the_solver_without_evictions_starts_the_first_that_fits():
    run = run_input(read_swf(SWF.splitlines()).jobs, (1, 10), ALLOCATE, AT_ONCE)
    # By hand. 0: job 1 (6 of 10); 2: job 3 (10 of 10); 7: job 3 ends, job 4 takes its 4; 10: job 1 ends, 6
    # are free: job 5; 27: job 4 ends, 8 are free: job 2.
    assert starts(play(run).results) == {1: 0, 2: 27, 3: 2, 4: 7, 5: 10}
    first_fit = run_input(read_swf(SWF.splitlines()).jobs, (1, 10), Baseline.FIRST_FIT, AT_ONCE)
    assert starts(play(first_fit).results) == {1: 0, 2: 27, 3: 2, 4: 7, 5: 10}


@cache
def queue_like_jobs(seed: int, count: int) -> tuple:
    """Jobs whose sizes and runtimes are those of a busy pool."""
    draws = Random(seed)
    at, jobs = 0, []
    for number in range(count):
        at += draws.randrange(0, 40)
        gpus, runtime = draws.choice((1, 1, 1, 2, 4, 8, 16)), draws.choice((1, 30, 120, 600, 3000))
        jobs.append(job(f"job-{number:06d}", at, runtime, gpus))
    return tuple(jobs)


def reference_starts(jobs, gpus: int, *, strict: bool) -> list[int]:
    """First come, first served (strict) or first that fits, on one pool; in seconds, by order of the jobs."""
    arrivals = [(each.submit // SECOND, i) for i, each in enumerate(jobs)]
    free, running, waiting, found = gpus, [], [], [0] * len(jobs)
    at = 0
    while at < len(arrivals) or running:
        now = min(arrivals[at][0] if at < len(arrivals) else 1 << 60, running[0][0] if running else 1 << 60)
        while running and running[0][0] == now:
            free += heapq.heappop(running)[1]
        while at < len(arrivals) and arrivals[at][0] == now:
            waiting.append(arrivals[at][1])
            at += 1
        left = []
        for place, i in enumerate(waiting):
            size = jobs[i].gpu_milli // 1000
            if size <= free:
                free -= size
                found[i] = now
                heapq.heappush(running, (now + jobs[i].runtime // SECOND, size))
            elif strict:
                left += waiting[place:]
                break
            else:
                left.append(i)
        waiting = left
    return found


@pytest.mark.parametrize("policy", [Baseline.FIFO, Baseline.FIRST_FIT])
@pytest.mark.parametrize("seed", range(3))
def test_baselines_equal_an_independent_program(policy, seed):
    jobs = queue_like_jobs(seed, 600)
    run = run_input(jobs, (1, 32), policy, AT_ONCE)
    results = Simulation(run.cluster, jobs and run.trace.jobs, AT_ONCE, BaselineDecider(policy)).run()
    waited = [each.first_start // SECOND for each in results.jobs]
    assert waited == reference_starts(jobs, 32, strict=policy is Baseline.FIFO)
    assert max(start - each.submit // SECOND for start, each in zip(waited, jobs, strict=True)) > 600


@pytest.mark.parametrize("seed", range(3))
def test_the_solver_with_one_queue_equals_an_independent_first_that_fits(seed):
    jobs = queue_like_jobs(seed, 250)
    run = run_input(jobs, (1, 32), ALLOCATE, AT_ONCE)
    results = Simulation(run.cluster, run.trace.jobs, AT_ONCE, solver(ALLOCATE)).run()
    assert [each.first_start // SECOND for each in results.jobs] == reference_starts(jobs, 32, strict=False)

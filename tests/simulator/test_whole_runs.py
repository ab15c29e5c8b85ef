"""Whole runs on random clusters: independent checks, the service, exact balance, determinism."""

from dataclasses import replace

import pytest
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Simulation
from tenure.terms.durations import SECOND, parse_duration

from tests.checker.rules.min_runtime import RuntimeGuards
from tests.server.servers import run_server
from tests.simulator.played import (
    CheckedDecider,
    ComparingDecider,
    ServiceDecider,
    WholeDecider,
    random_jobs,
    run_input,
    solver,
    with_minimum,
)

MINIMUM = "10m"
GUARDS = RuntimeGuards(default_preempt=600 * SECOND, default_reclaim=600 * SECOND)
FAILING = RunSettings(
    seed=5, node_failure_interval=parse_duration("1h"), node_repair_time=parse_duration("10m")
)
SLOW = RunSettings(start_delay=20 * SECOND, cycle_period=15 * SECOND, termination_time=45 * SECOND)


def simulate(run, decider):
    return Simulation(run.cluster, run.trace.jobs, run.settings, decider).run()


@pytest.mark.parametrize(
    ("seed", "settings"),
    [
        pytest.param(0, RunSettings(), id="plain"),
        pytest.param(1, SLOW, id="slow", marks=pytest.mark.long),
        pytest.param(2, FAILING, id="failing nodes", marks=pytest.mark.long),
    ],
)
def test_the_service_and_whole_snapshots_decide_the_same_and_every_cycle_is_sound(seed, settings):
    profile = with_minimum(MINIMUM)
    run = run_input(random_jobs(seed), (3, 4), profile, settings)
    with run_server(Engine(profile)) as (_, address), Client(address) as client:
        checked = CheckedDecider(ServiceDecider(client), GUARDS)
        compared = ComparingDecider(checked, solver(profile), WholeDecider(profile))
        results = simulate(run, compared)
    assert compared.differences == []
    assert checked.problems == []
    assert compared.cycles > 60
    assert checked.checker.seen["evictions"] > 0
    assert checked.checker.seen["binds"] > 40
    assert checked.checker.seen["pending gangs"] > 0
    assert (results.node_failures > 0) == (settings is FAILING)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(RunSettings(), id="plain"),
        pytest.param(SLOW, id="slow", marks=pytest.mark.long),
        pytest.param(FAILING, id="failing nodes", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("seed", [10])
def test_gpu_seconds_balance_exactly(seed, settings):
    results = simulate(run_input(random_jobs(seed), (3, 4), settings=settings), solver())
    times = [result.gpu_times for result in results.jobs]
    assert sum(each.total for each in times) == results.used <= results.usable
    assert sum(each.lost for each in times) > 0
    for result in results.jobs:
        work = result.job.runtime * result.job.pods
        if result.end is not None:
            assert work <= result.times.kept < work + result.job.pods
        assert result.times.kept == sum(s.kept for s in results.segments if s.job == result.job.name)


@pytest.mark.parametrize("seed", [20])
def test_cycles_that_are_skipped_would_have_decided_nothing(seed):
    run = run_input(random_jobs(seed, 25), (3, 4))
    skipped = simulate(run, solver())
    every = simulate(replace(run, settings=replace(run.settings, every_cycle=True)), solver())
    assert skipped.skipped_cycles > 0
    assert every.skipped_cycles == 0
    assert skipped.cycles < every.cycles
    assert skipped.segments == every.segments
    assert skipped.jobs == every.jobs


def test_a_run_is_deterministic():
    run = run_input(random_jobs(1, 20), (3, 4), settings=FAILING)
    assert simulate(run, solver()) == simulate(run, solver())


def test_another_seed_fails_other_nodes():
    runs = [
        simulate(run_input(random_jobs(1, 20), (3, 4), settings=replace(FAILING, seed=seed)), solver())
        for seed in (5, 6)
    ]
    assert runs[0].segments != runs[1].segments

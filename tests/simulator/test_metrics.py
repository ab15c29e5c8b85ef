"""Metrics of a run whose figures are computed by hand."""

from dataclasses import replace

import pytest
from tenure.simulator.jobs import FROM_ZERO
from tenure.simulator.metrics import summarize
from tenure.simulator.protections import MinRuntimes, NoticesOfRun, find_violations
from tenure.simulator.results import Eviction
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.terms.durations import SECOND
from tenure.terms.preemptibility import Preemptibility
from tenure.v1.snapshot_pb2 import Queue

from tests.simulator.played import job, run_input

MINUTE = 60
NOW = 100_000 * SECOND

NON_PREEMPTIBLE, SEMI_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE, Preemptibility.SEMI_PREEMPTIBLE


def contested(**changes):
    """Queue a fills the cluster; an hour and 50 s later queue b reclaims its half for 30 minutes."""
    jobs = [job("a", 0, 200 * MINUTE, 8, "a", **changes), job("b", 3_650, 30 * MINUTE, 4, "b")]
    return play(run_input(jobs, (1, 8), settings=RunSettings(termination_time=30 * SECOND)))


def test_a_reclaimed_job_pays_for_lost_work_restart_and_termination():
    run = contested()
    a, b = run.results.jobs
    # a runs 3,650 s and keeps two checkpoints of 30 min: 50 s are lost on 8 GPUs. b starts 31 s later: the
    # eviction takes 30 s, and the next cycle binds. a waits for b, restarts for 60 s and has 8,400 s left.
    assert [(s.job, s.start // SECOND, s.end // SECOND, s.why) for s in run.results.segments] == [
        ("a", 0, 3_650, "reclaim"),
        ("b", 3_680, 5_480, "completed"),
        ("a", 5_480, 5_480 + 60 + 8_400, "completed"),
    ]
    assert b.first_start == 3_680 * SECOND
    cluster, all_jobs = run.metrics["cluster"], run.metrics["all"]
    assert cluster["lost"] == pytest.approx(8 * 50 / 3_600)
    assert cluster["overhead"] == pytest.approx(8 * 60 / 3_600)
    assert cluster["terminating"] == pytest.approx(8 * 30 / 3_600)
    assert cluster["kept"] == pytest.approx((8 * 200 + 4 * 30) / 60)
    assert cluster["idle"] == pytest.approx(4 * 0.5)
    assert cluster["unbalanced_milli_gpu_ns"] == 0
    assert cluster["makespan"] == 13_940
    assert cluster["goodput"] == pytest.approx((8 * 12_000 + 4 * 1_800) / (8 * 13_940))
    assert all_jobs["wait"]["max"] == 30
    assert all_jobs["total_wait"]["max"] == 5_480 - 3_650
    assert all_jobs["bounded_slowdown"]["max"] == pytest.approx(13_940 / 12_000)
    assert a.evictions == run.metrics["evictions"]["evictions"] == 1
    assert run.metrics["evictions"]["by_action"] == {"reclaim": 1}
    # Succeeded: one full hour, two of the second segment of a, two completions. Failed: one.
    assert run.metrics["evictions"]["eviction_rate_gfs"] == pytest.approx(1 / 6)
    assert run.metrics["evictions"]["in_vain"] == 0


@pytest.mark.parametrize(
    ("interval", "lost", "barren"),
    [(0, 0, 0), (FROM_ZERO, 3_650, 1), (3_700 * SECOND, 3_650, 1), (SECOND, 0, 0)],
)
def test_a_checkpoint_interval_says_what_is_lost(interval, lost, barren):
    run = contested(checkpoint_interval=interval)
    assert run.metrics["cluster"]["lost"] == pytest.approx(8 * lost / 3_600)
    assert run.metrics["evictions"]["barren_segments"] == barren


def test_fragmentation_is_the_mean_over_the_first_cycles_of_hours_r3_87():
    """Cycles begin hours 0, 2 and 5. When b arrives in hour 2, narrow jobs have half of the node."""
    jobs = [job(f"a{i}", 0, 300 * MINUTE, 1, "a") for i in range(4)]
    jobs += [job("b", 2 * 3_600 + 5, 60, 8, "b")]
    run = play(run_input(jobs, (1, 8), settings=RunSettings()))
    cluster = run.metrics["cluster"]
    # Free are 8, 4 and 8 GPUs. Only the 4 are too few for b, which is one of the five pods of the mix.
    assert [sample.free_gpu_milli for sample in run.results.samples] == [8_000, 4_000, 8_000]
    assert cluster["fragmentation"] == pytest.approx(4 / 5 / (8 + 4 + 8))
    assert cluster["unusable_no_gpu"] == pytest.approx(4 / 5 / 3)
    assert cluster["unusable_no_cpu"] == cluster["unusable_neither"] == cluster["unusable_other_kind"] == 0


def test_a_queue_without_its_entitlement_is_short():
    queues = contested().metrics["queues"]
    # b is entitled to 4 GPUs from its arrival on and gets them 30 s later; it needs 1,800 s.
    assert queues["b"]["entitled"] == pytest.approx(4 * 1_830 / 3_600)
    assert queues["b"]["shortfall"] == pytest.approx(30 / 1_830)
    assert queues["b"]["longest_below"] == 30


def test_jobs_that_never_start_and_those_that_are_cut_are_counted():
    run_of = run_input([job("a", 0, 600, 8), job("b", 10, 600, 8)], settings=RunSettings())
    jobs = play(replace(run_of, until=300 * SECOND)).metrics
    assert jobs["jobs"] == {"submitted": 2, "started": 1, "completed": 0, "never_started": 1}
    assert jobs["cluster"]["unsaved"] == pytest.approx(8 * 300 / 3_600)


def test_jobs_that_were_not_submitted_when_the_run_was_cut_are_not_counted():
    run = run_input([job("a", 0, 600), job("b", 299, 600), job("c", 301, 600)])
    played = play(replace(run, until=300 * SECOND)).metrics
    assert played["jobs"] == {"submitted": 2, "started": 2, "completed": 0, "never_started": 0}


def test_jobs_are_summed_up_by_priority():
    jobs = [job("a", 0, 600, 8), job("b", 10, 60, 8, priority=125), job("c", 10, 60, 8, priority=75)]
    found = play(run_input(jobs)).metrics["by_priority"]
    # b preempts a, which takes 30 s to terminate; c follows b, and a comes last.
    waits = {name: group["wait"]["mean"] for name, group in found.items()}
    assert waits == {"125": 30, "50": 0, "75": 90}
    assert {name: group["evictions"] for name, group in found.items()} == {"125": 0, "50": 1, "75": 0}


def test_quantiles_are_nearest_rank_and_weighted():
    found = summarize([5, 1, 2, 3, 4], [0, 10, 0, 0, 90])
    assert [found[key] for key in ("count", "mean", "p50", "p90", "max")] == [5, 3, 3, 5, 5]
    assert [found[key] for key in ("weighted_p50", "weighted_p90")] == [4, 4]
    assert summarize([], []) == {"count": 0}


def eviction(action="reclaim", ran=300, left=0, beneficiary="other"):
    return Eviction(NOW, "victim", 1, beneficiary, action, "id", NOW - ran * SECOND, left)


QUEUES = [Queue(name="top"), Queue(name="a", parent="top"), Queue(name="b", parent="top")]


@pytest.mark.parametrize(
    ("victim", "found", "queue", "rule"),
    [
        ({}, eviction(ran=599), {}, "it ran for 9m59s of its minimum runtime of 10m"),
        ({}, eviction(ran=600), {}, None),
        ({}, eviction(ran=0, left=1), {}, None),
        ({}, eviction(action="stalegangeviction", ran=0), {}, None),
        ({}, eviction(ran=100), {"reclaim_min_runtime": 0}, None),
        ({}, eviction(ran=100), {"reclaim_min_runtime": 60}, None),
        (
            {},
            eviction(ran=700),
            {"reclaim_min_runtime": 900},
            "it ran for 11m40s of its minimum runtime of 15m",
        ),
        (
            {},
            eviction("preempt", 299, beneficiary="same"),
            {},
            "it ran for 4m59s of its minimum runtime of 5m",
        ),
        (
            {"preemptibility": NON_PREEMPTIBLE},
            eviction(ran=10**4),
            {},
            "it is non-preemptible",
        ),
        ({"preemptibility": SEMI_PREEMPTIBLE}, eviction(ran=10**4, left=1), {}, None),
        (
            {"preemptibility": SEMI_PREEMPTIBLE},
            eviction(ran=10**4),
            {},
            "it is semi-preemptible and lost pods of its minimum",
        ),
    ],
)
def test_a_protection_that_was_not_kept_is_found_from_the_inputs(victim, found, queue, rule):
    jobs = [
        job("victim", 0, 10**5, pods=2, min_member=1, **victim),
        job("other", 0, 1, queue="b", pods=1),
        job("same", 0, 1, pods=1),
    ]
    queues = [Queue.FromString(each.SerializeToString()) for each in QUEUES]
    for key, value in queue.items():
        getattr(queues[1], key).seconds = value
    none = NoticesOfRun(())
    minimums = MinRuntimes(preempt=300 * SECOND, reclaim=600 * SECOND)
    rules = [violation.rule for violation in find_violations(jobs, queues, [found], minimums, none)]
    assert rules == ([] if rule is None else [rule])

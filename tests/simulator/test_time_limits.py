"""Time limits of a trace: what they tell the solver, and what ends at them (R17.1, R19.20)."""

from dataclasses import replace

import pytest
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Simulation
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import CERTAINTY_BOUNDED, FATE_REQUEUE

from tests.simulator.played import CheckedDecider, job, run_input, solver

HOUR = 3_600
PLAIN = default_profile()
LIMITED = replace(PLAIN, actions=("timelimit", *PLAIN.actions))
RESERVING = replace(PLAIN, plugins=(*PLAIN.plugins, PluginConfig("reservation", {"minWait": "0s"})))
SETTINGS = RunSettings(termination_time=30 * SECOND, checkpoint_interval=0, restart_overhead=0)


def segments(run):
    """Job, begin and end in seconds, and why it ended."""
    return [(each.job, each.start // SECOND, each.end // SECOND, each.why) for each in run.results.segments]


def ends(run):
    return {each.job.name: each.end and each.end // SECOND for each in run.results.jobs}


@pytest.mark.parametrize("has_others", [False, True], ids=["nothing waits", "another one waits"])
def test_job_beyond_its_limit_is_stopped_and_held(has_others):
    others = [job("next", 60, 600)] if has_others else []
    run = play(
        run_input([job("long", 0, 2 * HOUR, time_limit=HOUR * SECOND), *others], (1, 1), LIMITED, SETTINGS)
    )
    assert segments(run)[0] == ("long", 0, HOUR, "timelimit")
    assert ends(run) == {"long": None, **({"next": HOUR + 30 + 600} if has_others else {})}
    assert run.violations == []


def test_job_within_its_limit_is_not_stopped():
    run = play(run_input([job("short", 0, HOUR - 1, time_limit=HOUR * SECOND)], (1, 1), LIMITED, SETTINGS))
    assert segments(run) == [("short", 0, HOUR - 1, "completed")]


def test_limit_counts_from_each_start_where_the_queue_requeues():
    played = run_input([job("long", 0, 2 * HOUR, time_limit=HOUR * SECOND)], (1, 1), LIMITED, SETTINGS)
    for queue in played.cluster.queues:
        queue.on_time_limit = FATE_REQUEUE
    assert segments(play(played)) == [
        ("long", 0, HOUR, "timelimit"),
        ("long", HOUR + 30, 2 * HOUR + 30, "completed"),
    ]


def test_without_the_action_a_limit_stops_nothing():
    run = play(run_input([job("long", 0, 2 * HOUR, time_limit=HOUR * SECOND)], (1, 1), PLAIN, SETTINGS))
    assert segments(run) == [("long", 0, 2 * HOUR, "completed")]


def test_planned_start_relies_on_the_limits_of_the_trace():
    jobs = [job("first", 0, 600, time_limit=HOUR * SECOND), job("big", 60, 600, gpus=2)]
    played = run_input(jobs, (1, 2), RESERVING, SETTINGS)
    decider = CheckedDecider(solver(RESERVING))
    Simulation(played.cluster, played.trace.jobs, played.settings, decider).run()
    planned = [each for response in decider.responses for each in response.planned_starts]
    assert {(each.pod_group, each.start_time.seconds, each.certainty) for each in planned} == {
        ("big", HOUR, CERTAINTY_BOUNDED)
    }
    assert decider.problems == []

"""Notices in a run: a job that is told runs on until its eviction, and loses what it did not save."""

from dataclasses import replace

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.simulator.jobs import FROM_ZERO
from tenure.simulator.protections import NoticesOfRun, find_violations
from tenure.simulator.report.stories import collect_stories
from tenure.simulator.results import ENDED, EVICTED, OPEN, WITHDRAWN, Eviction, Notice
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Simulation
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.terms.preemptibility import Preemptibility
from tenure.v1.snapshot_pb2 import Queue

from tests.simulator.played import CheckedDecider, WholeDecider, job, noticed_jobs, run_input, solver

MINUTE = 60
HOUR = 3_600
LONGEST = HOUR * SECOND
PLAIN = default_profile()
NOTICES = replace(PLAIN, options=replace(PLAIN.options, max_notice=LONGEST))
CYCLE = 1
"""Seconds between two cycles."""
AT = 50 * MINUTE
"""When an urgent job arrives that needs the GPU of another one, in seconds."""


SHORT = job("short", 0, AT + 60, preemptibility=Preemptibility.NON_PREEMPTIBLE)
"""Has a GPU until shortly after that."""


def contested(notice=2 * MINUTE, policy=NOTICES, settings=None, others=(), runtime=3 * HOUR, **changes):
    """`long` has one of the GPUs, and `urgent` of higher priority wants it; both are in one queue."""
    if notice is not None:
        changes["notice"] = notice * SECOND
    jobs = [
        job("long", 0, runtime, checkpoint_interval=HOUR * SECOND, **changes),
        *others,
        job("urgent", AT, 10 * MINUTE, priority=75),
    ]
    return run_input(
        jobs, (1, 1 + len(others)), policy, settings or RunSettings(termination_time=30 * SECOND)
    )


def notices(run):
    """Victim, time of the notice, of the eviction and of the end in seconds, and result."""
    return [
        (n.victim, n.time // SECOND, n.evict_time // SECOND, n.end and n.end // SECOND, n.result)
        for n in run.results.notices
    ]


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        pytest.param({}, 52 * MINUTE, id="no checkpoint on notice: all since the last one, and the notice"),
        pytest.param({"checkpoint_on_notice": True}, CYCLE, id="checkpoint on notice: until the next cycle"),
        pytest.param({"policy": PLAIN, "checkpoint_on_notice": True}, AT, id="no notices: its hour"),
        pytest.param({"notice": 15 * MINUTE}, 5 * MINUTE, id="a checkpoint at an interval in the notice"),
        pytest.param(
            {"notice": None, "settings": RunSettings(notice=60 * SECOND, checkpoint_on_notice=True)},
            CYCLE,
            id="of the run",
        ),
    ],
)
def test_job_that_saves_its_work_on_notice_loses_its_seconds_not_its_hour(changes, lost):
    run = play(contested(**changes))
    (first, *_) = run.results.segments
    assert (first.job, first.why, first.lost // SECOND) == ("long", "preempt", lost)
    assert first.kept + first.lost == first.end - first.start
    assert run.violations == []
    assert run.metrics["cluster"]["lost"] == lost / HOUR
    assert run.metrics["cluster"]["unbalanced_milli_gpu_ns"] == 0
    (ended,) = [each for each in run.results.jobs if each.job.name == "long"]
    assert ended.times.kept == 3 * HOUR * SECOND


def test_work_that_was_saved_on_notice_is_kept_after_later_evictions():
    run = contested(checkpoint_on_notice=True)
    jobs = [each._replace(checkpoint_interval=FROM_ZERO) for each in run.trace.jobs]
    jobs.append(job("later", 3 * HOUR, 10 * MINUTE, priority=75))
    segments = play(run_input(jobs, (1, 1), NOTICES)).results.segments
    mine = [each for each in segments if each.job == "long"]
    assert [each.why for each in mine] == ["preempt", "preempt", "completed"]
    assert sum(each.kept for each in mine) == 3 * HOUR * SECOND
    assert [each.lost // SECOND for each in mine] == [CYCLE, CYCLE, 0]


def test_job_that_saved_its_work_runs_on_until_the_other_victims_are_ready():
    jobs = [
        job("saves", 0, 3 * HOUR, notice=60 * SECOND, checkpoint_on_notice=True),
        job("slow", 0, 3 * HOUR, notice=120 * SECOND),
        job("urgent", AT, 10 * MINUTE, 2, priority=75),
    ]
    run = play(run_input(jobs, (1, 2), NOTICES))
    assert notices(run) == [(name, AT, AT + 120, AT + 120, EVICTED) for name in ("saves", "slow")]
    lost = {each.job: each.lost // SECOND for each in run.results.segments if each.why == "preempt"}
    assert lost == {"saves": 2 * MINUTE, "slow": 22 * MINUTE}
    assert run.violations == []


def test_job_runs_until_its_notice_is_over_and_its_preemptor_starts_when_it_has_terminated():
    run = play(contested())
    assert notices(run) == [("long", AT, AT + 120, AT + 120, EVICTED)]
    (eviction,) = run.results.evictions
    assert eviction.time == (AT + 120) * SECOND
    (urgent,) = [each for each in run.results.jobs if each.job.name == "urgent"]
    assert urgent.first_start == (AT + 150) * SECOND


def test_notice_is_withdrawn_when_its_preemptor_starts_elsewhere():
    run = play(contested(others=[SHORT]))
    assert notices(run) == [("long", AT, AT + 120, AT + 60, WITHDRAWN)]
    assert run.results.evictions == []
    assert [run.metrics["evictions"][f"notices_{key}"] for key in ("given", "withdrawn", "carried_out")] == [
        *(1, 1, 0)
    ]


def test_job_that_ends_by_itself_ends_its_notice():
    run = play(contested(runtime=AT + 60))
    assert notices(run) == [("long", AT, AT + 120, AT + 60, ENDED)]
    assert run.results.evictions == []


def test_notice_that_stands_when_the_run_ends_is_open():
    run = play(replace(contested(), until=(AT + 60) * SECOND))
    assert notices(run) == [("long", AT, AT + 120, None, OPEN)]


def test_notice_of_the_queue_counts_without_one_of_the_job():
    run = contested(notice=None)
    run.cluster.queues[0].notice.CopyFrom(Duration(seconds=30))
    assert notices(play(run)) == [("long", AT, AT + 30, AT + 30, EVICTED)]


def test_notice_of_the_profile_counts_without_one_of_the_queue():
    policy = replace(NOTICES, options=replace(NOTICES.options, default_notice=45 * SECOND))
    run = play(contested(notice=None, policy=policy))
    assert notices(run) == [("long", AT, AT + 45, AT + 45, EVICTED)]
    assert run.violations == []


def test_the_stories_of_both_jobs_tell_the_notice():
    told = {
        story.title.split(":")[0]: [text for _, text in story.events]
        for story in collect_stories(play(contested()))
    }
    end = "1970-01-01 00:52:00"
    assert f"given notice: preempt evicts it for urgent at {end}" in told["long"]
    assert "evicted for urgent by preempt" in told["long"]
    assert f"waits for long, which has notice until {end}" in told["urgent"]
    withdrawn = collect_stories(play(contested(others=[SHORT])))
    assert "notice withdrawn: it is not evicted for urgent" in [
        text for story in withdrawn for _, text in story.events
    ]


EVICTION = Eviction(1_000 * SECOND, "victim", 1, "other", "preempt", "g2", 0, 0)
NOTICE = Notice(880 * SECOND, "victim", 1, "other", "preempt", "g1", 1_000 * SECOND, 1_000 * SECOND, EVICTED)
SPARED = NOTICE._replace(end=990 * SECOND, result=WITHDRAWN)


@pytest.mark.parametrize(
    ("of_job", "of_queue", "saves", "given", "rule"),
    [
        (120, None, False, [NOTICE], None),
        (121, None, False, [NOTICE], "it had notice for 2m, and its notice is 2m1s"),
        (120, None, False, [], "it was not given its notice of 2m"),
        (120, None, False, [SPARED], "it was not given its notice of 2m"),
        (120, None, False, [NOTICE._replace(victim="same")], "it was not given its notice of 2m"),
        (150, None, True, [NOTICE], None),
        (150, None, True, [], "it was not given its notice of 2m30s"),
        (0, 120, False, [], None),
        (None, 120, False, [], "it was not given its notice of 2m"),
        (None, None, False, [], None),
        (3 * HOUR, None, False, [NOTICE], "it had notice for 2m, and its notice is 1h"),
    ],
)
def test_an_eviction_before_its_notice_is_over_is_found_from_the_inputs(of_job, of_queue, saves, given, rule):
    own = None if of_job is None else of_job * SECOND
    jobs = [
        job("victim", 0, 10**5, pods=1, notice=own),
        job("other", 0, 1, pods=1),
        job("same", 0, 1, pods=1),
    ]
    queues = [Queue(name="a", notice=None if of_queue is None else Duration(seconds=of_queue))]
    found = find_violations(
        jobs, queues, [EVICTION], None, NoticesOfRun(given, longest=LONGEST, are_saving=saves)
    )
    assert [each.rule for each in found] == ([] if rule is None else [rule])


@pytest.mark.parametrize(("of_queue", "rules"), [(None, ["it was not given its notice of 45s"]), (0, [])])
def test_an_eviction_without_the_notice_of_the_profile_is_found_from_the_inputs(of_queue, rules):
    jobs = [job("victim", 0, 10**5, pods=1), job("other", 0, 1, pods=1)]
    queues = [Queue(name="a", notice=None if of_queue is None else Duration(seconds=of_queue))]
    of_run = NoticesOfRun((), fallback=45 * SECOND, longest=LONGEST)
    assert [each.rule for each in find_violations(jobs, queues, [EVICTION], None, of_run)] == rules


@pytest.mark.parametrize(
    ("seed", "jobs", "choice"),
    [
        (31, 24, "least"),
        *[
            pytest.param(seed, 45, choice, marks=pytest.mark.long)
            for seed, choice in ((32, "least"), (33, "inOrder"), (34, "least"))
        ],
    ],
)
def test_whole_runs_evict_no_job_before_its_notice_is_over(seed, jobs, choice):
    """With 45 jobs, notices are withdrawn, too: seed 33 has some with victims in order only."""
    profile = replace(NOTICES, options=replace(NOTICES.options, victim_choice=choice))
    run = run_input(noticed_jobs(seed, jobs), (2, 4), profile)
    checked = CheckedDecider(solver(profile), longest_notice=LONGEST)
    results = Simulation(run.cluster, run.trace.jobs, run.settings, checked).run()
    assert checked.problems == []
    assert results.cycles < 6 * jobs  # nothing is decided again and again while notices stand
    seen = checked.checker.seen
    assert min(seen["notices"], seen["evictions before the end of a notice"]) > 0
    assert seen["evictions after notice"] > seen["evictions before the end of a notice"]
    assert jobs < 45 or seen["notices withdrawn"] > 0
    assert sum(each.total for each in (result.gpu_times for result in results.jobs)) == results.used
    whole = Simulation(run.cluster, run.trace.jobs, run.settings, WholeDecider(profile)).run()
    assert (whole.notices, whole.evictions, whole.segments) == (
        results.notices,
        results.evictions,
        results.segments,
    )

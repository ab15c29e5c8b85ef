"""Generated traces: rates, day and week, seeds, and errors that name the field."""

from datetime import UTC, datetime

import pytest
from tenure.simulator.jobs import TraceError
from tenure.simulator.traces.formats import TraceFormat, read_trace
from tenure.simulator.traces.generated import generate
from tenure.terms.durations import SECOND

GROUP = {"queue": "a", "perHour": 60, "runtime": "30m"}


def description(**changes):
    return {"seed": 1, "days": 14, "jobs": [{**GROUP, **changes}]}


def test_the_number_of_jobs_follows_the_rate():
    jobs = generate(description()).jobs
    assert abs(len(jobs) - 60 * 24 * 14) < 600
    assert {job.runtime for job in jobs} == {1800 * SECOND}


def test_what_owners_say_is_that_of_the_group():
    (first, *_) = generate(description(expectedRuntime="1h", timeLimit="4h")).jobs
    assert (first.expected_runtime, first.time_limit) == (3_600 * SECOND, 14_400 * SECOND)
    with pytest.raises(TraceError, match="timeLimit"):
        generate(description(timeLimit="0s"))


def test_the_same_seed_gives_the_same_jobs_and_another_seed_others():
    assert generate(description()) == generate(description())
    assert generate(description()).jobs != generate(description(), seed=2).jobs


def test_a_group_keeps_its_jobs_when_another_one_changes():
    def of_a(other):
        jobs = generate({"days": 1, "jobs": [GROUP, {**GROUP, "queue": "b", "perHour": other}]}).jobs
        return [job for job in jobs if job.queue == "a"]

    assert of_a(5) == of_a(50)


def test_arrivals_follow_day_and_week():
    jobs = generate(description(dayNight=0.9, weekend=0.2)).jobs
    moments = [datetime.fromtimestamp(job.submit // SECOND, UTC) for job in jobs]
    days = [moment for moment in moments if moment.weekday() < 5]
    afternoon = sum(12 <= moment.hour < 16 for moment in days)
    night = sum(moment.hour < 4 for moment in days)
    assert afternoon > 5 * night
    assert (len(moments) - len(days)) / len(days) < 0.15


def test_the_spread_is_the_factor_to_the_84th_percentile():
    runtimes = sorted(job.runtime for job in generate(description(spread=3)).jobs)
    assert 2.7 < runtimes[int(len(runtimes) * 0.8413)] / runtimes[len(runtimes) // 2] < 3.3


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "days: Field required"),
        ([], "the description: "),
        (description(perHour=0), "jobs.0.perHour: "),
        (description(runtime="soon"), "jobs.0.runtime: "),
        (description(gpus={0: 1}), "jobs.0.gpus.0"),
        (description(colour="red"), "jobs.0.colour: "),
        (description(preemptibility="often"), "jobs.0.preemptibility: use one of"),
        (description(perHour=100_000), "jobs: these are more than 2000000 jobs"),
    ],
)
def test_an_error_names_the_field(content, problem):
    with pytest.raises(TraceError) as raised:
        generate(content)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        (
            "a.csv",
            "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66,b\n",
            "philly",
        ),
        ("a.txt", "; Version: 2\n1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n", "swf"),
        ("a.yaml", "days: 1\njobs: [{queue: a, perHour: 5, runtime: 1m}]\n", "generated"),
    ],
)
def test_the_format_is_inferred(tmp_path, name, content, form):
    path = tmp_path / name
    path.write_text(content)
    assert read_trace(path)[0] is TraceFormat(form)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", b"a,b\n1,2\n", "cannot infer the format"),
        ("a.swf", b"; Version: 2\n1 2\n", "no line is a job .swf format.; line 2: has 2 fields"),
        ("a.swf", b"\xff", "byte 0 is not valid UTF-8"),
        ("a.yaml", b"a: [", "is not YAML"),
    ],
)
def test_a_file_that_is_no_trace_is_an_error_with_its_name(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError, match=f"{name}: {problem}"):
        read_trace(path)


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(TraceError, match=r"none\.csv: No such file"):
        read_trace(tmp_path / "none.csv")

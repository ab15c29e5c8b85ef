"""SWF: 18 fields, header lines, unknown values, parts of preempted jobs, bad lines."""

import pytest
from tenure.simulator.traces.swf import parse_line, read_swf
from tenure.terms.durations import SECOND

HEADER = "; UnixStartTime: 1000000\n; MaxProcs: 128\n; MaxNodes: 16\n; Note: a cluster\n"


def line(
    number=1, submit=5, run=60, allocated=4, requested=8, limit=120, status=1, group=7, queue=3, fields=18
) -> str:
    values = [
        number,
        submit,
        10,
        run,
        allocated,
        55.5,
        -1,
        requested,
        limit,
        -1,
        status,
        1,
        group,
        1,
        queue,
        1,
        -1,
        -1,
    ]
    return " ".join(map(str, values[:fields]))


def read(*lines: str):
    return read_swf((HEADER + "\n".join(lines)).splitlines())


def test_all_eighteen_fields_are_read():
    row = parse_line("1 2 3 4 5 6.5 7 8 9 10 1 12 13 14 15 16 17 18")
    assert tuple(row) == (1, 2, 3, 4, 5, 6.5, 7, 8, 9, 10, 1, 12, 13, 14, 15, 16, 17, 18)


def test_a_line_is_a_job():
    (job,) = read(line()).jobs
    assert (job.name, job.queue) == ("job-000000001", "queue-3")
    assert (job.submit, job.runtime) == (1_000_005 * SECOND, 60 * SECOND)
    assert (job.gpu_milli, job.expected_runtime) == (8_000, 120 * SECOND)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"requested": -1}, "gpu_milli", 4_000),
        ({"queue": -1}, "queue", "group-7"),
        ({"queue": -1, "group": -1}, "queue", "all"),
        ({"queue": 0}, "queue", "queue-0"),
        ({"limit": -1}, "expected_runtime", 0),
    ],
)
def test_unknown_values_have_a_substitute_or_a_default(changes, field, value):
    (job,) = read(line(**changes)).jobs
    assert getattr(job, field) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (line(fields=17), "has 17 fields instead of 18"),
        (line() + " 9", "has 19 fields instead of 18"),
        (line().replace("60", "an hour", 1), "has 19 fields instead of 18"),
        (line(run="x"), "field 4 (run) is not a number: 'x'"),
        (line(run="nan"), "field 4 (run) is not a number: 'nan'"),
        (line(allocated="2.5"), "field 5 (processors) is not a whole number: '2.5'"),
        (line(run=-1), "job 1 has no run time (field 4)"),
        (line(submit=-1), "job 1 has no submit time (field 2)"),
        (line(allocated=-1, requested=-1), "job 1 has no number of processors (fields 8 and 5)"),
        (line(number=-1), "has no job number (field 1)"),
    ],
)
def test_a_bad_line_is_named_and_left_out(text, problem):
    trace = read(line(number=2), text)
    assert [job.name for job in trace.jobs] == ["job-000000002"]
    assert [(bad.line, bad.problem) for bad in trace.bad_lines] == [(6, problem)]


def test_a_job_that_is_listed_twice_is_played_once():
    trace = read(line(), line(run=90))
    assert [job.runtime for job in trace.jobs] == [60 * SECOND]
    assert trace.bad_lines[0].problem == "job 1 is listed twice"


def test_a_job_that_was_cancelled_before_it_ran_is_left_out():
    assert [job.name for job in read(line(status=5, run=0), line(number=2, status=5)).jobs] == [
        "job-000000002"
    ]


def test_parts_of_a_preempted_job_are_one_job():
    parts = [line(run=20, status=2), line(run=30, status=3)]
    assert [job.runtime for job in read(*parts, line(run=50)).jobs] == [50 * SECOND]
    assert [job.runtime for job in read(*parts).jobs] == [50 * SECOND]


def test_only_the_first_part_of_a_preempted_job_has_a_submit_time():
    parts = [line(run=20, status=2), line(submit=-1, run=30, status=2), line(submit=-1, run=5, status=3)]
    for whole in ([], [line(run=55)]):
        trace = read(*whole, *parts)
        assert [(job.submit, job.runtime) for job in trace.jobs] == [(1_000_005 * SECOND, 55 * SECOND)]
        assert trace.bad_lines == []


def test_times_may_have_fractions():
    (job,) = read(line(submit=5.25, run="60.5", limit=120.0)).jobs
    assert job.submit == 1_000_005 * SECOND + SECOND // 4
    assert (job.runtime, job.expected_runtime) == (60 * SECOND + SECOND // 2, 120 * SECOND)


def test_the_header_gives_the_cluster():
    trace = read(line())
    assert (trace.nodes, trace.node_gpus) == (16, 8)
    assert read_swf([line()]).nodes is None


def test_lines_are_played_in_order_of_submission():
    trace = read(line(number=1, submit=9), line(number=2, submit=3), line(number=3, submit=3))
    assert [job.name[-1] for job in trace.jobs] == ["2", "3", "1"]

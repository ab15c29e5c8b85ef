"""CSV traces: Philly, openb, spot, our own; bad lines are named and left out."""

import re
from io import StringIO
from pathlib import Path

import pytest
from tenure.simulator.cluster import equal_nodes
from tenure.simulator.fitting import fit_jobs
from tenure.simulator.jobs import FROM_ZERO, BadLine, Job, TraceError
from tenure.simulator.traces.formats import TraceFormat, read_trace
from tenure.simulator.traces.itp import read_itp
from tenure.simulator.traces.openb import NOTES, read_openb
from tenure.simulator.traces.own import read_own, write_own
from tenure.simulator.traces.philly import read_philly
from tenure.simulator.traces.spot import COLUMNS as SPOT_COLUMNS
from tenure.simulator.traces.spot import read_spot
from tenure.terms.durations import SECOND
from tenure.terms.preemptibility import Preemptibility

NON_PREEMPTIBLE, SEMI_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE, Preemptibility.SEMI_PREEMPTIBLE

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
OWN = (
    "job,queue,submit,runtime,gpus,pods,priority,preemptibility,min_member,expected_runtime,"
    "checkpoint_interval"
)
LATER = "notice,checkpoint_on_notice,time_limit,cpu,memory,gpu_kind"
SPOT = ",".join(SPOT_COLUMNS)


def test_philly_rows_are_jobs_in_order_of_submission():
    trace = read_philly([PHILLY, "2017-10-09 07:01:55,66.0,1,66.0,b", "2017-10-09 06:13:03,2951.5,8,1,a", ""])
    assert [(job.name, job.queue, job.gpu_milli) for job in trace.jobs] == [
        ("job-0000003", "a", 8_000),
        ("job-0000002", "b", 1_000),
    ]
    assert (trace.jobs[0].submit, trace.jobs[0].runtime) == (1_507_529_583 * SECOND, 2951_500_000_000)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("2017-13-09 07:01:55,66.0,1,66.0,b", "timestamp '2017-13-09 07:01:55' is not YYYY-MM-DD HH:MM:SS"),
        ("2017-10-09T07:01:55,66.0,1,66.0,b", "timestamp '2017-10-09T07:01:55' is not YYYY-MM-DD HH:MM:SS"),
        ("2017-10-09 070155.12,6,1,66.0,b", "timestamp '2017-10-09 070155.12' is not YYYY-MM-DD HH:MM:SS"),
        ("1969-10-09 07:01:55,66.0,1,66.0,b", "timestamp '1969-10-09 07:01:55' is before 1970"),
        ("2017-10-09 07:01:55,-1,1,66.0,b", "'-1' is not a number of seconds"),
        ("2017-10-09 07:01:55,nan,1,66.0,b", "'nan' is not a number of seconds"),
        ("2017-10-09 07:01:55,1e9,1,66.0,b", "'1e9' is not a number of seconds"),
        ("2017-10-09 07:01:55,99999999999,1,66.0,b", "'99999999999' is more than 10000000000 seconds"),
        ("2017-10-09 07:01:55,66.0,0,66.0,b", "num_gpus '0' is not a whole number from 1 to 1000000"),
        ("2017-10-09 07:01:55,66.0,1,66.0,", "cluster is empty"),
        ("2017-10-09 07:01:55,66.0,1,66.0", "has not the 5 values of the header"),
        ("2017-10-09 07:01:55,66.0,1,66.0,b,c", "has not the 5 values of the header"),
    ],
)
def test_a_bad_philly_line_is_named_and_left_out(row, problem):
    trace = read_philly([PHILLY, row, "2017-10-09 07:01:55,66.0,1,66.0,b"])
    assert len(trace.jobs) == 1
    assert [(bad.line, bad.problem) for bad in trace.bad_lines] == [(2, problem)]


def test_a_missing_column_is_an_error():
    with pytest.raises(TraceError, match="line 1 has no column cluster"):
        read_philly(["timestamp,duration,num_gpus,gpu_time"])


def test_openb_pods_run_from_scheduling_to_deletion():
    trace = read_openb([OPENB, "p,6000,1024,1,460,,LS,Running,10,100,30", "q,1,1,1,1000,,BE,Failed,10,100,"])
    (job,) = trace.jobs
    assert (job.submit, job.runtime, job.gpu_milli, job.queue) == (10 * SECOND, 70 * SECOND, 460, "LS")
    assert (job.cpu_milli, job.memory_bytes) == (6000, 1 << 30)
    assert trace.bad_lines[0].problem == "scheduled_time is empty: the run time is not known"


def test_spot_jobs_have_the_two_classes_and_a_pod_for_each_worker():
    rows = ["437260,57,A100,15,1,16,9589663,41060,Spot", "239255,13,A10,20,8.0,1,0,2764799,HP"]
    first, second = read_spot([SPOT, *rows]).jobs
    assert (first.name, first.queue, first.gpu_milli, first.pods) == ("239255", "A10", 8_000, 1)
    assert (first.priority, first.preemptibility, first.cpu_milli) == (
        125,
        Preemptibility.NON_PREEMPTIBLE,
        20_000,
    )
    assert (second.queue, second.gpu_milli, second.pods, second.least_pods) == ("A100", 1_000, 16, 16)
    assert (second.priority, second.preemptibility) == (50, Preemptibility.PREEMPTIBLE)
    assert (second.submit, second.runtime) == (9_589_663 * SECOND, 41_060 * SECOND)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("1,2,A10,20,1,1,0,60,Batch", "job_type 'Batch' is not one of HP, Spot"),
        ("1,2,A10,20,1,0,0,60,HP", "worker_num '0' is not a whole number from 1 to 1000000"),
        ("1,2,A10,20,x,1,0,60,HP", "gpu_request 'x' is not a whole number from 0 to 1000000"),
        ("1,2,,20,1,1,0,60,HP", "gpu_model is empty"),
        ("1,2,A10,20,1,1,0,,HP", "'' is not a number of seconds"),
    ],
)
def test_a_bad_spot_line_is_named(row, problem):
    assert read_spot([SPOT, row]).bad_lines == [BadLine(2, problem)]


def test_our_own_csv_keeps_every_property():
    jobs = [
        Job("a", "q", 5 * SECOND, 60 * SECOND, 500, 1),
        Job(
            "b",
            "q",
            6 * SECOND,
            1_500_000_000,
            8_000,
            4,
            2,
            75,
            Preemptibility.SEMI_PREEMPTIBLE,
            0,
            0,
            90 * SECOND,
            0,
        ),
        Job("c", "r", 7 * SECOND, SECOND, 16_000, checkpoint_interval=FROM_ZERO),
        Job("d", "r", 7 * SECOND, SECOND, 1_000, checkpoint_interval=600 * SECOND),
        Job("e", "r", 7 * SECOND, SECOND, 1_000, notice=90 * SECOND, checkpoint_on_notice=True),
        Job("f", "r", 7 * SECOND, SECOND, 1_000, notice=0, checkpoint_on_notice=False),
        Job("g", "r", 7 * SECOND, SECOND, 1_000, time_limit=3_600 * SECOND),
        Job("h", "r", 8 * SECOND, SECOND, 1_000, cpu_milli=1_500, memory_bytes=5 << 28, gpu_kinds=("A", "B")),
    ]
    file = StringIO()
    write_own(jobs, file)
    trace = read_own(file.getvalue().splitlines())
    assert (trace.jobs, trace.bad_lines) == (jobs, [])


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (",q,1,1,1,,,,,,", "job is empty"),
        ("a,q,1,1,1.5,,,,,,", "gpus '1.5' is neither a whole number nor a part of one GPU in thousandths"),
        ("a,q,1,1,NaN,,,,,,", "gpus 'NaN' is not a number"),
        ("a,q,1,1,1,,,often,,,", "preemptibility 'often' is not one of"),
        ("a,q,1,1,1,2,,,3,,", "min_member 3 is more than pods"),
        ("a,q,1,1,1,,high,,,,", "priority 'high' is not a whole number"),
    ],
)
def test_a_bad_line_of_our_own_csv_is_named(row, problem):
    (bad,) = read_own([OWN, row]).bad_lines
    assert bad.problem.startswith(problem)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ("soon,", "'soon' is not a number of seconds"),
        (",maybe", "checkpoint_on_notice 'maybe' is neither yes nor no"),
        (",,-1", "'-1' is not a number of seconds"),
        (",,0", "time_limit '0' ends a job at once; leave it empty for none"),
    ],
)
def test_a_bad_optional_value_of_our_own_csv_is_named(values, problem):
    padded = values + "," * (LATER.count(",") - values.count(","))
    trace = read_own([f"{OWN},{LATER}", f"a,q,1,1,1,,,,,,,{padded}", "b,q,1,1,1" + "," * 12])
    assert [each.problem for each in trace.bad_lines] == [problem]
    assert [each.name for each in trace.jobs] == ["b"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (",,,much,,", "cpu 'much' is not a number"),
        (",,,,-1,", "memory '-1' is not from 0 to 1000000"),
    ],
)
def test_a_bad_amount_of_our_own_csv_is_named(values, problem):
    rows = read_own([f"{OWN},{LATER}", f"a,q,1,1,1,,,,,,,{values}"])
    assert [each.problem for each in rows.bad_lines] == [problem]


def test_a_csv_of_jobs_needs_four_columns_and_names_those_that_it_ignores():
    trace = read_own(["user,job, submit,runtime,gpus", "ann,a,5,60,2"])
    (job,) = trace.jobs
    assert (job.name, job.queue, job.submit, job.runtime, job.gpu_milli, job.pods) == (
        *("a", "all", 5 * SECOND, 60 * SECOND),
        *(2_000, 0),
    )
    assert trace.notes == ("Columns that are not played: user.",)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("job,submit,gpus\na,1,1", "line 1 has no column runtime; expected job,submit,runtime,gpus"),
        ("Job,submit,runtime,gpus\na,1,1,1", "line 1 has no column job (job is written 'Job')"),
        ("job;submit;runtime;gpus\na;1;1;1", "line 1 is separated by semicolons; separate values by commas"),
        ("job\tsubmit\truntime\tgpus\na\t1\t1\t1", "line 1 is separated by tabs"),
        ("job,submit,runtime,gpus,gpus\na,1,1,1,1", "line 1 has the column gpus more than once"),
        ("name,age\na,1", "a CSV with the columns job,submit,runtime,gpus can be played"),
        ("timestamp,duration,num_gpus,gpu_time\n", "line 1 has no column cluster"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_by_name(tmp_path, content, problem):
    path = tmp_path / "jobs.csv"
    path.write_text(content)
    with pytest.raises(TraceError, match=re.escape(problem)):
        read_trace(path)


def test_a_byte_order_mark_is_skipped_and_said_or_refused_by_its_name(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job,submit,runtime,gpus\na,1,60,1", encoding="utf-8-sig")
    form, trace = read_trace(path)
    assert (form, [job.name for job in trace.jobs]) == (TraceFormat.JOBS, ["a"])
    assert trace.notes == ("The file begins with a byte order mark, which is skipped.",)
    path.write_text("job,submit,runtime,gpus\na,1,60,1", encoding="utf-16")
    with pytest.raises(TraceError, match="has the byte order mark of UTF-16; save it as UTF-8"):
        read_trace(path)


def test_itp_jobs_are_in_one_queue():
    (job,) = read_itp(["job_id,submission_time,duration,num_gpu", "930dd644,9940,16235,64"]).jobs
    assert (job.name, job.queue, job.gpu_milli) == ("930dd644", "all", 64_000)
    assert (job.submit, job.runtime) == (9_940 * SECOND, 16_235 * SECOND)


def test_openb_pods_keep_their_kinds_of_gpus():
    trace = read_openb(
        [OPENB, "p,6000,1024,1,1000,T4|P100,LS,Running,10,100,30", "q,1,1,0,0,T4,BE,Failed,1,2,1"]
    )
    assert [(job.name, job.gpu_kinds) for job in trace.jobs] == [("q", ()), ("p", ("P100", "T4"))]
    assert trace.notes == NOTES


def test_the_example_of_the_page_is_read():
    page = (Path(__file__).parents[3] / "docs/use/play.md").read_text()
    (example,) = re.findall(r"```text\n(job,.*?)```", page, re.DOTALL)
    jobs = read_own(example.splitlines()).jobs
    assert [(job.name, job.gpu_milli) for job in jobs] == [("train-1", 16_000), ("train-2", 1_000)]


def test_a_name_is_used_once():
    trace = read_own([OWN, "a,q,1,1,1,,,,,,", "a,q,2,1,1,,,,,,"])
    assert trace.bad_lines[0].problem == "the name 'a' is already used in line 2"


@pytest.mark.parametrize(
    ("gpus", "pods", "each"), [(1, 1, 1), (8, 1, 8), (12, 2, 6), (16, 2, 8), (17, 17, 1), (128, 16, 8)]
)
def test_a_job_is_split_into_the_fewest_equal_pods_that_fit_on_a_node(gpus, pods, each):
    trace = read_philly([PHILLY, f"2017-10-09 07:01:55,66.0,{gpus},66.0,b"])
    (job,) = fit_jobs(trace, equal_nodes(64, 8)).jobs
    assert (job.pods, job.gpu_milli, job.least_pods) == (pods, each * 1000, pods)


def test_a_job_wider_than_the_cluster_is_refused_by_name():
    trace = read_philly([PHILLY, "2017-10-09 07:01:55,66.0,128,66.0,b"])
    refused = fit_jobs(trace, equal_nodes(8, 8))
    assert not refused.jobs
    (bad,) = refused.bad_lines
    assert (bad.where, bad.problem) == (
        "",
        "job job-0000002 needs 128 GPUs, more than the cluster offers: 64",
    )

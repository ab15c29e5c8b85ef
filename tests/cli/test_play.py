"""`tenure play`: tables, JSON, page, checkpoints, and errors that name the option."""

import json
import sys
from io import StringIO
from pathlib import Path

import pytest
from tenure.cli.play.output import progress_lines

from tests.cli.command import Tenure, in_process

LOAD = """
seed: 4
days: 0.4
jobs:
  - {queue: a, perHour: 6, runtime: 40m, spread: 2, gpus: {1: 60, 4: 30, 16: 10}}
  - {queue: b, perHour: 4, runtime: 30m, gpus: {2: 1}}
"""


@pytest.fixture
def tenure(monkeypatch, capsys) -> Tenure:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def load(tmp_path) -> Path:
    path = tmp_path / "load.yaml"
    path.write_text(LOAD)
    return path


def test_runs_are_compared_in_tables(tenure, load, tmp_path):
    config = tmp_path / "guarded.yaml"
    config.write_text("plugins: {minruntime: {defaultReclaimMinRuntime: 30m}}")
    result = tenure("play", str(load), "--nodes", "2x8", "--config", str(config), "--baseline", "fifo")
    assert result.code == 0
    for text in (
        "against guarded: ",
        "p99 wait",
        "on 2 nodes with 16 GPUs",
        "guarded",
        "fifo",
        "Lost GPU hours",
        "Mean wait by queue",
    ):
        assert text in result.out


def test_json_has_inputs_and_metrics(tenure, load):
    result = tenure("play", str(load), "--nodes", "2x8", "--output", "json")
    (run,) = json.loads(result.out)["runs"]
    assert (run["name"], run["policy"], run["gpus"], run["violations"]) == ("default", "solver", 16, [])
    assert run["settings"]["checkpoint interval"] == "30m"
    assert run["metrics"]["cluster"]["unbalanced_milli_gpu_ns"] == 0
    assert run["metrics"]["jobs"]["completed"] > 50


def test_json_counts_the_notices_of_a_configuration_that_gives_them(tenure, tmp_path):
    trace, config = tmp_path / "jobs.csv", tmp_path / "notices.yaml"
    header = "job,submit,runtime,gpus,priority,notice,checkpoint_on_notice"
    trace.write_text("\n".join([header, "long,0,3600,8,,300,yes", "urgent,600,60,8,75,,"]))
    config.write_text("options: {maxNotice: 1m}")
    result = tenure("play", str(trace), "--nodes", "1x8", "--config", str(config), "--output", "json")
    (run,) = json.loads(result.out)["runs"]
    counts = {key: value for key, value in run["metrics"]["evictions"].items() if key.startswith("notices")}
    assert counts == {"notices_given": 1, "notices_withdrawn": 0, "notices_carried_out": 1}
    assert run["metrics"]["cluster"]["lost"] == pytest.approx(8 / 3600)


def test_the_same_command_gives_the_same_output_and_goes_on_from_a_checkpoint(tenure, load, tmp_path):
    command = ("play", str(load), "--nodes", "2x8", "--output", "json", "--node-failures", "5h")
    plain = tenure(*command)
    kept = ("--checkpoint", str(tmp_path / "runs"))
    cut = tenure(*command, *kept, "--until", "2h")
    assert json.loads(cut.out)["runs"][0]["stopped"]
    assert tenure(*command, *kept).out == plain.out
    assert tenure(*command[:-2], "--seed", "5").out != tenure(*command[:-2]).out


def test_the_page_is_written(tenure, load, tmp_path):
    page = tmp_path / "page.html"
    result = tenure("play", str(load), "--nodes", "2x8", "--report", str(page))
    assert f"Report: {page}" in result.out.replace("\n", "")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_bad_lines_are_named_and_the_rest_is_played(tenure, tmp_path):
    path = tmp_path / "jobs.csv"
    rows = ["timestamp,duration,num_gpus,gpu_time,cluster", "2017-10-09 07:01:55,60,1,60,a", "x,60,1,60,a"]
    path.write_text("\n".join([*rows, "2017-10-09 07:01:55,60,1000,1,a"]))
    result = tenure("play", str(path))
    assert "1 job on 64 nodes with 512 GPUs" in result.out
    assert "1 line and 1 job left out:" in result.out
    assert "line 3: timestamp 'x' is not YYYY-MM-DD HH:MM:SS" in result.out
    assert "needs 1000 GPUs, more than the cluster offers" in " ".join(result.out.split())


def test_a_snapshot_gives_nodes_and_queues(tenure, load, tmp_path):
    snapshot = tmp_path / "cluster.yaml"
    node = "{name: n%d, allocatable: {cpu_milli: 1000, gpu_milli: 8000, pods: 99}}"
    snapshot.write_text(
        f"cluster_id: c\nnow: '2026-01-05T00:00:00Z'\nnodes: [{node % 1}, {node % 2}]\n"
        "queues: [{name: a, gpu_milli: {quota: 8000}}, {name: b, gpu_milli: {quota: 8000}}]\n"
    )
    result = tenure("play", str(load), "--cluster", str(snapshot), "--output", "json")
    assert json.loads(result.out)["runs"][0]["nodes"] == 2


JOBS = "job,submit,runtime,gpus\na,0,3600,4\nb,60,3600,8\nc,120,600,4\n"


def test_easy_without_expected_runtimes_is_refused_and_says_the_choices(tenure, tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text(JOBS)
    refused = tenure("play", str(trace), "--nodes", "1x8", "--baseline", "easy")
    assert refused.code == 2
    assert "no job of the trace has one" in " ".join(refused.err.replace("│", "").split())
    command = ("play", str(trace), "--nodes", "1x8", "--baseline", "easy", "--baseline", "first-fit")
    played = tenure(*command, "--expected-runtimes", "exact", "--output", "json")
    runs = json.loads(played.out)["runs"]
    assert [run["name"] for run in runs] == ["default", "easy", "first-fit"]  # Tenure is played too
    assert runs[0]["notes"] == ["Expected runtimes: the real ones (exact)."]
    assert "Expected runtimes: the real ones (exact)." in tenure(*command, "--expected-runtimes", "exact").out


def test_easy_tells_how_many_jobs_have_no_expected_runtime(tenure, tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("job,submit,runtime,gpus,expected_runtime\na,0,60,4,60\nb,1,60,4,\n")
    result = tenure("play", str(trace), "--nodes", "1x8", "--baseline", "easy")
    text = "1 of 2 jobs have no expected runtime: easy starts them only beside what it reserves."
    assert text in " ".join(result.out.split())


def test_expected_runtimes_with_an_error_depend_on_the_seed(tenure, tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text(JOBS)
    command = ("play", str(trace), "--nodes", "1x8", "--expected-runtimes", "factor:2", "--output", "json")
    digests = [json.loads(tenure(*command, "--seed", seed).out)["runs"][0]["input_digest"] for seed in "112"]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("baseline", ["first-fit", "fifo", "easy"])
def test_nodes_of_several_kinds_and_all_amounts_count_for_every_policy(tenure, tmp_path, baseline):
    trace, nodes = tmp_path / "jobs.csv", tmp_path / "nodes.csv"
    trace.write_text(
        "job,submit,runtime,gpus,cpu,memory,gpu_kind\n"
        "new,0,600,1,1,1,H100\nany,0,600,1,1,1,\n"  # one of both fits on the node with H100, the other not
        "cores,0,600,1,60,1,\nmemory,0,600,1,1,60,T4|V100\nnone,0,60,1,65,1,\n"
    )
    nodes.write_text("count,gpus,cpu,memory,gpu_kind\n1,1,4,4,H100\n1,4,64,64,V100\n")
    command = (
        "play",
        str(trace),
        "--nodes",
        str(nodes),
        "--baseline",
        baseline,
        "--expected-runtimes",
        "exact",
    )
    result = json.loads(tenure(*command, "--output", "json").out)
    for run in result["runs"]:
        assert (run["nodes"], run["gpus"], run["violations"]) == (2, 5, [])
        assert run["metrics"]["cluster"]["unbalanced_milli_gpu_ns"] == 0
        assert run["metrics"]["jobs"]["completed"] == 4
        waits = run["metrics"]["all"]["wait"]
        assert waits["max"] <= 600  # `any` takes the only H100, or a V100 whose cores or memory it shares
        assert run["bad_lines"]["first"] == [
            {"problem": "job none needs 65 CPU cores, and no node has more than 64"}
        ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("gpus,colour\n8,red\n", "line 1 has the unknown column colour"),
        ("count\n8\n", "line 1 has no column gpus"),
        ("gpus;count\n8;1\n", "line 1 is separated by semicolons"),
        ("name,gpus\na,8\na,8\n", "line 3: the name 'a' is used twice"),
        ("gpus\nmany\n", "line 2: gpus 'many' is not a whole number"),
    ],
)
def test_what_is_wrong_with_a_list_of_nodes_is_named(tenure, load, tmp_path, content, problem):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text(content)
    result = tenure("play", str(load), "--nodes", str(nodes))
    assert result.code == 2
    assert problem in " ".join(result.err.replace("│", "").split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--expected-runtimes", "factor:1"),
            "use trace, exact, none, or factor:NUMBER with a number above 1, up to 1000",
        ),
        (("--nodes", "many"), "'many' is not COUNTxGPUS, such as 64x8"),
        (("--nodes", "1x0"), "is not COUNTxGPUS"),
        (("--cycle-period", "soon"), "--cycle-period"),
        (("--termination-time", "never"), "--termination-time"),
        (("--format", "philly"), "has no column"),
        (("--config", "missing.yaml"), "missing.yaml"),
        (("--seed", "1", "--seed", "1"), "a seed occurs twice"),
        (("--resample", "1d"), "less than two blocks of 1d"),
        (("--tables", "folder"), "requires --output parquet"),
        (("--cluster", "missing.yaml"), "missing.yaml"),
        (("--report", "none/page.html"), "none is no folder"),
        (("--report", "/proc"), "/proc is a folder; name a file"),
        (("--checkpoint", "/proc/none"), "/proc/none: No such file or directory"),
        (("--output", "parquet", "--tables", "/proc/none"), "/proc/none: No such file or directory"),
    ],
)
def test_an_invalid_option_is_named(tenure, load, options, problem):
    result = tenure("play", str(load), *options)
    assert result.code == 2
    assert problem in " ".join(result.err.replace("│", "").split())


def test_a_trace_that_is_missing_is_named(tenure):
    result = tenure("play", "none.csv")
    assert result.code == 2
    assert "none.csv: No such file or directory" in " ".join(result.err.replace("│", "").split())


@pytest.mark.long
def test_several_seeds_are_compared_by_their_differences(tenure, load, tmp_path):
    config, page = tmp_path / "guarded.yaml", tmp_path / "page.html"
    config.write_text("plugins: {minruntime: {defaultReclaimMinRuntime: 30m}}")
    seeds = ("--seed", "1", "--seed", "2")
    command = ("play", str(load), "--nodes", "2x8", "--config", str(config), "--baseline", "fifo", *seeds)
    result = tenure(*command, "--output", "json", "--report", str(page))
    found = json.loads(result.out)
    assert [(run["name"], run["settings"]["seed"]) for run in found["runs"]] == [
        *(("guarded", "1"), ("guarded", "2"), ("fifo", "1"), ("fifo", "2"))
    ]
    waits = [run["metrics"]["all"]["wait"]["mean"] for run in found["runs"]]
    guarded, fifo = (each["figures"]["all.wait.mean"] for each in found["comparison"])
    assert (guarded["mean"], guarded["runs"]) == (pytest.approx((waits[0] + waits[1]) / 2), 2)
    assert fifo["difference"]["mean"] == pytest.approx((waits[2] - waits[0] + waits[3] - waits[1]) / 2)
    assert "means over the seeds 1, 2" in page.read_text()
    assert "Means over the seeds 1, 2 ± standard deviation" in tenure(*command).out


def test_seeds_draw_blocks_of_a_trace_from_a_file(tenure, tmp_path):
    path = tmp_path / "philly.csv"
    rows = [f"2017-10-0{day} 0{hour}:00:00,{600 * day},1,1,a" for day in range(1, 8) for hour in range(day)]
    path.write_text("\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *rows]))
    drawn = tenure("play", str(path), "--seed", "1", "--seed", "2", "--resample", "1d", "--output", "json")
    first, second = json.loads(drawn.out)["runs"]
    assert first["input_digest"] != second["input_digest"]
    assert first["notes"][-1] == "drawn with seed 1 from 7 blocks of 1d each"
    refused = tenure("play", str(path), "--seed", "1", "--seed", "2")
    assert refused.code == 2
    problem = "is the same for all seeds; use --resample or --node-failures"
    assert problem in " ".join(refused.err.replace("│", "").split())


def test_parquet_files_are_written_beside_the_trace_or_where_told(tenure, load, tmp_path):
    result = tenure("play", str(load), "--nodes", "2x8", "--output", "parquet")
    assert result.code == 0
    assert f"Tables: {tmp_path}/load-tables" in result.out.replace("\n", "")
    assert len(list((tmp_path / "load-tables").glob("*.parquet"))) == 7
    command = ("play", str(load), "--until", "1h", "--nodes", "2x8", "--output", "parquet")
    assert tenure(*command, "--tables", str(tmp_path / "other")).code == 0
    assert (tmp_path / "other" / "jobs.parquet").exists()


def test_parquet_without_its_package_is_refused_before_the_run(tenure, load, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = tenure("play", str(load), "--output", "parquet")
    assert result.code == 2
    assert "pip install 'tenure[parquet]'" in " ".join(result.err.replace("│", "").split())


def test_progress_without_a_terminal_is_a_line_after_two_seconds_and_every_minute() -> None:
    times, target = iter((0.0, 1.9, 2.5, 61.0, 63.0)), StringIO()
    note = progress_lines("philly", 82_247, target, times.__next__)
    for ended, cycles in ((10, 100), (1_000, 6_100), (1_500, 9_000), (2_000, 12_500)):
        note(0, ended, cycles)
    assert target.getvalue() == (
        "philly: 1,000 of 82,247 jobs, 6,100 cycles, 2440 cycles/s, about 3m24s left\n"
        "philly: 2,000 of 82,247 jobs, 12,500 cycles, 198 cycles/s, about 43m left\n"
    )

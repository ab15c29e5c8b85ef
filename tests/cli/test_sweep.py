"""`tenure sweep`: equal results on any engine, lost workers, going on, the frontier, and errors by field."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenure.cli.sweep.output import progress_lines
from tenure.cli.sweep.single_run import SingleRun

from tests.cli.command import Tenure, in_process

LOAD = """
days: 0.15
jobs:
  - {queue: a, perHour: 8, runtime: 30m, spread: 2, gpus: {1: 60, 4: 30, 8: 10}}
  - {queue: b, perHour: 6, runtime: 20m, gpus: {2: 1}}
"""
HEAR_INTERRUPTS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command as from a terminal. What a shell runs in the background ignores interrupts."""
STUDY = {
    "trace": "load.yaml",
    "nodes": "1x8",
    "seeds": [1, 2],
    "vary": {"plugins.minruntime.defaultReclaimMinRuntime": ["0s", "30m"], "quota.a": [2, 6]},
    "goals": [{"figure": "all.wait.mean"}, {"figure": "cluster.lost"}],
}
SIXTY_RUNS = {**STUDY, "seeds": [1, 2, 3, 4, 5], "vary": {**STUDY["vary"], "quota.a": [1, 2, 3, 4, 5, 6]}}
MINUTE = 60


@pytest.fixture
def tenure(monkeypatch, capsys) -> Tenure:
    return in_process(monkeypatch, capsys)


def write_study(folder: Path, study: object) -> Path:
    (folder / "load.yaml").write_text(LOAD)
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study))
    return path


def results_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def command(study: Path, folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "tenure.cli", "sweep", str(study), "--results", str(folder), *options]


def dask_cluster(workers: int):
    """Without a port of its own number for its pages: several clusters may run at a time."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
    )


@contextmanager
def playing(study: Path, folder: Path, *options: str, **pipes: Any) -> Iterator[subprocess.Popen[Any]]:
    """A sweep in a process of its own, which ends with the block, whatever fails in it."""
    with subprocess.Popen(command(study, folder, *options), stdout=subprocess.DEVNULL, **pipes) as sweep:
        try:
            yield sweep
        finally:
            sweep.kill()


def wait_for_runs(folder: Path, count: int, seconds: int = 5 * MINUTE) -> None:
    until = time.monotonic() + seconds
    while len(list(folder.glob("*.json"))) < count:
        assert time.monotonic() < until, f"fewer than {count} runs in {seconds} s"
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and b"spawn_main" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.long
def test_a_sweep_has_a_frontier_a_page_and_a_configuration_for_each_point(tenure, tmp_path):
    study, page = write_study(tmp_path, STUDY), tmp_path / "page.html"
    result = tenure("sweep", str(study), "--workers", "1", "--report", str(page), "--output", "json")
    assert (result.code, result.err) == (0, "")
    points = json.loads(result.out)["points"]
    assert [point["values"]["quota.a"] for point in points] == [2, 6, 2, 6]
    assert any(point["frontier"] for point in points)
    assert all(point["figures"]["all.wait.mean"]["runs"] == 2 for point in points)
    assert "<svg" in page.read_text()
    assert "<script" not in page.read_text()
    assert "Below a figure is its difference to Point 1." in page.read_text()
    assert "Gray lines are the standard deviation over the seeds." in page.read_text()
    assert re.search(
        r"[Nn]o other (one|point) is at least as good in \S+ and \S+ and better in one\.", page.read_text()
    )
    assert page.read_text().index("<h2>Frontier") < page.read_text().index("<h2>Evictions")
    config = tmp_path / "study-runs" / points[2]["configuration"]
    assert tenure("config", "check", str(config)).code == 0
    assert yaml.safe_load(config.read_text()) == {
        "plugins": {"minruntime": {"defaultReclaimMinRuntime": "30m"}}
    }
    again = tenure("sweep", str(study), "--output", "json")
    assert again.out == result.out


def test_seeds_draw_blocks_of_the_trace(tenure, tmp_path):
    study = write_study(tmp_path, {**STUDY, "resample": "1h", "vary": {"quota.a": [2]}})
    assert tenure("sweep", str(study), "--workers", "1").code == 0
    runs = [json.loads(path.read_text()) for path in (tmp_path / "study-runs").glob("*.json")]
    notes = sorted(run["notes"][-1] for run in runs)
    assert notes == [f"drawn with seed {seed} from 4 blocks of 1h each" for seed in (1, 2)]


def test_a_table_of_many_points_has_those_of_the_frontier(tenure, tmp_path):
    values = [f"{minutes}m" for minutes in range(25)]
    study = {
        **STUDY,
        "seeds": [1],
        "until": "10m",
        "vary": {"plugins.minruntime.defaultReclaimMinRuntime": values},
    }
    result = tenure("sweep", str(write_study(tmp_path, study)), "--workers", "1")
    assert "25 points, 25 runs; points of the frontier" in result.out
    assert "A: defaultReclaimMinRuntime" in result.out
    assert "e+" not in result.out


def test_a_point_that_keeps_no_constraint_is_not_on_the_frontier(tenure, tmp_path):
    bound = {**STUDY, "seeds": [1], "constraints": [{"figure": "cluster.goodput", "min": 0.99}]}
    result = tenure("sweep", str(write_study(tmp_path, bound)), "--workers", "1")
    assert result.code == 0
    assert "none: no point keeps the constraints" in result.out


def test_a_study_sets_durations_and_switches(tenure, tmp_path):
    study = {**STUDY, "seeds": [1], "vary": {"quota.a": [2]}}
    study["settings"] = {"notice": "5m", "checkpointOnNotice": True}
    assert tenure("sweep", str(write_study(tmp_path, study)), "--workers", "1").code == 0
    (run,) = [json.loads(path.read_text()) for path in (tmp_path / "study-runs").glob("*.json")]
    assert run["inputs"]["settings"] == {"notice": "5m", "checkpointOnNotice": True}
    assert run["settings"]["checkpoint on notice"] == "yes"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vary": {"plugins.nodeplacement.gpu": ["no"]}}, "gpu"),
        ({"vary": {"plugins.minruntime.nothing": ["1m"]}}, "nothing"),
        ({"vary": {"quota.other": [1]}}, "vary.quota.other: the cluster has no such queue"),
        ({"vary": {"quota.a": ["many"]}}, "vary.quota.a: a quota is a number of GPUs"),
        ({"vary": {"quota.a": {"from": 1, "to": 2}}}, "vary.quota.a: a range needs"),
        ({"goals": [{"figure": "all.speed"}], "seeds": [1]}, "no run has the figure all.speed"),
        ({"settings": {"restart": "1m"}}, "settings.restart: unknown; use cyclePeriod"),
        ({"settings": {"checkpointOnNotice": "1m"}}, "settings.checkpointOnNotice: must be true or false"),
        ({"settings": {"notice": True}}, "settings.notice: must be a duration"),
        ({"trace": "missing.csv"}, "No such file"),
        ({"shard": "c/d"}, "shard: load.yaml is no file of records"),
        ({"nodes": "eight"}, "is not COUNTxGPUS"),
        ({"resample": "1d"}, "less than two blocks of 1d"),
        ({"seeds": [1, 1]}, "a seed occurs twice"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_errors_name_the_field(tenure, tmp_path, change, problem):
    result = tenure("sweep", str(write_study(tmp_path, {**STUDY, **change})), "--workers", "1")
    assert result.code == 2
    assert problem in re.sub(r"[\s│]+", " ", result.err)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--results", "/proc/none"), "/proc/none: No such file or directory"),
        (("--report", "none/page.html"), "none is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_runs(tenure, tmp_path, options, problem):
    result = tenure("sweep", str(write_study(tmp_path, STUDY)), *options)
    assert result.code == 2
    assert problem in re.sub(r"[\s│]+", " ", result.err)


def test_lines_that_are_left_out_are_named_and_a_damaged_result_too(tenure, tmp_path):
    rows = ["timestamp,duration,num_gpus,gpu_time,cluster", "2017-10-09 07:01:55,60,1,60,a", "x,60,1,60,a"]
    (tmp_path / "philly.csv").write_text("\n".join(rows))
    goals, page = [{"figure": "all.wait.mean"}], tmp_path / "page.html"
    study = write_study(
        tmp_path, {"trace": "philly.csv", "nodes": "1x8", "vary": {"quota.a": [2]}, "goals": goals}
    )
    problem = "timestamp 'x' is not YYYY-MM-DD HH:MM:SS"
    result = tenure("sweep", str(study), "--workers", "1", "--report", str(page))
    assert "1 line left out:" in result.out
    assert f"line 3: {problem}" in result.out
    assert "1 line left out" in page.read_text()
    bad = json.loads(tenure("sweep", str(study), "--output", "json").out)["bad_lines"]
    assert bad == {"count": 1, "first": [{"line": 3, "problem": problem}]}

    (kept,) = (tmp_path / "study-runs").glob("*.json")
    kept.write_text(kept.read_text()[:-9])
    again = tenure("sweep", str(study))
    assert again.code == 2
    assert f"{kept.name} is damaged; delete it" in re.sub(r"[\s│]+", " ", again.err)


def test_progress_without_a_terminal_is_a_line_per_minute() -> None:
    times, target = iter((0.0, 30.0, 61.0, 90.0, 125.0)), StringIO()
    note = progress_lines(60, 40, target, times.__next__)
    for _ in range(4):
        note(SingleRun(1, 1, "{}", ""))
    assert target.getvalue() == "22 of 60 runs, about 20m left\n24 of 60 runs, about 19m left\n"


@pytest.mark.long
def test_a_sweep_goes_on_after_it_was_killed(tmp_path):
    study = write_study(tmp_path, SIXTY_RUNS)
    folder = tmp_path / "runs"
    first = subprocess.Popen(command(study, folder, "--workers", "1"), start_new_session=True)
    try:
        wait_for_runs(folder, 2)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 2 <= len(kept) < 60
    write_study(tmp_path, {**SIXTY_RUNS, "vary": STUDY["vary"], "seeds": [1, 2]})
    subprocess.run(command(study, folder, "--workers", "2"), check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


@pytest.mark.long
@pytest.mark.thorough
def test_sixty_runs_are_the_same_serially_on_processes_and_on_dask_with_a_lost_worker(tmp_path):
    study = write_study(tmp_path, SIXTY_RUNS)
    serial, lossy, dask = (tmp_path / name for name in ("serial", "lossy", "dask"))
    subprocess.run(command(study, serial, "--workers", "1"), check=True, capture_output=True)
    assert len(list(serial.glob("*.json"))) == 60

    with playing(study, lossy, "--workers", "2") as sweep:
        wait_for_runs(lossy, 5)
        os.kill(children_of(sweep.pid)[0], signal.SIGKILL)
        assert sweep.wait() == 0
    assert results_in(lossy) == results_in(serial)

    with (
        dask_cluster(workers=4) as cluster,
        playing(study, dask, "--scheduler", cluster.scheduler_address) as sweep,
    ):
        wait_for_runs(dask, 5)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        assert sweep.wait() == 0
    assert results_in(dask) == results_in(serial)


LONG_RUNS = {**STUDY, "nodes": "8x8", "trace": "long.yaml"}


def write_long_runs(folder: Path) -> Path:
    """A study whose runs take minutes."""
    (folder / "long.yaml").write_text(LOAD.replace("0.15", "30").replace("8, runtime", "60, runtime"))
    return write_study(folder, LONG_RUNS)


def wait_until(holds, seconds: int = MINUTE) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(0.05)


def are_gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.long
def test_processes_end_with_the_sweep_that_was_killed(tmp_path):
    study = write_long_runs(tmp_path)
    with playing(study, tmp_path / "runs", "--workers", "2") as sweep:
        wait_until(lambda: len(children_of(sweep.pid)) == 2)
        workers = children_of(sweep.pid)
        sweep.kill()
    wait_until(lambda: are_gone(workers))


@pytest.mark.long
def test_control_c_ends_a_sweep_at_once_and_without_a_traceback(tmp_path):
    study = write_long_runs(tmp_path)
    line = (sys.executable, "-c", HEAR_INTERRUPTS, *command(study, tmp_path / "runs", "--workers", "2"))
    sweep = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_until(lambda: len(children_of(sweep.pid)) == 2)
        workers = children_of(sweep.pid)
        time.sleep(5)  # they have started to play
        os.killpg(sweep.pid, signal.SIGINT)
        _, errors = sweep.communicate(timeout=MINUTE)
    finally:
        sweep.kill()
        sweep.wait()
    assert sweep.returncode == 130
    assert errors == f"tenure: interrupted; call it again to go on from {tmp_path / 'runs'}\n"
    assert are_gone(workers)


@pytest.mark.long
def test_a_terminated_sweep_ends_its_workers_and_warns_of_nothing(tmp_path):
    study = write_long_runs(tmp_path)
    with playing(study, tmp_path / "runs", "--workers", "2", stderr=subprocess.PIPE, text=True) as sweep:
        wait_until(lambda: len(children_of(sweep.pid)) == 2)
        workers = children_of(sweep.pid)
        time.sleep(5)  # they have started to play
        sweep.terminate()
        _, errors = sweep.communicate(timeout=MINUTE)
    assert sweep.returncode == 143
    assert errors == f"tenure: terminated; call it again to go on from {tmp_path / 'runs'}\n"
    assert are_gone(workers)


@pytest.mark.long
def test_a_replaced_worker_is_said(tmp_path):
    study = write_study(tmp_path, STUDY)
    with playing(study, tmp_path / "runs", "--workers", "2", stderr=subprocess.PIPE, text=True) as sweep:
        wait_for_runs(tmp_path / "runs", 1)
        os.kill(children_of(sweep.pid)[0], signal.SIGKILL)
        _, errors = sweep.communicate(timeout=5 * MINUTE)
    assert sweep.returncode == 0
    assert re.fullmatch(
        r"tenure: a worker process was lost and is replaced; [0-9]+ runs left to play\n", errors
    )


@pytest.mark.long
def test_workers_of_a_dask_cluster_stop_runs_of_a_sweep_that_is_gone(tmp_path):
    from distributed import Client

    def executing(dask_worker) -> int:
        return len(dask_worker.state.executing)

    study = write_long_runs(tmp_path)
    runs = tmp_path / "runs"
    with dask_cluster(workers=2) as cluster, Client(cluster) as client:
        with playing(study, runs, "--scheduler", cluster.scheduler_address) as sweep:
            wait_until(lambda: sum(client.run(executing).values()) == 2)
            sweep.kill()
        wait_until(lambda: sum(client.run(executing).values()) == 0)

"""`tenure sweep`: equal results on any engine, lost workers, going on, the frontier, and errors by field."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.command import Tenure, in_process

LOAD = """
days: 0.15
jobs:
  - {queue: a, perHour: 8, runtime: 30m, spread: 2, gpus: {1: 60, 4: 30, 8: 10}}
  - {queue: b, perHour: 6, runtime: 20m, gpus: {2: 1}}
"""
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


def test_a_point_that_keeps_no_constraint_is_not_on_the_frontier(tenure, tmp_path):
    bound = {**STUDY, "seeds": [1], "constraints": [{"figure": "cluster.goodput", "min": 0.99}]}
    result = tenure("sweep", str(write_study(tmp_path, bound)), "--workers", "1")
    assert result.code == 0
    assert "none: no point keeps the constraints" in result.out


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
        ({"trace": "missing.csv"}, "No such file"),
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
def test_sixty_runs_are_the_same_serially_on_processes_and_on_dask_with_a_lost_worker(tmp_path):
    study = write_study(tmp_path, SIXTY_RUNS)
    serial, lossy, dask = (tmp_path / name for name in ("serial", "lossy", "dask"))
    subprocess.run(command(study, serial, "--workers", "1"), check=True, capture_output=True)
    assert len(list(serial.glob("*.json"))) == 60

    process = subprocess.Popen(command(study, lossy, "--workers", "2"), stdout=subprocess.DEVNULL)
    wait_for_runs(lossy, 5)
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(10 * MINUTE) == 0
    assert results_in(lossy) == results_in(serial)

    from distributed import LocalCluster

    with LocalCluster(
        n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        process = subprocess.Popen(
            command(study, dask, "--scheduler", cluster.scheduler_address), stdout=subprocess.DEVNULL
        )
        wait_for_runs(dask, 5)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        assert process.wait(10 * MINUTE) == 0
    assert results_in(dask) == results_in(serial)

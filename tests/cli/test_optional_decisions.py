"""Decisions that a configuration switches on, in `tenure play` and `tenure sweep`."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from tests.cli.command import Tenure, in_process


class Played(NamedTuple):
    """A trace in which a switch makes a difference."""

    key: str
    """Path in the configuration."""
    values: tuple[Any, Any]
    """Off and on, or two modes."""
    queues: tuple[dict[str, Any], ...]
    jobs: str
    evicted: tuple[int, int]
    """Pods evicted, by value."""
    nodes: int = 1
    """Of 8 GPUs."""


PRIORITIES: Final = Played(
    "plugins.proportion.queuePriorityInQuotaReclaim",
    (False, True),
    (
        {"name": "a", "priority": 90, "gpu_milli": {"quota": 8000}},
        {"name": "b", "priority": 80, "gpu_milli": {"quota": 8000}},
    ),
    "job,queue,submit,runtime,gpus\nb1,b,0,3600,8\na1,a,600,600,8\n",
    (0, 1),
)
"""b uses the node when a, of higher priority, asks for it."""
SIZES: Final = Played(
    "plugins.gpujoborder.mode",
    ("evict-larger-first", "evict-smaller-first"),
    ({"name": "a", "gpu_milli": {"quota": 8000}}, {"name": "b", "gpu_milli": {"quota": 0}}),
    "job,queue,submit,runtime,gpus\nb1,b,0,36000,4\nb2,b,60,36000,1\nb3,b,120,36000,1\nb4,b,180,36000,1\n"
    "b5,b,240,36000,1\na1,a,600,600,4\n",
    (1, 4),
)
"""One job of 4 GPUs yields, or four of 1 GPU."""
STEADY: Final = Played(
    "plugins.proportion.steadyFairShareReclaim",
    (False, True),
    ({"name": "a", "gpu_milli": {"quota": 0}}, {"name": "c", "gpu_milli": {"quota": 0}}),
    "job,queue,submit,runtime,gpus\na1,a,0,36000,3\na2,a,60,36000,3\na3,a,120,36000,3\na4,a,180,36000,3\n"
    "c1,c,600,600,4\n",
    (0, 1),
    nodes=2,
)
"""a has 12 of 16 GPUs, and 2 are free on each node when c asks for 4."""
PLAYS: Final = {
    "reclaim by queue priority": PRIORITIES,
    "reclaim by steady fair share": STEADY,
    "victims by size": SIZES,
}


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tenure:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def write(case: Played) -> None:
    """The trace and a cluster, in this folder."""
    Path("jobs.csv").write_text(case.jobs)
    offered = {"cpu_milli": 64_000, "gpu_milli": 8000, "pods": 99}
    nodes = [{"name": f"n{number}", "allocatable": offered} for number in range(case.nodes)]
    snapshot = {"cluster_id": "c", "now": "2026-01-05T00:00:00Z", "nodes": nodes, "queues": [*case.queues]}
    Path("cluster.yaml").write_text(yaml.safe_dump(snapshot))


def nested(key: str, value: Any) -> dict[str, Any]:
    first, _, rest = key.partition(".")
    return {first: nested(rest, value) if rest else value}


@pytest.mark.parametrize("case", PLAYS.values(), ids=PLAYS)
def test_play_follows_the_switch(case: Played, tenure: Tenure) -> None:
    write(case)
    evicted = []
    for value in case.values:
        Path("scheduler.yaml").write_text(yaml.safe_dump(nested(case.key, value)))
        options = ("--cluster", "cluster.yaml", "--config", "scheduler.yaml", "--output", "json")
        (run,) = json.loads(tenure("play", "jobs.csv", *options).out)["runs"]
        evicted.append(run["metrics"]["evictions"]["evictions"])
    assert tuple(evicted) == case.evicted


@pytest.mark.parametrize("case", PLAYS.values(), ids=PLAYS)
def test_sweep_varies_the_switch(case: Played, tenure: Tenure) -> None:
    write(case)
    study = {
        "trace": "jobs.csv",
        "cluster": "cluster.yaml",
        "vary": {case.key: list(case.values)},
        "goals": [{"figure": "evictions.evictions"}],
    }
    Path("study.yaml").write_text(yaml.safe_dump(study))
    ended = tenure("sweep", "study.yaml", "--output", "json", "--workers", "1")
    assert ended.code == 0, ended.err
    points = json.loads(ended.out)["points"]
    assert tuple(point["figures"]["evictions.evictions"]["mean"] for point in points) == case.evicted

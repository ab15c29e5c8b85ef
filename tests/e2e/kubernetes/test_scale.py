"""The check `adapter-scale` on a small cluster measures every figure, with plausible values."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubernetes.environment import binaries
from tests.kubernetes.scale.command import LIMITS
from tests.small_snapshot import child_environment

pytestmark = [pytest.mark.kube, pytest.mark.thorough, pytest.mark.timeout(300)]


def test_a_small_cluster_is_measured(tmp_path: Path) -> None:
    binaries.required()
    size = ("--nodes", "10", "--pods", "100", "--changes", "1", "--idle", "1", "--stream", "10")
    figures_file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "tests", "adapter-scale", *size, "--json", str(figures_file)]
    ended = subprocess.run(
        command,
        cwd=binaries.ROOT,
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    passed, failed = re.findall(r"\n(\d+) passed, (\d+) failed\n$", ended.stdout)[0]
    assert int(passed) + int(failed) == len(LIMITS), (
        "limits are compared; whether they hold, a machine decides"
    )
    assert ended.returncode == (failed != "0"), ended.stderr
    figures = json.loads(figures_file.read_text())["figures"]
    assert list(figures) == ["first", "after it", "steady", "nothing changes", "under load", "in the end"]
    steady = {figure["what"]: figure["value"] for figure in figures["steady"]}
    assert 0 < steady["of that, the cycle"] < steady["a round that decides, the median"]
    assert steady["a new pod, from its creation to its binding"] > 0
    load = {figure["what"]: figure["value"] for figure in figures["under load"]}
    for who in ("this scheduler", "default-scheduler"):
        assert 0 < load[f"{who}, creation to binding, p50"] <= load[f"{who}, creation to binding, p99"]
    for gang in ("a gang of 64", "a gang of 64 with a budget"):
        assert load[f"{gang}, from its first to its last eviction"] > 0
    first = {figure["what"]: figure["value"] for figure in figures["first"]}
    assert 0 < first["of that, the cycle"] < first["asking"] < first["the first round"]
    assert all(figure["value"] > 0 for figure in figures["in the end"])

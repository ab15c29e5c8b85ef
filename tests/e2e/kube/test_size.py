"""What `make adapter-size` measures, on a small cluster: every figure is there and says something."""

import json
import subprocess
import sys

import pytest

from tests.kube import binaries
from tests.server.given import environment

pytestmark = pytest.mark.kube


def test_a_small_cluster_is_measured() -> None:
    binaries.required()
    size = ("--nodes", "10", "--pods", "100", "--changes", "1", "--idle", "1", "--output", "json")
    command = [sys.executable, "-m", "tests.kube.size", *size]
    ended = subprocess.run(
        command,
        cwd=binaries.ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)["figures"]
    assert list(figures) == ["first", "after it", "steady", "nothing changes", "in the end"]
    steady = {figure["what"]: figure["value"] for figure in figures["steady"]}
    assert 0 < steady["of that, the cycle"] < steady["a round that decides, the median"]
    assert steady["a new pod, from its creation to its binding"] > 0
    first = {figure["what"]: figure["value"] for figure in figures["first"]}
    assert 0 < first["of that, the cycle"] < first["asking"] < first["the first round"]
    assert all(figure["value"] > 0 for figure in figures["in the end"])

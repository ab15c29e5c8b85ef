"""docs/get-started/kubernetes.md: its commands run on a cluster with the chart, and print what is shown."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.command import ROOT
from tests.e2e.test_cluster_command import programs_of, run_cluster
from tests.kubernetes.environment.binaries import required_cluster, required_tools

pytestmark = [pytest.mark.kube, pytest.mark.timeout(900)]

PAGE: Final = (ROOT / "docs/get-started/kubernetes.md").read_text()
STEPS: Final = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", PAGE, re.DOTALL | re.MULTILINE)
"""Each block of commands, and the output shown directly after it."""
_STEP_SECONDS: Final = 400.0


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell after what `make cluster EMPTY=1` prints, which has this cluster."""
    required_cluster()
    required_tools()
    folder = tmp_path / "cluster"
    with run_cluster(folder, "--empty") as guide:
        exported = dict(re.findall(r"^export (\w+)=\"?(.*?)\"?$", guide, re.MULTILINE))
        path = exported["PATH"].replace("$PATH", os.environ["PATH"])
        yield {**os.environ, **exported, "PATH": path}
    assert programs_of(folder) == []


def test_commands_of_the_page_print_what_it_shows(shell: dict[str, str], tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "docker").symlink_to(ROOT / "docker")
    assert len(STEPS) == 12
    for commands, shown in STEPS:
        ended = run(commands, shell, checkout)
        assert ended.returncode == 0, f"{commands}{ended.stdout}{ended.stderr}"
        if shown:
            assert comparable(ended.stdout) == comparable(shown)
    assert run("kubectl get pods --all-namespaces", shell, checkout).stdout == ""
    cluster_wide = (
        "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings"
    )
    left = run(f"kubectl get {cluster_wide} --output name", shell, checkout).stdout
    assert [name for name in left.splitlines() if "tenure" in name] == []


def run(commands: str, shell: dict[str, str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run commands as a user does who pastes them; the first that fails is the last."""
    bash = (shutil.which("bash") or "bash", "-eu", "-o", "pipefail", "-c", commands)
    return subprocess.run(
        bash, cwd=folder, env=shell, capture_output=True, text=True, timeout=_STEP_SECONDS, check=False
    )


def comparable(output: str) -> list[str]:
    """Lines without the random part of pods' names, and without which pods of a job they are."""
    return [re.sub(r"\bsweep-\d-\w{5}\b", "sweep-N-RANDOM", line).rstrip() for line in output.splitlines()]

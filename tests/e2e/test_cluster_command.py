"""`make cluster` as a user runs it: samples run, a reclaim can be watched, and Ctrl-C ends all processes."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, run_command, run_tenure
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.binaries import required_cluster

pytestmark = pytest.mark.kube

FULL = {"web": 2, "train": 4, "nightly": 1, "sweep": 8}
"""Running pods of the samples. The pod of nightly has two GPUs, of sixteen."""
RECLAIMED = {**FULL, "sweep": 4, "rollout": 4}
_END_SECONDS = 60.0


@contextmanager
def run_cluster(folder: Path, *options: str) -> Iterator[str]:
    """Run the command until the end of the context, and stop it with Ctrl-C. Yields what it prints."""
    command = (sys.executable, "-m", "tests.cluster", "--folder", str(folder), *options)
    with (
        (folder.parent / "log").open("w") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Ctrl-C"):
                    break
            yield "".join(lines)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(_END_SECONDS) == 0, (folder.parent / "log").read_text()


def programs_of(folder: Path) -> list[str]:
    """Command lines of running programs that use a folder, without the command itself."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended
            continue
        if any(str(folder) in word for word in words) and "tests.cluster" not in words:
            found.append(" ".join(words))
    return found


def running_pods(guide: str) -> dict[str, int]:
    """Running pods of each workload, as the printed `tenure workloads` lists them."""
    (arguments, *_) = re.findall(r"tenure workloads (.*)", guide)
    listed = run_tenure("workloads", *arguments.split(), "--output", "json")
    if listed.returncode != 0:
        return {}  # the adapter has pushed nothing yet
    counts: Counter[str] = Counter()
    for row in json.loads(listed.stdout)["workloads"]:
        counts[row["name"].partition("-")[0]] += row["pods_running"]
    return {name: count for name, count in counts.items() if count}


@pytest.mark.timeout(240)
def test_cluster_runs_samples_and_a_reclaim_and_leaves_no_process(tmp_path: Path) -> None:
    required_cluster()
    folder = tmp_path / "cluster"
    with run_cluster(folder) as guide:
        wait_until(lambda: running_pods(guide) == FULL)
        assert len(programs_of(folder)) == 7
        second = run_command(sys.executable, "-m", "tests.cluster", "--folder", str(folder))
        assert (second.returncode, second.stderr.count("a cluster is running")) == (2, 1)
        (reclaim,) = re.findall(r"apply -f (.*)|apply (.*)", guide)
        page = "".join(reclaim)
        applied = run_command(sys.executable, "-m", "tests.cluster", "apply", "--folder", str(folder), page)
        assert applied.returncode == 0, applied.stderr
        wait_until(lambda: running_pods(guide) == RECLAIMED)
    assert programs_of(folder) == []

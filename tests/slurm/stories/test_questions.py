"""Questions before a job is submitted, and about jobs that wait: nothing changes on the cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.slurm.slurm_adapter import SlurmAdapter, write_configuration
from tests.slurm.slurm_cluster import NODES, SlurmCluster
from tests.small_snapshot import child_environment

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]
EIGHT = "--gres=gpu:8"


def tenure(cluster: SlurmCluster, *arguments: str) -> str:
    """Output of a command of Tenure on the host of the cluster."""
    environment = {**child_environment(), **cluster.environment, "COLUMNS": "200"}
    command = (sys.executable, "-m", "tenure.cli", *arguments)
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_what_becomes_of_a_job_before_it_is_submitted(
    cluster: SlurmCluster, adapter: SlurmAdapter, folder: Path
) -> None:
    configuration = str(folder / "tenure/slurm.yaml")

    def ask(options: str) -> str:
        return tenure(cluster, "slurm", "--config", configuration, "--what-if", options)

    assert ask(f"-N2 {EIGHT} -A research") == "It would start now on n1, n2.\n"
    running = [cluster.submit(EIGHT, "-N1", "--account=research", "--partition=low") for _ in range(NODES)]
    for job in running:
        cluster.wait_for(job, "RUNNING")
    cluster.wait(
        lambda: "requeued for it" in ask(f"-N1 {EIGHT} -A research -p high"),
        "the minimum runtime is over",
    )
    answer = ask(f"-N1 {EIGHT} -A research -p high")
    assert answer.startswith("It would start soon on n")
    assert answer.rpartition(": ")[2].strip() in map(str, running)
    assert ask(f"-N9 {EIGHT}").startswith("It would wait: ")
    assert [cluster.job(job)["restart_cnt"] for job in running] == [0] * NODES
    assert len(cluster.jobs()) == NODES


def test_explanation_of_a_job_that_waits(cluster: SlurmCluster, adapter: SlurmAdapter, folder: Path) -> None:
    for _ in range(NODES):
        cluster.wait_for(cluster.submit(EIGHT, "-N1", "--account=research"), "RUNNING")
    job = cluster.submit(EIGHT, "-N5", "--account=vision")
    snapshot = str(folder / "cluster.yaml")
    tenure(cluster, "slurm", "--config", str(folder / "tenure/slurm.yaml"), "--capture", snapshot)
    text = tenure(cluster, "explain", snapshot, "why-pending", str(job))
    assert text.startswith(f"Pod group {job} (queue vision) is pending")


def test_dry_run_changes_nothing(cluster: SlurmCluster, folder: Path, server: str) -> None:
    configuration = write_configuration(folder / "tenure", server)
    job = cluster.submit(EIGHT, "-N2", "--account=research")
    shown = tenure(cluster, "slurm", "--config", str(configuration), "--dry-run")
    assert "n1 and n2" in shown
    assert cluster.job(job)["state_reason"] == "JobHeldUser"
    assert not (folder / "tenure/state.db").exists()

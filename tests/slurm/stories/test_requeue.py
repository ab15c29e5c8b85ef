"""A job past its expected runtime is requeued for one of higher priority, once per cooldown."""

import time
from pathlib import Path

import pytest

from tests.slurm.slurm_adapter import run_slurm_adapter
from tests.slurm.slurm_cluster import NODES, SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(240)]
EIGHT = "--gres=gpu:8"


def test_requeue_after_the_expected_runtime_and_its_cooldown(cluster: SlurmCluster, folder: Path) -> None:
    server = folder / "server.yaml"
    server.write_text('actions: "allocate, requeue"\n')
    with run_slurm_adapter(cluster, folder / "tenure", "--config", str(server), "--no-records"):
        option = "--comment=tenure: expected-runtime=6s, requeue-delay=1h"
        long = cluster.submit(EIGHT, f"-N{NODES}", "--account=research", "--partition=low", option)
        cluster.wait_for(long, "RUNNING")
        started = cluster.job(long)["start_time"]
        first = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high", body="sleep 3")
        cluster.wait_for(long, "PENDING", 60)
        assert time.time() - started >= 6
        cluster.wait_for(first, "COMPLETED", 60)
        cluster.wait_for(long, "RUNNING", 60)
        second = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high")
        time.sleep(10)
        assert cluster.job(second)["job_state"] == "PENDING"
        assert (cluster.job(long)["job_state"], cluster.job(long)["restart_cnt"]) == ("RUNNING", 1)

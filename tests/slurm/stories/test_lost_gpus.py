"""A job that a restarted slurmctld starts before its node has reported leaves its GPUs counted as used."""

import json
from pathlib import Path

import pytest

from tests.slurm.slurm_adapter import run_slurm_adapter
from tests.slurm.slurm_cluster import OPEN_GATE, SlurmCluster, run_slurm

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("slurm_programs"),
]
_EIGHT = "--gres=gpu:8"
_ENDS_SLOWLY = "trap 'sleep 3; exit 0' TERM\ntouch {file}\nsleep 600 & wait; sleep 3"


def lose_gpus(cluster: SlurmCluster) -> None:
    """Let Slurm lose the GPUs of n1."""
    made = cluster.folder / "made-by-jobs"
    made.mkdir()
    made.chmod(0o777)
    file = made / "started"
    ending = cluster.submit(_EIGHT, "--nodelist=n1", body=_ENDS_SLOWLY.format(file=file))
    cluster.wait(file.exists, "its script runs")
    early = cluster.submit(_EIGHT, "--nodelist=n1", "--hold")
    cluster.command("scontrol", "requeuehold", "Incomplete", str(ending))
    cluster.programs["slurmctld"].terminate(30)
    cluster.start_controller()
    cluster.command("scontrol", "release", str(early))
    cluster.wait_for(early, "RUNNING")
    cluster.wait(lambda: node(cluster)["slurmd_start_time"] > 0, "n1 has reported")
    cluster.command("scancel", str(early))
    cluster.wait_for(early, "CANCELLED")
    cluster.wait(lambda: node(cluster)["gres_used"] == "gpu:a100:8(IDX:0-7)", "the GPUs are lost")
    cluster.command("scancel", str(ending))


def node(cluster: SlurmCluster) -> dict[str, object]:
    rows = json.loads(cluster.command("sinfo", "--json"))["nodes"]
    return next(row for row in rows if row["name"] == "n1")


def test_gpus_that_slurm_lost_are_left_out_until_its_configuration_is_read_again(folder: Path) -> None:
    settings = folder / "tenure"
    settings.mkdir()
    slow = {"KillWait=2": "KillWait=20"}
    with run_slurm(folder / "slurm", OPEN_GATE, nodes=2, replaced=slow) as cluster:
        lose_gpus(cluster)
        with run_slurm_adapter(cluster, settings) as adapter:
            first = cluster.submit(_EIGHT, "-N1", "--hold")
            cluster.wait_for(first, "RUNNING", 60)
            assert cluster.job(first)["nodes"] == "n2"
            second = cluster.submit(_EIGHT, "-N1", "--hold")
            cluster.wait(lambda: "waits" in cluster.job(second)["admin_comment"], "the other job waits")
            assert "node n1: Slurm counts 8 GPUs as used that no job has" in adapter.output
            cluster.command("scontrol", "reconfigure")
            cluster.wait_for(second, "RUNNING", 60)
            assert cluster.job(second)["nodes"] == "n1"
            assert cluster.job(first)["job_state"] == "RUNNING"

"""Notices on a real cluster: a job learns of its requeue, saves its work, and learns of a withdrawal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.slurm_adapter import SlurmAdapter, run_slurm_adapter
from tests.slurm.slurm_cluster import NODES, SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(240)]
EIGHT = "--gres=gpu:8"
_BODY = "trap 'echo saved >&2' USR1\nsleep 600 &\nwhile :; do wait; done"


@pytest.fixture
def adapter(cluster: SlurmCluster, folder: Path) -> Iterator[SlurmAdapter]:
    server = folder / "server.yaml"
    server.write_text('actions: "allocate, preempt"\noptions: {maxNotice: 1m}\n')
    with run_slurm_adapter(cluster, folder / "tenure", "--config", str(server), "--no-records") as running:
        yield running


def start_victim(cluster: SlurmCluster, folder: Path, *options: str) -> tuple[int, Path]:
    """A low job on all nodes, and the file that its standard error goes to."""
    said = folder / "said"
    said.touch(0o666)
    said.chmod(0o666)
    where = (f"--error={said}", "--open-mode=append", "--partition=low", "--account=research")
    job = cluster.submit(EIGHT, f"-N{NODES}", *where, *options, body=_BODY)
    cluster.wait_for(job, "RUNNING", 60)
    return job, said


def test_job_is_told_saves_its_work_and_is_requeued(
    cluster: SlurmCluster, adapter: SlurmAdapter, folder: Path
) -> None:
    job, said = start_victim(cluster, folder, "--comment=tenure: notice=8s, checkpoint-on-notice=true")
    preemptor = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high")
    cluster.wait(lambda: "tenure: this job will be requeued at 20" in said.read_text(), "it is told", 60)
    assert cluster.job(job)["restart_cnt"] == 0
    cluster.wait(lambda: "saved" in said.read_text(), "it saves its work")
    cluster.wait_for(preemptor, "RUNNING", 60)
    assert cluster.job(job)["restart_cnt"] == 1


def test_notice_is_withdrawn_when_the_other_job_is_cancelled(
    cluster: SlurmCluster, adapter: SlurmAdapter, folder: Path
) -> None:
    job, said = start_victim(cluster, folder, "--comment=tenure: notice=60s")
    preemptor = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high")
    cluster.wait(lambda: "will be requeued at" in said.read_text(), "it is told", 60)
    cluster.command("scancel", str(preemptor))
    cluster.wait(lambda: "will not be requeued" in said.read_text(), "it is told again", 60)
    assert (cluster.job(job)["job_state"], cluster.job(job)["restart_cnt"]) == ("RUNNING", 0)

"""The owner of a job holds it while the adapter starts it: the job does not start against the hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.slurm.faults.striking_commands import Strike, StrikingCommands, When
from tests.slurm.slurm_adapter import SlurmAdapter, write_configuration
from tests.slurm.slurm_cluster import SlurmCluster
from tests.slurm.stories.test_jobs import comment

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]
HOLD = (
    "for job in $(squeue -h -o %A -n raced); do setpriv --reuid=games --clear-groups scontrol hold $job; done"
)
MOMENTS: Final[dict[tuple[int, When], str]] = {
    (2, "before"): "ReqNodeList=n",
    (2, "after"): "ReqNodeList=n",
    (3, "before"): "ExcNodeList= Priority=1",
}
"""Before or after which command of the adapter the owner holds the job, and a part of this command."""


@pytest.fixture(params=MOMENTS, ids=["before-place", "after-place", "before-start"])
def moment(request: pytest.FixtureRequest) -> tuple[int, When]:
    found: tuple[int, When] = request.param
    return found


@pytest.fixture
def commands(moment: tuple[int, When], folder: Path, cluster: SlurmCluster) -> StrikingCommands:
    return StrikingCommands(folder / "commands", Strike(HOLD, *moment))


@pytest.fixture
def adapter(
    cluster: SlurmCluster, folder: Path, server: str, commands: StrikingCommands
) -> Iterator[SlurmAdapter]:
    running = SlurmAdapter(cluster, write_configuration(folder / "tenure", server), commands.folder)
    yield running
    running.kill()


def test_job_that_is_held_while_it_is_started_waits(
    cluster: SlurmCluster, adapter: SlurmAdapter, commands: StrikingCommands, moment: tuple[int, When]
) -> None:
    job = cluster.submit("-N1", "--gres=gpu:1", "--job-name=raced", user="games")
    adapter.start()
    cluster.wait(lambda: commands.has_struck, "the owner has held the job")
    assert MOMENTS[moment] in commands.writes[moment[0] - 1]
    cluster.wait(lambda: "its owner holds it" in comment(cluster, job), "it says that it is held")
    assert cluster.job(job)["job_state"] == "PENDING"
    assert cluster.job(job)["comment"] == "tenure: hold=true"
    cluster.command("scontrol", "release", str(job), user="games")
    cluster.wait_for(job, "RUNNING", 60)

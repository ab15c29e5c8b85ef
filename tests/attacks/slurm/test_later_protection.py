"""What a user writes on a running job does not keep the GPUs that another account lent it."""

import pytest

from tests.slurm.slurm_adapter import SlurmAdapter
from tests.slurm.slurm_cluster import SlurmCluster
from tests.slurm.stories.test_jobs import EIGHT, fill, states

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "change",
    ["Comment=tenure: preemptibility=non-preemptible", "Comment=tenure: preemptibility=mine", "Requeue=0"],
)
def test_lent_gpus_return_whatever_the_user_writes(
    cluster: SlurmCluster, adapter: SlurmAdapter, change: str
) -> None:
    """The account has the quota for half of its jobs: those keep what their user wants later."""
    lent = fill(cluster, "research")
    owners = {job: cluster.job(job)["user_name"] for job in lent}
    for job, user in owners.items():
        cluster.command("scontrol", "update", f"JobId={job}", change, user=str(user))
    returned = cluster.submit(EIGHT, "-N4", "--account=vision", user="news")
    cluster.wait_for(returned, "RUNNING", 90)
    assert sorted(states(cluster, lent)) == ["PENDING"] * 4 + ["RUNNING"] * 4

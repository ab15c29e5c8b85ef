"""A cluster with slurmdbd: its accounts or QOS are the queue tree, with their shares and limits."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.server.servers import run_server_process
from tests.slurm.accounting import run_slurm_with_accounts
from tests.slurm.slurm_adapter import SlurmAdapter, gate, write_configuration
from tests.slurm.slurm_cluster import NODES, SlurmCluster
from tests.slurm.stories.test_jobs import EIGHT, comment, fill, states
from tests.slurm.stories.test_questions import tenure

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.timeout(240),
    pytest.mark.usefixtures("slurm_programs"),
]
Adapters = Callable[..., AbstractContextManager[SlurmAdapter]]


@pytest.fixture
def cluster(folder: Path) -> Iterator[SlurmCluster]:
    """A cluster with Tenure's gate, accounts and QOS."""
    settings = folder / "tenure"
    settings.mkdir()
    with run_slurm_with_accounts(folder / "slurm", gate(settings)) as running:
        yield running


@pytest.fixture
def adapters(cluster: SlurmCluster, folder: Path) -> Adapters:
    """Runs an adapter with settings, without a file of queues: Slurm knows them."""

    @contextmanager
    def run(**settings: object) -> Iterator[SlurmAdapter]:
        with run_server_process() as (_, address):
            given = {"queuesFile": None, **settings}
            adapter = SlurmAdapter(cluster, write_configuration(folder / "tenure", address, **given))
            adapter.start()
            try:
                yield adapter
            finally:
                adapter.kill()

    return run


def test_accounts_share_by_their_shares_within_their_limits(
    cluster: SlurmCluster, adapters: Adapters, folder: Path
) -> None:
    assert cluster.try_command("sbatch", "--account=unknown", "--wrap=true", user="games").returncode == 1
    with adapters():
        running = fill(cluster, "vision", NODES)
        jobs = [cluster.submit(EIGHT, "-N1", "--account=research") for _ in range(NODES)]
        # 40 GPUs: its shares are three of four, its limit is lower.
        expected = ["PENDING"] * 3 + ["RUNNING"] * 5
        cluster.wait(lambda: sorted(states(cluster, jobs)) == expected, "five jobs run", 90)
        (waiting, *_) = [job for job in jobs if cluster.job(job)["job_state"] == "PENDING"]
        cluster.wait(lambda: "GPU limit" in comment(cluster, waiting), "the job says why it waits")
        assert sorted(states(cluster, running)) == ["PENDING"] * 5 + ["RUNNING"] * 3
        file = folder / "cluster.json"
        tenure(cluster, "slurm", "--config", str(folder / "tenure/slurm.yaml"), "--capture", str(file))
    queues = {queue["name"]: queue for queue in json.loads(file.read_text())["queues"]}
    assert {name: queue.get("parent", "") for name, queue in queues.items()} == {
        "lab": "",
        "research": "lab",
        "vision": "lab",
        "vision/direct": "vision",
        "speech": "vision",
    }


def test_number_of_jobs_of_an_account_is_limited_also_while_slurmdbd_is_away(
    cluster: SlurmCluster, adapters: Adapters
) -> None:
    with adapters():
        jobs = [
            cluster.submit("--gres=gpu:1", "-N1", "--account=speech", user="news", body=f"sleep {seconds}")
            for seconds in (8, 600, 600, 600)
        ]
        for job in jobs[:3]:
            cluster.wait_for(job, "RUNNING")
        cluster.programs.pop("slurmdbd").kill()
        cluster.wait(lambda: comment(cluster, jobs[3]).startswith("tenure: waits:"), "the fourth job waits")
        cluster.wait_for(jobs[0], "COMPLETED")
        cluster.wait_for(jobs[3], "RUNNING", 60)


def test_qos_are_queues_with_their_limits(cluster: SlurmCluster, adapters: Adapters) -> None:
    with adapters(queueFrom="qos", priorities={"urgent": 90}):
        night = [cluster.submit(EIGHT, "-N1", "--qos=night") for _ in range(3)]
        for job in night[:2]:
            cluster.wait_for(job, "RUNNING")
        cluster.wait(lambda: "GPU limit" in comment(cluster, night[2]), "the job says why it waits")
        urgent = cluster.submit(EIGHT, "-N3", "--qos=urgent")  # 24 GPUs: its account has 40
        cluster.wait_for(urgent, "RUNNING")
        assert states(cluster, night) == ["RUNNING", "RUNNING", "PENDING"]

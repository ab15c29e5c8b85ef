"""No job is requeued for one that Slurm would not start, and no node is kept free for it: it says why."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.accounting import run_slurm_with_accounts
from tests.slurm.slurm_adapter import SlurmAdapter, gate, run_slurm_adapter
from tests.slurm.slurm_cluster import NODES, SlurmCluster
from tests.slurm.stories.test_jobs import EIGHT, comment, fill, states

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(240), pytest.mark.usefixtures("slurm_programs")]


@pytest.fixture
def cluster(folder: Path) -> Iterator[SlurmCluster]:
    """A cluster with slurmdbd; each user may use 12 GPUs of the QOS `night` and run one job of `urgent`."""
    settings = folder / "tenure"
    settings.mkdir()
    with run_slurm_with_accounts(folder / "slurm", gate(settings)) as running:
        for limit in ("normal set MaxTRESPerUser=gres/gpu=80", "urgent set MaxTRESPerUser=gres/gpu=12"):
            running.command("sacctmgr", "-i", "modify", "qos", *limit.split())
        running.command("sacctmgr", "-i", "modify", "account", "research", "set", "GrpTRES=gres/gpu=-1")
        yield running


@pytest.fixture
def adapter(cluster: SlurmCluster, folder: Path) -> Iterator[SlurmAdapter]:
    with run_slurm_adapter(cluster, folder / "tenure") as running:
        yield running


def restarts(cluster: SlurmCluster, jobs: list[int]) -> list[int]:
    listed = cluster.jobs()
    return [listed[job]["restart_cnt"] for job in jobs]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param(
            ("-N2", "--qos=urgent"), "MaxTRESPerUser=gres/gpu=12 of QOS urgent", id="limit-of-the-user"
        ),
        pytest.param(("-N1", "--tmp=1"), "BadConstraints", id="temporary-disk"),
        pytest.param(("-N1", "--mincpus=100"), "no node meets its requirements", id="cpus-that-no-node-has"),
        pytest.param(("-N1", "--cores-per-socket=4"), "BadConstraints", id="cores-of-a-socket"),
    ],
)
def test_nothing_is_evicted_for_a_job_that_slurm_refuses(
    cluster: SlurmCluster, adapter: SlurmAdapter, options: tuple[str, ...], why: str
) -> None:
    running = fill(cluster, "research", NODES, "--partition=low")
    refused = cluster.submit(EIGHT, *options, "--account=research", "--partition=high")
    cluster.wait(lambda: why in comment(cluster, refused), "it says why it waits")
    assert comment(cluster, refused).startswith("tenure: waits: ")
    time.sleep(4)
    assert (states(cluster, running), restarts(cluster, running)) == (["RUNNING"] * NODES, [0] * NODES)
    allowed = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high")
    cluster.wait_for(allowed, "RUNNING")
    assert sum(restarts(cluster, running)) == 1


def test_job_starts_when_the_limit_permits_it(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    running = fill(cluster, "research", NODES, "--partition=low")
    first = cluster.submit(EIGHT, "-N1", "--qos=urgent", "--account=research", "--partition=high")
    cluster.wait_for(first, "RUNNING")
    second = cluster.submit(EIGHT, "-N1", "--qos=urgent", "--account=research", "--partition=high")
    cluster.wait(
        lambda: "MaxTRESPerUser=gres/gpu=12 of QOS urgent" in comment(cluster, second), "the limit is named"
    )
    assert sum(restarts(cluster, running)) == 1
    cluster.command("scancel", str(first))
    cluster.wait_for(second, "RUNNING", 60)


def test_job_starts_when_the_limit_is_raised(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    job = cluster.submit(EIGHT, "-N2", "--qos=urgent", "--account=research")
    cluster.wait(
        lambda: "MaxTRESPerUser=gres/gpu=12 of QOS urgent" in comment(cluster, job), "the limit is named"
    )
    cluster.command("sacctmgr", "-i", "modify", "qos", "urgent", "set", "MaxTRESPerUser=gres/gpu=16")
    cluster.wait_for(job, "RUNNING", 90)


def test_refused_starts_do_not_delay_others(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    refused = [cluster.submit(EIGHT, "-N1", "--tmp=1", "--account=research") for _ in range(6)]
    job = cluster.submit(EIGHT, "-N1", "--account=research")
    cluster.wait_for(job, "RUNNING", 10)
    for one in refused:
        cluster.wait(lambda one=one: "BadConstraints" in comment(cluster, one), "it says why")  # type: ignore[misc]


def test_silent_scheduler_evicts_nothing(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    """Slurm looks at new jobs once a minute only: it does not say in time what they wait for."""
    running = fill(cluster, "research", NODES, "--partition=low")
    text = cluster.configuration.read_text()
    slow = text.replace("batch_sched_delay=0,bf_interval=5", "batch_sched_delay=60,bf_interval=300,defer")
    assert slow != text
    cluster.configuration.write_text(slow)
    cluster.command("scontrol", "reconfigure")
    job = cluster.submit(EIGHT, "-N1", "--account=research", "--partition=high")
    cluster.wait(lambda: "Slurm did not say within 15 s" in comment(cluster, job), "it says why it waits", 60)
    assert (states(cluster, running), restarts(cluster, running)) == (["RUNNING"] * NODES, [0] * NODES)
    cluster.configuration.write_text(text)
    cluster.command("scontrol", "reconfigure")
    cluster.wait_for(job, "RUNNING", 150)
    assert sum(restarts(cluster, running)) == 1


def test_second_job_over_a_limit_takes_no_victims(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    """Each of them alone is within the limit of its user, both are not."""
    running = fill(cluster, "research", NODES, "--partition=low")
    options = (EIGHT, "-N1", "--qos=urgent", "--account=research", "--partition=high")
    jobs = [cluster.submit(*options) for _ in range(3)]
    cluster.wait(lambda: sorted(states(cluster, jobs)) == ["PENDING"] * 2 + ["RUNNING"], "one runs", 60)
    time.sleep(6)
    assert sorted(states(cluster, jobs)) == ["PENDING"] * 2 + ["RUNNING"]
    assert sum(restarts(cluster, running)) == 1

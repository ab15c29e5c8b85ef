"""Operation: unsafe settings, partitions of others, several adapters, restarts, and lost nodes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tenure.slurm.observe.refused_starts import KEPT_HELD

from tests.server.servers import run_server_process
from tests.slurm.slurm_adapter import SlurmAdapter, gate, run_slurm_adapter, write_configuration
from tests.slurm.slurm_cluster import OPEN_GATE, SlurmCluster, run_slurm
from tests.small_snapshot import child_environment

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.timeout(240),
    pytest.mark.usefixtures("slurm_programs"),
]
EIGHT = "--gres=gpu:8"


@pytest.fixture
def settings(folder: Path) -> Path:
    made = folder / "tenure"
    made.mkdir()
    return made


def start_and_fail(cluster: SlurmCluster, configuration: Path) -> str:
    """What an adapter says that refuses to start."""
    command = (sys.executable, "-m", "tenure.cli", "slurm", "--config", str(configuration))
    environment = {**child_environment(), **cluster.environment}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    return ended.stderr


def test_unsafe_settings_of_slurm_are_refused_at_start(folder: Path, settings: Path) -> None:
    unsafe = {
        "priority/multifactor": "priority/basic",
        "preempt/none": "preempt/partition_prio",
        "JobSubmitPlugins=lua": "PreemptMode=REQUEUE",
    }
    with run_slurm(folder / "slurm", gate(settings), nodes=2, replaced=unsafe) as cluster:
        said = start_and_fail(cluster, write_configuration(settings, "127.0.0.1:1"))
    for text in ("PriorityType=priority/multifactor", "PreemptType=preempt/none", "JobSubmitPlugins=lua"):
        assert f"set {text}" in said


def test_partition_that_shares_nodes_is_refused_at_start(folder: Path, settings: Path) -> None:
    shared = {"PartitionName=low": "PartitionName=debug"}
    with run_slurm(folder / "slurm", gate(settings), nodes=2, replaced=shared) as cluster:
        configuration = write_configuration(settings, "127.0.0.1:1", partitions=["gpu", "high"])
        assert "partition debug shares 2 nodes with Tenure, such as n1" in start_and_fail(
            cluster, configuration
        )


def test_partition_of_others_is_left_to_slurm(folder: Path, settings: Path) -> None:
    with (
        run_slurm(folder / "slurm", gate(settings), nodes=3, foreign=1) as cluster,
        run_slurm_adapter(cluster, settings) as adapter,
    ):
        other = cluster.submit("--partition=cpu", "--gres=gpu:1", "-N1", "--nice=3")
        own = cluster.submit(EIGHT, "-N2")
        cluster.wait_for(own, "RUNNING")
        cluster.wait_for(other, "RUNNING")
        listed = cluster.job(other)
        assert (listed["nodes"], listed["admin_comment"]) == ("n3", "")
        waiting = cluster.submit(EIGHT, "-N1")
        cluster.wait(lambda: "waits" in cluster.job(waiting)["admin_comment"], "the partition is full")
        assert "n3" not in adapter.output
        later = cluster.submit("--partition=cpu", "-N1", "--begin=now+1hour")
        moved = cluster.try_command("scontrol", "update", f"JobId={later}", "Partition=gpu", user="games")
        assert moved.returncode == 1
        assert cluster.job(later)["partition"] == "cpu"


def test_second_adapter_takes_over_when_the_first_is_killed(cluster: SlurmCluster, folder: Path) -> None:
    with run_server_process() as (_, address):
        configuration = write_configuration(folder / "tenure", address)
        first, second = (SlurmAdapter(cluster, configuration) for _ in range(2))
        first.start()
        try:
            cluster.wait(lambda: first.output.count("Acquired lease") == 1, "the first leads")
            second.start()
            before = cluster.submit(EIGHT, "-N1")
            cluster.wait_for(before, "RUNNING")
            assert second.output.count("Acquired lease") == 1
            first.kill()
            after = cluster.submit(EIGHT, "-N1")
            cluster.wait_for(after, "RUNNING")
            assert second.output.count("Acquired lease") == 2
            assert cluster.job(before)["restart_cnt"] == 0
        finally:
            first.kill()
            second.kill()


def test_restart_of_the_controller_changes_no_job(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    running = cluster.submit(EIGHT, "-N2")
    cluster.wait_for(running, "RUNNING")
    cluster.programs["slurmctld"].terminate(30)
    cluster.start_controller()
    after = cluster.submit(EIGHT, "-N1")
    cluster.wait_for(after, "RUNNING", 60)
    listed = cluster.job(running)
    assert (listed["job_state"], listed["restart_cnt"], listed["nodes"]) == ("RUNNING", 0, "n[1-2]")


def test_job_of_a_lost_node_returns_held_and_starts_elsewhere(folder: Path, settings: Path) -> None:
    with (
        run_slurm(folder / "slurm", gate(settings), nodes=3, node_timeout=5) as cluster,
        run_slurm_adapter(cluster, settings) as adapter,
    ):
        job = cluster.submit(EIGHT, "-N2")
        cluster.wait_for(job, "RUNNING")
        lost = cluster.job(job)["nodes"]
        assert lost == "n[1-2]"
        cluster.programs.pop("slurmd-n1").kill()
        cluster.wait(lambda: cluster.job(job)["nodes"] == "n[2-3]", "the job runs elsewhere", 120)
        assert cluster.job(job)["restart_cnt"] == 1
        assert "was not held" not in adapter.output


def test_job_that_slurm_does_not_start_says_why(folder: Path, settings: Path) -> None:
    limited = {"PartitionName=low": "PartitionName=low MaxNodes=1"}
    with (
        run_slurm(folder / "slurm", gate(settings), nodes=2, replaced=limited) as cluster,
        run_slurm_adapter(cluster, settings) as adapter,
    ):
        job = cluster.submit(EIGHT, "-N2", "--partition=low")
        why = "tenure: waits: Slurm did not start the job: PartitionNodeLimit"
        cluster.wait(lambda: cluster.job(job)["admin_comment"] == why, "its comment says why", 60)
        assert cluster.job(job)["priority"] == 0
        assert f"Slurm did not start job {job} on n1,n2: PartitionNodeLimit" in adapter.output


def test_job_that_ran_before_tenure_keeps_running(folder: Path, settings: Path) -> None:
    with run_slurm(folder / "slurm", OPEN_GATE, nodes=2) as cluster:
        job = cluster.submit(EIGHT, "-N2", "--account=research")
        cluster.wait_for(job, "RUNNING")
        waiting = cluster.submit(EIGHT, "-N2", "--account=vision")
        with run_slurm_adapter(cluster, settings):
            cluster.wait(lambda: cluster.job(waiting)["priority"] == 0, "the waiting job is held")
            assert (cluster.job(job)["job_state"], cluster.job(job)["priority"] > 0) == ("RUNNING", True)


def test_job_without_the_gate_waits_and_says_what_is_missing(folder: Path, settings: Path) -> None:
    """A gate that is written later starts it, once the pause after the refusal is over."""
    with run_slurm(folder / "slurm", OPEN_GATE, nodes=2) as cluster:
        busy = cluster.submit(EIGHT, "-N2", "--account=research", body="sleep 20")
        cluster.wait_for(busy, "RUNNING")
        waiting = cluster.submit(EIGHT, "-N2", "--account=vision")
        with run_slurm_adapter(cluster, settings):
            why = f"tenure: waits: {KEPT_HELD}"
            cluster.wait(lambda: cluster.job(waiting)["admin_comment"] == why, "its comment says why", 60)
            cluster.await_script_change()
            (cluster.folder / "job_submit.lua").write_text(gate(settings))
            cluster.command("scontrol", "reconfigure")
            cluster.wait_for(waiting, "RUNNING", 60)


def test_adapter_that_ends_leaves_no_job_released(folder: Path, settings: Path) -> None:
    """Slurm looks at new jobs once a minute only: it would start the job without an adapter."""
    slow = {"batch_sched_delay=0,bf_interval=5": "batch_sched_delay=60,bf_interval=300,defer"}
    with (
        run_slurm(folder / "slurm", gate(settings), nodes=2, replaced=slow) as cluster,
        run_slurm_adapter(cluster, settings) as adapter,
    ):
        job = cluster.submit(EIGHT, "-N1")
        cluster.wait(lambda: cluster.job(job)["priority"] > 0, "it is released")
        assert adapter.process is not None
        assert adapter.process.terminate(30) == 0
        listed = cluster.job(job)
        assert (listed["job_state"], listed["priority"]) == ("PENDING", 0)

"""Jobs of users start, wait, are protected, and yield, as they would on Kubernetes."""

import time
from pathlib import Path

import pytest
from tenure.slurm.release import REST_SECONDS

from tests.slurm.slurm_adapter import SlurmAdapter, gate, run_slurm_adapter
from tests.slurm.slurm_cluster import GPUS, NODES, SlurmCluster, run_slurm

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]
EIGHT = "--gres=gpu:8"


def fill(cluster: SlurmCluster, account: str, nodes: int = NODES, *options: str) -> list[int]:
    """Jobs of one node each, which run."""
    jobs = [cluster.submit(EIGHT, "-N1", f"--account={account}", *options) for _ in range(nodes)]
    for job in jobs:
        cluster.wait_for(job, "RUNNING")
    return jobs


def states(cluster: SlurmCluster, jobs: list[int]) -> list[str]:
    listed = cluster.jobs()
    return [listed[job]["job_state"] for job in jobs]


def comment(cluster: SlurmCluster, job: int) -> str:
    """What the user sees about a job."""
    return cluster.command("squeue", "-h", "-j", str(job), "-O", "admin_comment:400", user="news").strip()


def test_gang_runs_on_the_nodes_that_were_decided(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    job = cluster.submit("--gres=gpu:a100:8", "-N4", "--ntasks-per-node=2", "--account=research")
    cluster.wait_for(job, "RUNNING")
    row = cluster.job(job)
    assert row["node_count"] == 4
    assert row["gres_detail"] == [f"gpu:a100:{GPUS}(IDX:0-7)"] * 4
    assert cluster.job(job)["priority"] > 0, "accounting loses a running job that is held"


def test_gang_that_does_not_fit_waits_as_a_whole_and_says_why(
    cluster: SlurmCluster, adapter: SlurmAdapter
) -> None:
    fill(cluster, "research", 4)
    job = cluster.submit(EIGHT, "-N5", "--account=research")
    cluster.wait(lambda: comment(cluster, job).startswith("tenure: waits:"), "the job says why it waits")
    assert cluster.job(job)["job_state"] == "PENDING"


def test_array_runs_as_far_as_its_throttle_lets_it(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    array = cluster.submit("--array=0-3%2", "--gres=gpu:1", "-N1", body="sleep 2")

    def tasks(state: str) -> int:
        found = [job for job in cluster.jobs().values() if job["array_job_id"] == array]
        return sum(job["job_state"] == state and job["array_task_id"] is not None for job in found)

    most = 0
    end = time.monotonic() + 60
    while tasks("COMPLETED") < 4 and time.monotonic() < end:
        most = max(most, tasks("RUNNING"))
        time.sleep(0.2)
    assert (tasks("COMPLETED"), most) == (4, 2)


def test_task_of_an_array_yields_alone_and_runs_again(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    tasks = f"--array=0-{NODES - 1}"
    array = cluster.submit(tasks, EIGHT, "-N1", "--account=research", "--partition=low")

    def found(state: str) -> dict[int, int]:
        """Restarts of the tasks with this state, by number. Tasks that were not touched have none."""
        listed = [job for job in cluster.jobs().values() if job["array_job_id"] == array]
        return {job["array_task_id"]: job["restart_cnt"] for job in listed if job["job_state"] == state}

    cluster.wait(lambda: len(found("RUNNING")) == NODES, "all tasks run", 60)
    job = cluster.submit(EIGHT, "-N2", "--account=research", "--partition=high")
    cluster.wait_for(job, "RUNNING", 60)
    assert list(found("PENDING").values()) == [1, 1]
    assert sorted(found("RUNNING").values()) == [0] * (NODES - 2)
    cluster.command("scancel", str(job))
    cluster.wait(lambda: sorted(found("RUNNING").values()) == [0] * (NODES - 2) + [1, 1], "all run again", 60)


def test_reclaim_waits_until_the_minimum_runtime_has_passed(
    cluster: SlurmCluster, adapter: SlurmAdapter
) -> None:
    running = fill(cluster, "research")
    started = min(cluster.job(job)["start_time"] for job in running)
    job = cluster.submit(EIGHT, "-N1", "--account=vision", user="news")
    cluster.wait(lambda: "protected" in comment(cluster, running[0]), "the protection is visible")
    cluster.wait_for(job, "RUNNING", 60)
    assert cluster.job(job)["start_time"] - started >= 8
    assert sorted(states(cluster, running)) == ["PENDING"] + ["RUNNING"] * 7
    (victim,) = [one for one in running if cluster.job(one)["job_state"] == "PENDING"]
    assert cluster.job(victim)["restart_cnt"] == 1


def test_preemption_within_an_account_takes_the_lower_priority(
    cluster: SlurmCluster, adapter: SlurmAdapter
) -> None:
    running = fill(cluster, "research", NODES, "--partition=low")
    job = cluster.submit(EIGHT, "-N2", "--account=research", "--partition=high")
    cluster.wait_for(job, "RUNNING", 60)
    cluster.wait(lambda: sorted(states(cluster, running)) == ["PENDING"] * 2 + ["RUNNING"] * 6, "two yield")


@pytest.mark.parametrize(
    "option", ["--no-requeue", "--comment=tenure: preemptibility=non-preemptible"], ids=["slurm", "tenure"]
)
def test_job_that_is_not_preemptible_is_never_evicted(
    cluster: SlurmCluster, adapter: SlurmAdapter, option: str
) -> None:
    kept = fill(cluster, "research", 4, "--partition=low", option)
    taken = fill(cluster, "research", 4, "--partition=low")
    job = cluster.submit(EIGHT, "-N4", "--account=research", "--partition=high")
    cluster.wait_for(job, "RUNNING", 60)
    assert states(cluster, kept) == ["RUNNING"] * 4
    assert [cluster.job(one)["restart_cnt"] for one in kept] == [0] * 4
    assert states(cluster, taken) == ["PENDING"] * 4


def test_semi_preemptible_job_of_minimum_size_is_kept(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    option = "--comment=tenure: preemptibility=semi-preemptible"
    kept = fill(cluster, "research", 4, "--partition=low", option)
    job = cluster.submit(EIGHT, "-N5", "--account=research", "--partition=high")
    cluster.wait(lambda: comment(cluster, job).startswith("tenure: waits:"), "the job says why it waits")
    time.sleep(4)
    assert states(cluster, kept) == ["RUNNING"] * 4


def test_requeue_by_its_owner_does_not_start_the_job_beside_tenure(
    cluster: SlurmCluster, adapter: SlurmAdapter
) -> None:
    (job,) = fill(cluster, "research", 1)
    cluster.command("scontrol", "requeue", str(job), user="games")
    cluster.wait(lambda: cluster.job(job)["restart_cnt"] == 1, "the job was requeued")
    cluster.wait_for(job, "RUNNING", 60)
    listed = cluster.job(job)
    assert listed["start_time"] >= listed["submit_time"] + REST_SECONDS
    assert "was not held" not in adapter.output


def test_owner_cannot_start_or_place_a_job(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    fill(cluster, "research")
    job = cluster.submit(EIGHT, "-N8", "--account=research")
    for command in (("release", str(job)), ("update", f"JobId={job}", "ReqNodeList=n1")):
        assert cluster.try_command("scontrol", *command, user="games").returncode == 1
    assert cluster.try_command("scontrol", "update", f"JobId={job}", "Nice=5", user="games").returncode == 1
    assert cluster.job(job)["job_state"] == "PENDING"


def test_dependency_starts_when_it_is_satisfied(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    first = cluster.submit("--gres=gpu:1", "-N1", body="sleep 3")
    second = cluster.submit(f"--dependency=afterok:{first}", "--gres=gpu:1", "-N1")
    cluster.wait_for(first, "COMPLETED")
    cluster.wait_for(second, "RUNNING")
    assert cluster.job(second)["start_time"] >= cluster.job(first)["end_time"]


def test_hold_in_the_comment_of_a_job(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    held = cluster.submit("--gres=gpu:1", "-N1", "--comment=tenure: hold=true")
    cluster.wait_for(cluster.submit("--gres=gpu:1", "-N1"), "RUNNING")
    assert cluster.job(held)["job_state"] == "PENDING"
    cluster.command("scontrol", "update", f"JobId={held}", "Comment=", user="games")
    cluster.wait_for(held, "RUNNING", 60)


def test_owner_holds_and_releases_a_job_as_with_slurm(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    held = cluster.submit("--gres=gpu:1", "-N1", "--hold")
    cluster.wait(lambda: "its owner holds it" in comment(cluster, held), "it says that it is held")
    cluster.command("scontrol", "release", str(held), user="games")
    cluster.wait_for(held, "RUNNING")
    later = cluster.submit(EIGHT, "-N8", "--comment=tenure: expected-runtime=2h")
    cluster.command("scontrol", "hold", str(later), user="games")
    cluster.command("scancel", str(held))
    cluster.wait(lambda: "its owner holds it" in comment(cluster, later), "it is held")
    cluster.command("scontrol", "release", str(later), user="games")
    cluster.wait_for(later, "RUNNING")
    assert cluster.job(later)["comment"] == "tenure: expected-runtime=2h"


def test_administrator_gives_a_job_top_priority(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    running = fill(cluster, "research", NODES, "--partition=high")
    jobs = [cluster.submit(EIGHT, "-N8", "--account=research", "--partition=high") for _ in range(2)]
    cluster.wait(lambda: comment(cluster, jobs[1]).startswith("tenure: waits:"), "both wait")
    cluster.command("scontrol", "update", f"JobId={jobs[1]}", "Priority=4000000000")
    cluster.wait_for(jobs[1], "RUNNING", 60)
    assert states(cluster, [jobs[0]]) == ["PENDING"]
    assert states(cluster, running) == ["PENDING"] * NODES


def test_job_that_is_moved_to_a_partition_of_others_is_released_to_slurm(folder: Path) -> None:
    settings = folder / "tenure"
    settings.mkdir()
    with (
        run_slurm(folder / "slurm", gate(settings), nodes=2, foreign=1) as cluster,
        run_slurm_adapter(cluster, settings),
    ):
        waiting = cluster.submit(EIGHT, "-N1", "--comment=tenure: hold=true")
        cluster.wait(lambda: "its owner holds it" in comment(cluster, waiting), "it waits")
        cluster.command("scontrol", "update", f"JobId={waiting}", "Partition=cpu", user="games")
        cluster.wait_for(waiting, "RUNNING")
        cluster.wait(lambda: not cluster.job(waiting)["admin_comment"], "Tenure says nothing of it any more")


def test_impossible_dependency_says_so(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    failed = cluster.submit("--gres=gpu:1", "-N1", body="exit 1")
    job = cluster.submit(f"--dependency=afterok:{failed}", "--gres=gpu:1", "-N1")
    cluster.wait(lambda: "DependencyNeverSatisfied" in comment(cluster, job), "it says so")


def test_name_that_is_not_utf_8_stops_nothing(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    name = b"caf\xe9|\n\x1b[1m\"'".decode(errors="surrogateescape")
    jobs = [
        cluster.submit(f"--job-name={name}", "--gres=gpu:1", "-N1"),
        cluster.submit("--gres=gpu:1", "-N1"),
    ]
    for job in jobs:
        cluster.wait_for(job, "RUNNING")


def test_exclusive_job_shares_its_node_with_none(cluster: SlurmCluster, adapter: SlurmAdapter) -> None:
    alone = cluster.submit("--exclusive", "--gres=gpu:1", "-N1")
    cluster.wait_for(alone, "RUNNING")
    jobs = [cluster.submit(EIGHT, "-N1") for _ in range(7)] + [cluster.submit("--gres=gpu:1", "-N1")]
    for job in jobs[:7]:
        cluster.wait_for(job, "RUNNING")
    assert cluster.job(alone)["nodes"] not in [cluster.job(job)["nodes"] for job in jobs[:7]]
    assert cluster.job(jobs[7])["job_state"] == "PENDING"

"""Accounting stays whole: every run of every job is in sacct and sreport, as slurmctld itself recorded it.

slurmctld writes each run that ends into a file of its own (jobcomp/filetxt), which does not pass slurmdbd.
The same kinds of jobs run under Tenure and under Slurm's own scheduler, with preemption and requeues.
"""

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.slurm.accounting import run_slurm_with_accounts
from tests.slurm.slurm_adapter import gate, run_slurm_adapter
from tests.slurm.slurm_cluster import SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(550), pytest.mark.usefixtures("slurm_programs")]
JOBS: Final = 150
PLAIN: Final = "cpu"
"""The partition that Slurm schedules itself."""
_JOBCOMP: Final = "JobCompType=jobcomp/filetxt\nJobCompLoc={folder}/jobcomp.log\nMinJobAge=300"
_RECORD: Final = re.compile(r"JobId=(\d+) .*Partition=(\S+) .*StartTime=(\S+) EndTime=(\S+) .*ProcCnt=(\d+)")


class Ran(NamedTuple):
    """One run of a job."""

    job: int
    partition: str
    start: str
    end: str


@pytest.fixture
def cluster(folder: Path) -> Iterator[SlurmCluster]:
    settings = folder / "tenure"
    settings.mkdir()
    own = {"MinJobAge=300": _JOBCOMP}
    with run_slurm_with_accounts(folder / "slurm", gate(settings), foreign=4, more_replaced=own) as running:
        yield running


def submit_all(cluster: SlurmCluster) -> list[int]:
    """Jobs of many sizes for both partitions; those of Tenure preempt each other, and owners requeue some."""
    draw = random.Random(56)
    jobs: list[int] = []
    for number in range(JOBS):
        gpus, nodes, seconds = draw.choice((1, 1, 2, 4, 8)), draw.choice((1, 1, 1, 2)), draw.randint(1, 6)
        partition = PLAIN if number % 3 == 0 else draw.choice(("gpu", "low", "low", "high"))
        options = (f"--gres=gpu:{gpus}", f"-N{nodes}", f"--partition={partition}", "--account=research")
        jobs.append(cluster.submit(*options, body=f"sleep {seconds}"))
        if number % 10 == 9:
            running = [id for id, job in cluster.jobs().items() if job["job_state"] == "RUNNING"]
            for job in running[:1]:
                cluster.try_command("scontrol", "requeue", str(job), user="games")
    return jobs


def recorded_runs(cluster: SlurmCluster) -> Counter[Ran]:
    """Runs as slurmctld wrote them down."""
    lines = (cluster.folder / "jobcomp.log").read_text().splitlines()
    found = (_RECORD.search(line) for line in lines)
    return Counter(Ran(int(one[1]), one[2], one[3], one[4]) for one in found if one is not None)


def accounted_runs(cluster: SlurmCluster, since: str) -> Counter[Ran]:
    """Runs that sacct lists of the time since then."""
    fields = "JobIDRaw,Partition,Start,End"
    out = cluster.command("sacct", "-anPXD", "-S", since, "-o", fields)
    rows = (line.split("|") for line in out.splitlines())
    return Counter(Ran(int(job), partition, start, end) for job, partition, start, end in rows)


def test_every_run_is_in_the_accounting(cluster: SlurmCluster, folder: Path) -> None:
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 60))
    with run_slurm_adapter(cluster, folder / "tenure"):
        jobs = submit_all(cluster)
        held = set[int]()

        def have_ended() -> bool:
            listed = cluster.jobs()
            held.update(
                id for id, job in listed.items() if job["job_state"] == "RUNNING" and job["priority"] == 0
            )
            return all(listed[job]["job_state"] == "COMPLETED" for job in jobs)

        cluster.wait(have_ended, "all jobs have ended", 400)
        cluster.wait(lambda: len(recorded_runs(cluster)) >= JOBS, "all runs are recorded")
        recorded = recorded_runs(cluster)
        cluster.wait(lambda: accounted_runs(cluster, since) == recorded, "slurmdbd knows all runs", 60)
    assert not held, "running jobs were held"
    assert sum(recorded.values()) > JOBS, "some were requeued"
    for partition in ("gpu", PLAIN):
        assert any(run.partition == partition for run in recorded)
    accounted = sacct_seconds(cluster, since)
    assert set(accounted) == {run.partition for run in recorded} == {"gpu", "low", "high", PLAIN}
    for partition, seconds in accounted.items():
        assert reported_seconds(cluster, partition) == seconds, partition


def reported_seconds(cluster: SlurmCluster, partition: str) -> dict[str, int]:
    """CPU seconds by account that sreport counts in a partition. It counts in whole hours."""
    found: dict[str, int] = {}
    report = ("job", "sizesbyaccount", "FlatView", f"Partition={partition}")
    times = ("Start=now-2hours", "End=now+2hours")
    for line in cluster.command("sreport", "-nP", "-t", "seconds", *report, *times).splitlines():
        _, account, *sizes = line.split("|")
        found[account] = found.get(account, 0) + sum(int(size) for size in sizes if size.isdecimal())
    return found


def sacct_seconds(cluster: SlurmCluster, since: str) -> dict[str, dict[str, int]]:
    """CPU seconds of the runs that sacct lists, by partition and account."""
    found: dict[str, dict[str, int]] = {}
    out = cluster.command("sacct", "-anPXD", "-S", since, "-o", "Partition,Account,CPUTimeRAW")
    for partition, account, seconds in (line.split("|") for line in out.splitlines()):
        accounts = found.setdefault(partition, {})
        accounts[account] = accounts.get(account, 0) + int(seconds)
    return found

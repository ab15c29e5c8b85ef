"""Records listings of a real cluster as test data: `python -m tests.slurm --record`.

Names of this machine and its folders are replaced; nothing else is changed.
"""

import re
import socket
import subprocess
from pathlib import Path
from typing import Final

from tests.slurm.slurm_cluster import PACKAGES, SlurmCluster

RECORDED: Final = Path(__file__).with_name("recorded")
NOT_UTF_8: Final = b"caf\xe9|\n\x1b[1m".decode(errors="surrogateescape")
"""A job name that no strict reader decodes, with characters that separate fields of Slurm's text output."""
_HOST: Final = re.compile(rb"\b%s\b" % socket.gethostname().encode())
_SYSTEM: Final = re.compile(rb'("operating_system": )"[^"]*"')


def record(cluster: SlurmCluster) -> None:
    """Play one job of each kind, and write the listings. No adapter runs: the job IDs are always the same."""
    gang = cluster.submit(
        "--gres=gpu:a100:2",
        "-N2",
        "--account=research",
        "--time=60",
        "--partition=high",
        "--comment=tenure: expected-runtime=2h, preemptibility=non-preemptible",
    )
    _start(cluster, gang, "n3,n5")
    array = cluster.submit("--array=0-5%2", "--gres=gpu:1", "-N1", "--account=vision")
    _start(cluster, f"{array}_0", "n1")
    cluster.submit(f"--dependency=afterok:{gang}", "--gres=gpu:1", "-N1")
    cluster.submit("--begin=now+1hour", "--gres=gpu:1", "-N1")
    cluster.submit(f"--job-name={NOT_UTF_8}", "--gres=gpu:1", "-N1")
    cluster.submit("-n12", "--gres=gpu:1")
    cluster.submit("--gpus=2")
    cluster.submit("--gpus-per-node=4", "-N2", "--exclusive", "--mem=1000", "-c4", "--no-requeue")
    cluster.submit("--gpus-per-task=1", "-n4", "-N1")
    cluster.submit("-C", "a100&ib", "-w", "n1,n2", "-x", "n3", "-N3", "--gres=gpu:1")
    cluster.submit("-N2-4", "--gres=gpu:1")
    requeued = cluster.submit("--gres=gpu:8", "-N1")
    _start(cluster, requeued, "n2")
    cluster.command("scontrol", "requeuehold", "Incomplete", str(requeued))
    cluster.wait_for(requeued, "PENDING")
    cancelled = cluster.submit("--gres=gpu:1", "-N1")
    cluster.command("scancel", str(cancelled))
    cluster.command("scontrol", "update", "NodeName=n8", "State=DRAIN", "Reason=disk")
    for name, command in {
        "squeue.json": ("squeue", "--json"),
        "sinfo.json": ("sinfo", "--json"),
        "config.txt": ("scontrol", "show", "config"),
        "partitions.txt": ("scontrol", "-o", "show", "partition"),
    }.items():
        _write(name, command, cluster)


def record_accounts(cluster: SlurmCluster) -> None:
    """Write what slurmctld knows of a cluster with accounts."""
    _write("associations.txt", ("scontrol", "-o", "show", "assoc_mgr", "flags=users,assoc,qos"), cluster)


def _start(cluster: SlurmCluster, reference: int | str, nodes: str) -> None:
    cluster.command("scontrol", "update", f"JobId={reference}", f"ReqNodeList={nodes}", "StartTime=now")
    cluster.command("scontrol", "release", str(reference))
    task = f"{reference}"
    state = ("squeue", "-h", "-o", "%T", "-j", task)
    cluster.wait(lambda: "RUNNING" in cluster.command(*state), f"job {task} runs")


def _write(name: str, command: tuple[str, ...], cluster: SlurmCluster) -> None:
    content = subprocess.run(command, env=cluster.environment, capture_output=True, check=True).stdout
    for old, new in ((cluster.folder, b"/slurm"), (PACKAGES, b"")):
        content = content.replace(str(old).replace("/", "\\/").encode(), new).replace(str(old).encode(), new)
    content = _SYSTEM.sub(rb'\1"Linux"', _HOST.sub(b"controller", content))
    (RECORDED / name).write_bytes(content)

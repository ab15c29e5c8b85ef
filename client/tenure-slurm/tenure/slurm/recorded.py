"""Reads recorded listings of a cluster that Tenure does not drive yet, for `tenure import slurm`."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

if TYPE_CHECKING:
    from tenure.slurm.observe.rows import NodeRow
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


def read_slurm(
    jobs: Path,
    nodes: Path,
    cluster_id: str,
    partitions: Sequence[str],
    queues: Path | None,
    queue_from: str,
    now: datetime | None,
) -> "ClusterSnapshot":
    """The snapshot of `squeue --json` and `sinfo --json`. Without partitions: all that the nodes have.

    A job that Slurm itself would start, because it is not held, is pending as well. Without a time, that of
    the last submission. Raises typer.BadParameter.
    """
    from google.protobuf.timestamp_pb2 import Timestamp
    from tenure.client.snapshot_file import SnapshotFileError, read_snapshot
    from tenure.slurm.observe.cluster import HOLDING, Reading, Scope
    from tenure.slurm.observe.memory import JobMemories
    from tenure.slurm.observe.rows import ListingError, number, read_jobs, read_nodes
    from tenure.slurm.observe.source import SlurmSource

    try:
        reading = Reading(read_jobs(_content(jobs)), list(map(_without_use, read_nodes(_content(nodes)))))
        rows = list(read_snapshot(str(queues)).queues) if queues else []
    except (ListingError, SnapshotFileError) as error:
        raise typer.BadParameter(str(error)) from None
    at = Timestamp()
    if now is not None:
        at.FromDatetime(now)
    else:
        submits = [number(job.submit_time) or 0 for job in reading.jobs]
        starts = [number(job.start_time) or 0 for job in reading.jobs if job.state in HOLDING]
        at.seconds = max((*submits, *starts), default=0)
    known = sorted({name for node in reading.nodes for name in node.partitions})
    if missing := sorted(set(partitions) - set(known)):
        text = f"partition {missing[0]} has no nodes; known are {', '.join(known)}"
        raise typer.BadParameter(text, param_hint="--partition")
    scope = Scope(cluster_id, tuple(partitions or known), queue_from=queue_from)
    return SlurmSource(scope, rows, lambda: reading, JobMemories()).snapshot(at)


def _without_use(node: "NodeRow") -> "NodeRow":
    """A node without its use of GPUs: both listings were not recorded at the same time."""
    return msgspec.structs.replace(node, gres_used="")


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: cannot be read: {error.strerror}") from None

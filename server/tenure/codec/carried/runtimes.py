"""Decode and encode runtimes of finished pod groups."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.codec.checks import MISSING, amount, time
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue_runtimes import QueueRuntimes
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.runtime_history import LONGEST_RUNTIME
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import ViolationCollector, quote_name

MAX_RUNTIMES: Final = 64
"""Most runtimes of one size."""


def decode_queue_runtimes(
    messages: Sequence[pb.QueueRuntimes], queues: Mapping[str, int], findings: ViolationCollector
) -> tuple[QueueRuntimes, ...]:
    """Rows by queue, without those of unknown queues. `queues` maps names to indices."""
    rows: dict[int, QueueRuntimes] = {}
    first: dict[str, int] = {}
    for i, message in enumerate(messages):
        findings.step()
        if not message.queue:
            findings.add(i, "queue", MISSING)
        earlier = first.setdefault(message.queue, i)
        if earlier != i:
            findings.add(i, "queue", f"{quote_name(message.queue)} is already used by element {earlier}")
        if not message.HasField("time"):
            findings.add(i, "time", MISSING)
        row_time = time(message.time, findings, i, "time")
        sizes = _sizes(i, message, findings)
        queue = queues.get(message.queue)
        if queue is not None:
            rows[queue] = QueueRuntimes(queue, row_time, sizes)
    return tuple([rows[queue] for queue in sorted(rows)])


def _sizes(
    i: int, message: pb.QueueRuntimes, findings: ViolationCollector
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    found: dict[int, tuple[int, ...]] = {}
    for at, size in enumerate(message.sizes):
        findings.step()
        field = f"sizes[{at}]"
        gpu_milli = amount(size.gpu_milli, findings, i, f"{field}.gpu_milli")
        if gpu_milli in found:
            findings.add(i, f"{field}.gpu_milli", f"{gpu_milli} is already used")
        if len(size.seconds) > MAX_RUNTIMES:
            findings.add(i, f"{field}.seconds", f"has {len(size.seconds)} values, more than {MAX_RUNTIMES}")
            continue
        runs = tuple(size.seconds)
        if runs and (min(runs) < 0 or max(runs) > LONGEST_RUNTIME):
            for place, each in enumerate(runs):
                amount(each, findings, i, f"{field}.seconds[{place}]", LONGEST_RUNTIME)
        found[gpu_milli] = runs
    return tuple(sorted(found.items()))


def encode_queue_runtimes(cluster: Cluster, rows: Iterable[QueueRuntimes]) -> list[pb.QueueRuntimes]:
    """Rows as messages, by queue."""
    return [
        pb.QueueRuntimes(
            queue=cluster.queues[row.queue].facts.name,
            time=timestamp(row.time),
            sizes=[pb.SizeRuntimes(gpu_milli=gpu_milli, seconds=runs) for gpu_milli, runs in row.sizes],
        )
        for row in rows
    ]

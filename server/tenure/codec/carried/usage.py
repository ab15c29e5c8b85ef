"""Decode and encode the past use of queues."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.codec.checks import MISSING, amount, time
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import WHOLE_CLUSTER, QueueUsage, UsageMean
from tenure.solver.model.resources import Share
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import ViolationCollector, quote_name

_MAX_AMOUNT: Final = 1 << 62
"""Largest amount of a history."""
_MAX_NORMALIZED: Final = 1_000_000_000
"""Largest past use by the account of the caller: a thousand clusters."""


def decode_queue_usage(
    messages: Sequence[pb.QueueUsage], queues: Mapping[str, int], findings: ViolationCollector
) -> tuple[QueueUsage, ...]:
    """Rows by queue, without those of unknown queues. `queues` maps names to indices."""
    rows: dict[int, QueueUsage] = {}
    first: dict[str, int] = {}
    for i, message in enumerate(messages):
        findings.step()
        earlier = first.setdefault(message.queue, i)
        if earlier != i:
            name = quote_name(message.queue) if message.queue else "the capacity"
            findings.add(i, "queue", f"{name} is already used by element {earlier}")
        row = _decode_usage(
            i, message, queues.get(message.queue) if message.queue else WHOLE_CLUSTER, findings
        )
        if row is not None:
            rows[row.queue] = row
    return tuple([rows[queue] for queue in sorted(rows)])


def _decode_usage(
    i: int, message: pb.QueueUsage, queue: int | None, findings: ViolationCollector
) -> QueueUsage | None:
    has_history = message.HasField("used") or message.HasField("entitled")
    if has_history and not message.HasField("time"):
        findings.add(i, "time", MISSING)
    until = time(message.time, findings, i, "time") // SECOND
    used = _mean(i, message.used, "used", findings) if message.HasField("used") else None
    entitled = _mean(i, message.entitled, "entitled", findings) if message.HasField("entitled") else None
    normalized = None
    if message.HasField("normalized"):
        normalized = _amounts(i, message.normalized, "normalized", _MAX_NORMALIZED, findings)
    return None if queue is None else QueueUsage(queue, until, used, entitled, normalized)


def _mean(i: int, message: pb.UsageMean, field: str, findings: ViolationCollector) -> UsageMean:
    return UsageMean(
        _amounts(i, message.average, f"{field}.average", _MAX_AMOUNT, findings),
        _amounts(i, message.held, f"{field}.held", _MAX_AMOUNT, findings),
        _amounts(i, message.rate, f"{field}.rate", _MAX_AMOUNT, findings),
    )


def _amounts(
    i: int, message: pb.UsageAmounts, field: str, largest: int, findings: ViolationCollector
) -> Share:
    return (
        amount(message.cpu, findings, i, f"{field}.cpu", largest),
        amount(message.memory, findings, i, f"{field}.memory", largest),
        amount(message.gpu, findings, i, f"{field}.gpu", largest),
    )


def encode_queue_usage(cluster: Cluster, rows: Iterable[QueueUsage]) -> list[pb.QueueUsage]:
    """Rows to store, ordered by the name of their queue; that of the capacity first."""
    return [
        pb.QueueUsage(
            queue="" if row.queue == WHOLE_CLUSTER else cluster.queues[row.queue].facts.name,
            time=timestamp(row.time * SECOND),
            used=None if row.used is None else _encode_mean(row.used),
            entitled=None if row.entitled is None else _encode_mean(row.entitled),
        )
        for row in sorted(rows, key=lambda row: row.queue)
    ]


def _encode_mean(mean: UsageMean) -> pb.UsageMean:
    average, held, rate = map(_encode_amounts, mean)
    return pb.UsageMean(average=average, held=held, rate=rate)


def _encode_amounts(amounts: Share) -> pb.UsageAmounts:
    cpu, memory, gpu = amounts
    return pb.UsageAmounts(cpu=cpu, memory=memory, gpu=gpu)

"""Section of the report: queue tree with quota, fair share and allocation before and after the cycle."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_gpus
from tenure.v1.decide_pb2 import QueueStatus
from tenure.v1.snapshot_pb2 import Queue

BAR: Final = 16
"""Width of a bar in cells."""
NOTE: Final = "Quota: guaranteed. Fair share: requested part of the quota, plus a part of unused quotas."


def render_queues(view: ResponseView) -> TableSection:
    """One row for each queue, children below their parents."""
    status = {status.name: status for status in view.response.queues}
    tree = [(depth, queue) for depth, queue in _tree(view) if queue.name in status]
    scale = max((_reach(queue, status[queue.name]) for _, queue in tree), default=0)
    rows = [_queue_row(depth, queue, status[queue.name], scale) for depth, queue in tree]
    amounts = (TableColumn(heading, right=True) for heading in ("Quota", "Fair share", "Before", "After"))
    columns = (TableColumn("GPUs of queue"), *amounts, TableColumn("█ after  │ quota"))
    return TableSection("Queues", columns, ("Parent",), rows, NOTE)


def _tree(view: ResponseView) -> Iterator[tuple[int, Queue]]:
    children: defaultdict[str, list[Queue]] = defaultdict(list)
    for queue in sorted(view.snapshot.queues, key=lambda queue: queue.name, reverse=True):
        children[queue.parent].append(queue)
    stack = [(0, queue) for queue in children[""]]
    while stack:
        depth, queue = stack.pop()
        yield depth, queue
        stack.extend((depth + 1, child) for child in children[queue.name])


def _queue_row(depth: int, queue: Queue, status: QueueStatus, scale: int) -> TableRow:
    after = status.allocated_after.gpu_milli
    cells = (
        "  " * depth + queue.name,
        format_gpus(_quota(queue)),
        format_gpus(status.fair_share.gpu_milli),
        format_gpus(status.allocated_before.gpu_milli),
        format_gpus(after),
        _bar(after, _quota(queue), scale),
    )
    return TableRow(cells, (queue.parent or "(top level)",))


def _bar(used: int, quota: int, scale: int) -> str:
    if scale <= 0:
        return ""
    filled, mark = _cells(used, scale), _cells(quota, scale)
    bar = "█" * filled + "·" * (BAR - filled)
    return bar if quota < 0 else f"{bar[:mark]}│{bar[mark:]}"


def _cells(amount: int, scale: int) -> int:
    return min(BAR, (2 * amount * BAR + scale) // (2 * scale))


def _quota(queue: Queue) -> int:
    return queue.gpu_milli.quota if queue.HasField("gpu_milli") else -1


def _reach(queue: Queue, status: QueueStatus) -> int:
    return max(_quota(queue), status.allocated_before.gpu_milli, status.allocated_after.gpu_milli)

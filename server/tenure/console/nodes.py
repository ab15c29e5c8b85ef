"""Rows of the page Nodes: each GPU as a cell with the workloads that use it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.console.view import WHOLE_GPU, View
from tenure.terms.formatting import count_gpus, format_gpus
from tenure.v1.snapshot_pb2 import Node, Pod, PodStatus

COLORS: Final = 10
"""Colors of queues; further queues begin again, and cells also have a text."""
_LEAVING: Final = (PodStatus.POD_STATUS_RELEASING, PodStatus.POD_STATUS_STUCK_IN_RELEASING)
_ON_NODE: Final = (
    PodStatus.POD_STATUS_BINDING,
    PodStatus.POD_STATUS_BOUND,
    PodStatus.POD_STATUS_RUNNING,
    *_LEAVING,
)
MAX_CELLS: Final = 64


class CellPart(NamedTuple):
    """What one pod uses of a GPU."""

    queue: str
    pod_group: str
    name: str
    portion: int
    """In thousandths."""
    is_leaving: bool


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node. GPUs in thousandths, CPU in thousandths of a core, memory in bytes."""

    node: Node
    cells: Sequence[Sequence[CellPart]]
    """One for each GPU; an empty one is free."""
    gpus: int
    used_gpus: int
    used_cpu: int
    used_memory: int
    pods: int

    @property
    def problems(self) -> list[str]:
        """Why it takes no new pods."""
        cordoned = ["cordoned"] if self.node.unschedulable else []
        return cordoned + list(self.node.unready_conditions)


class Legend(NamedTuple):
    """Color and text of a queue."""

    queue: str
    color: int
    code: str
    gpus: int


def node_rows(view: View, text: str = "", only_free: bool = False) -> Sequence[NodeRow]:
    """Rows by name, made once for a view."""
    rows = view.caches.get("nodes")
    if rows is None:
        rows = view.caches["nodes"] = _rows(view)
    found: list[NodeRow] = rows  # type: ignore[assignment]
    if text:
        found = [row for row in found if text.lower() in row.node.name.lower()]
    return [row for row in found if row.used_gpus < row.gpus] if only_free else found


def legend(view: View) -> Mapping[str, Legend]:
    """Leaf queues by name. Colors follow the order of names, so that they stay."""
    parents = {queue.parent for queue in view.snapshot.queues}
    leaves = sorted(queue.name for queue in view.snapshot.queues if queue.name not in parents)
    gpus: defaultdict[str, int] = defaultdict(int)
    for row in node_rows(view):
        for cell in row.cells:
            for part in cell:
                gpus[part.queue] += part.portion
    return {
        name: Legend(name, index % COLORS, name[:2] or "?", gpus[name]) for index, name in enumerate(leaves)
    }


def describe_unusable(view: View) -> str:
    """Free GPUs that the workloads cannot use, by cause; empty: no GPU is free."""
    found = view.unusable
    if not found.free_gpu_milli:
        return ""
    causes = {
        "too little CPU": found.no_cpu_gpu_milli,
        "too few or too small GPUs": found.no_gpu_gpu_milli,
        "too little of both": found.neither_gpu_milli,
        "not for these pods": found.other_kind_gpu_milli,
    }
    total, free = sum(causes.values()), found.free_gpu_milli
    parts = [f"{format_gpus(amount)} {cause}" for cause, amount in causes.items() if amount]
    why = f": {', '.join(parts)}" if parts else ""
    return f"{format_gpus(total)} of {count_gpus(free)} ({total / free:.0%}){why}"


def _rows(view: View) -> list[NodeRow]:
    pods: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in view.snapshot.pods:
        if pod.status in _ON_NODE:
            pods[pod.node].append(pod)
    nodes = sorted(view.snapshot.nodes, key=lambda node: node.name)
    return [_row(view, node, pods[node.name]) for node in nodes]


def _row(view: View, node: Node, pods: Sequence[Pod]) -> NodeRow:
    devices = sum(count for name, count in node.devices.items() if "gpu" in name.lower())
    gpus = node.allocatable.gpu_milli + devices * WHOLE_GPU
    requests = [view.shapes[pod.shape].requests for pod in pods if pod.shape in view.shapes]
    return NodeRow(
        node=node,
        cells=_cells(view, pods, min(MAX_CELLS, gpus // WHOLE_GPU)),
        gpus=gpus,
        used_gpus=sum(map(view.pod_gpus, pods)),
        used_cpu=sum(request.cpu_milli for request in requests),
        used_memory=sum(request.memory_bytes for request in requests),
        pods=len(pods),
    )


def _cells(view: View, pods: Sequence[Pod], number: int) -> list[list[CellPart]]:
    """Cells of whole GPUs by queue and name, then shared GPUs, then free ones."""
    whole: list[list[CellPart]] = []
    shared: defaultdict[str, list[CellPart]] = defaultdict(list)
    owners = [(view.names.queue(pod.pod_group), view.names.name(pod.pod_group), pod) for pod in pods]
    for queue, name, pod in sorted(owners, key=lambda each: (each[0], each[1], each[2].uid)):
        gpus, is_leaving = view.pod_gpus(pod), pod.status in _LEAVING
        if gpus % WHOLE_GPU == 0:
            part = CellPart(queue, pod.pod_group, name, WHOLE_GPU, is_leaving)
            whole.extend([part] for _ in range(gpus // WHOLE_GPU))
        else:
            devices = list(pod.gpu_groups) or [pod.uid]
            portion = gpus // len(devices)
            for device in devices:
                shared[device].append(CellPart(queue, pod.pod_group, name, portion, is_leaving))
    cells = [*whole, *(shared[device] for device in sorted(shared))][:number]
    return cells + [[] for _ in range(number - len(cells))]

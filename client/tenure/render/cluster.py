"""Drawing of a small cluster: one row per node, one cell per GPU, and the pending pod groups."""

from collections import defaultdict

from rich.box import ROUNDED
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tenure.terms.formatting import format_gpus, join_words
from tenure.v1.resources_pb2 import GpuRequest
from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING, ClusterSnapshot, Node, Pod, PodGroup, PodShape
from tenure.wire.columns import from_columns

WHOLE_GPU = 1000


class Drawing:
    """Drawing of one snapshot. Whole GPUs have no identity in a snapshot and are drawn in order."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot
        self._pods = [*snapshot.pods, *from_columns(snapshot.pod_columns)]
        self._groups: dict[str, PodGroup] = {group.uid: group for group in snapshot.pod_groups}
        self._shapes: dict[str, PodShape] = {shape.id: shape for shape in snapshot.shapes}

    def print(self, console: Console) -> None:
        """Print the nodes with the pod groups on each GPU, then the pending pod groups."""
        widest = max((_gpu_count(node) for node in self._snapshot.nodes), default=0)
        table = Table(box=ROUNDED, show_lines=True, show_header=False)
        for node in sorted(self._snapshot.nodes, key=lambda node: node.name):
            cells = self._cells(node)
            table.add_row(Text(node.name, style="bold"), *cells, *[Text()] * (widest - len(cells)))
        console.print(table)
        console.print(Text(f"Pending: {join_words(self._pending()) or 'none'}.\n"))

    def _cells(self, node: Node) -> list[Text]:
        pods = [pod for pod in self._pods if pod.node == node.name]
        cells = [self._cell([pod]) for pod in pods for _ in range(self._whole_gpus(pod))]
        shared: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in pods:
            for device in pod.gpu_groups:
                shared[device].append(pod)
        cells += [self._cell(shared[device]) for device in sorted(shared)]
        return cells + [Text("free", style="dim")] * (_gpu_count(node) - len(cells))

    def _cell(self, pods: list[Pod]) -> Text:
        groups = [self._groups[pod.pod_group] for pod in pods]
        shares = [self._portion(pod) for pod in pods]
        names = [f"{group.name}{share}" for group, share in zip(groups, shares, strict=True)]
        return Text.assemble(" + ".join(names), "\n", (groups[0].queue, "dim"))

    def _pending(self) -> list[str]:
        demand: defaultdict[str, int] = defaultdict(int)
        for pod in self._pods:
            if pod.status == POD_STATUS_PENDING:
                demand[pod.pod_group] += _milli(self._request(pod))
        return [f"{self._groups[uid].name} ({_request_text(milli)})" for uid, milli in demand.items()]

    def _request(self, pod: Pod) -> GpuRequest:
        return self._shapes[pod.shape].gpu

    def _whole_gpus(self, pod: Pod) -> int:
        return 0 if pod.gpu_groups else self._request(pod).devices

    def _portion(self, pod: Pod) -> str:
        milli = self._request(pod).portion_milli
        return f" {milli // 10}%" if milli else ""


def _gpu_count(node: Node) -> int:
    return node.allocatable.gpu_milli // WHOLE_GPU


def _milli(request: GpuRequest) -> int:
    return request.devices * (request.portion_milli or WHOLE_GPU)


def _request_text(milli: int) -> str:
    if not milli:
        return "no GPU"
    return f"{format_gpus(milli)} GPU" if milli <= WHOLE_GPU else f"{format_gpus(milli)} GPUs"

"""Selection of devices for requests of a share of a GPU (semantics R3.45, R3.46, R3.61)."""

from typing import NamedTuple

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import WHOLE_GPU
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.ledger_view import FreeDevice


class SelectedDevices(NamedTuple):
    """Names of the devices, and whether all of them have idle capacity."""

    groups: tuple[str, ...]
    is_idle: bool


class DeviceSelector:
    """Ranks shared devices that fit, and whole devices that can be shared from now on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._node_infos = session.ledger.node_infos
        self._has_device_scores = bool(session.chains.device_scores)

    def select(self, task: Task, node: int) -> SelectedDevices | None:
        """Best devices; equal ones by name, whole devices last. None if there are not enough."""
        info, shape = self._node_infos[node], task.shape
        memory, total = info.share_memory(shape), info.device_memory
        ranked = [
            (
                self._by_free(task, node, group, total - gpu.active),
                -self._score(gpu.used / total),
                False,
                group,
            )
            for group, gpu in info.gpus.items()
            if gpu.fits(memory, total)
        ]
        whole = (info.idle.gpu + info.releasing.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        opened = self._new_groups(node, min(whole, shape.gpu.devices))
        if opened:
            score = (self._by_free(task, node, "", total), -self._score(0.0))
            ranked.extend((*score, True, group) for group in opened)
        best = sorted(ranked)[: shape.gpu.devices]
        count = sum(is_new for _, _, is_new, _ in best)
        if len(best) < shape.gpu.devices or (count and self._lacks_pod_slot(node)):
            return None
        joins_idle = all(is_new or info.gpus[g].fits_now(memory, total) for _, _, is_new, g in best)
        return SelectedDevices(
            tuple(g for _, _, _, g in best), joins_idle and count * WHOLE_GPU <= info.idle.gpu
        )

    def reselect(self, shape: TaskShape, node: int, groups: tuple[str, ...]) -> SelectedDevices | None:
        """Share these devices, unused ones from now on. None if one of them lacks capacity."""
        info = self._node_infos[node]
        memory = info.share_memory(shape)
        shared = [info.gpus[group] for group in groups if group in info.gpus]
        count = len(groups) - len(shared)
        whole = (info.idle.gpu + info.releasing.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        if len(set(groups)) != shape.gpu.devices or count > whole:
            return None
        if not all(gpu.fits(memory, info.device_memory) for gpu in shared) or (
            count and self._lacks_pod_slot(node)
        ):
            return None
        joins_idle = all(gpu.fits_now(memory, info.device_memory) for gpu in shared)
        return SelectedDevices(groups, joins_idle and count * WHOLE_GPU <= info.idle.gpu)

    def _by_free(self, task: Task, node: int, name: str, free: int) -> int:
        """Ascending with what precedes the GPU scores."""
        if not self._has_device_scores:
            return 0
        device = FreeDevice(name, free, self._node_infos[node].device_memory)
        return -self._session.chains.device_score(task.index, node, device)

    def _score(self, used: float) -> float:
        return self._session.chains.gpu_score(used)

    def _new_groups(self, node: int, count: int) -> list[str]:
        """Names for newly shared devices, unused on the node."""
        taken = self._node_infos[node].gpus
        name = self._session.cluster.nodes[node].facts.name
        names: list[str] = []
        number = 0
        while len(names) < count:
            if (group := f"{name}/gpu-{number}") not in taken:
                names.append(group)
            number += 1
        return names

    def _lacks_pod_slot(self, node: int) -> bool:
        """Whether the node lacks a second pod slot, for the reservation pod of a newly shared device."""
        info = self._node_infos[node]
        return bool(self._session.chains.node_filters) and info.idle.pods + info.releasing.pods < 2

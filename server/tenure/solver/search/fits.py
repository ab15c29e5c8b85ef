"""How many tasks of a shape fit on a node once others left it, by counting amounts and devices."""

from collections.abc import Iterable
from typing import Final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import WHOLE_GPU
from tenure.solver.model.workload_parts import TaskShape

NO_BOUND: Final = 1 << 60
"""Larger than any amount, and still a machine word."""


def count_fits(ledger: Ledger, shape: TaskShape, node: int, victims: Iterable[int]) -> int:
    """Maximum number of tasks of the shape that fit on a node without the victims."""
    info = ledger.node_infos[node]
    free = info.soon()
    leaving: dict[str, int] = {}
    promised: dict[str, int] = {}
    for index in victims:
        leaver = ledger.tasks[index].shape
        free.add(leaver.request_vector)
        if leaver.shared_claims:
            for slot, amount in ledger.claims.amounts(leaver):
                free[slot] += amount
        if leaver.gpu.is_shared:
            placement, memory = ledger.placements[index], info.share_memory(leaver)
            for group in placement.gpu_groups:
                leaving[group] = leaving.get(group, 0) + memory
                if placement.status is TaskStatus.PIPELINED:
                    promised[group] = promised.get(group, 0) + memory
    for group, memory in leaving.items():
        gpu = info.gpus[group]
        if gpu.used <= gpu.releasing + memory + promised.get(group, 0) and not gpu.is_releasing:
            free.gpu += WHOLE_GPU
    fitting = free.times(shape.request_vector, NO_BOUND)
    if fitting <= 0 or not shape.gpu.is_shared:
        return max(0, fitting)
    memory = info.share_memory(shape)
    devices = free.gpu // WHOLE_GPU * max(1, info.device_memory // max(1, memory))
    for group, gpu in info.gpus.items():
        released = gpu.releasing + leaving.get(group, 0)
        if gpu.allocated != released:
            devices += max(0, (info.device_memory - gpu.allocated + released) // max(1, memory))
    return min(fitting, devices // shape.gpu.devices) if devices >= shape.gpu.devices else 0

"""Node and device scores of the default profile (semantics R3.45-R3.57); each is a plugin of its own."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.resources import CPU, GPU
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import GpuScore, NodeScore
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import SAFE, Ranking, ScoreConcerns, Traits

RESOURCE_TYPE: Final = 10.0
AVAILABILITY: Final = 1_000.0
GPU_SHARING: Final = 10_000.0
NOMINATION: Final = 10_000_000.0
MAX_PLACEMENT: Final = 9.0
STRATEGIES: Final = ("binpack", "spread")


def strategy(text: str) -> str:
    """`binpack` or `spread`; ValueError otherwise."""
    if text not in STRATEGIES:
        raise ValueError(f"{text!r} is not a placement strategy; use binpack or spread")
    return text


class NodePlacement(NodeScore):
    """Prefers full nodes (`binpack`) or empty ones (`spread`), for GPUs and CPU separately."""

    ARGUMENTS: ClassVar[Parsers] = {"gpu": strategy, "cpu": strategy}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"gpu": "binpack", "cpu": "binpack"}

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks
        self._nodes = context.cluster.nodes
        self._ledger = context.ledger
        self._gpu = arguments.get("gpu", NodePlacement.DEFAULTS["gpu"])
        self._cpu = arguments.get("cpu", NodePlacement.DEFAULTS["cpu"])
        is_binpack = self._gpu == self._cpu == "binpack"
        self.TRAITS: Final = Traits(ranks_by=Ranking.BIN_PACKING) if is_binpack else SAFE

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """0 to 9 for binpack (semantics R3.51), the free part of the node for spread (semantics R3.52)."""
        is_cpu_only = self._tasks[task].shape.is_cpu_only
        slot, how = (CPU, self._cpu) if is_cpu_only else (GPU, self._gpu)
        free = [self._ledger.node_info(node).free_amount(slot) for node in nodes]
        offers = [self._nodes[node].allocatable[slot] for node in nodes]
        return _spread(free, offers) if how == "spread" else _pack(free, offers)


def _pack(free: Sequence[int], offers: Sequence[int]) -> list[float]:
    amounts = [amount for amount, offer in zip(free, offers, strict=True) if offer > 0]
    low, high = min(amounts, default=0), max(amounts, default=0)
    scores = []
    for amount, offer in zip(free, offers, strict=True):
        if offer <= 0 or high == 0:
            scores.append(0.0)
        elif high == low:
            scores.append(MAX_PLACEMENT)
        else:
            scores.append(MAX_PLACEMENT * (1 - (amount - low) / (high - low)))
    return scores


def _spread(free: Sequence[int], offers: Sequence[int]) -> list[float]:
    return [amount / offer if offer > 0 else 0.0 for amount, offer in zip(free, offers, strict=True)]


class NodeAvailability(NodeScore):
    """Prefers nodes on which the pod can start now (semantics R3.54)."""

    TRAITS: ClassVar = Traits(ranks_by=Ranking.AVAILABILITY)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks
        self._ledger = context.ledger

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """1000 where the task fits idle capacity."""
        shape = self._tasks[task].shape
        return [AVAILABILITY if self._ledger.fits_idle(shape, node) else 0.0 for node in nodes]


class ResourceType(NodeScore):
    """Prefers CPU-only nodes for CPU-only pods (semantics R3.53)."""

    TRAITS: ClassVar = Traits(ranks_by=Ranking.RESOURCE_TYPE)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks
        self._nodes = context.cluster.nodes

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """10 if neither the task nor the node has GPUs."""
        if not self._tasks[task].shape.is_cpu_only:
            return [0.0] * len(nodes)
        return [RESOURCE_TYPE if self._nodes[node].is_cpu_only else 0.0 for node in nodes]


class GpuSharingOrder(NodeScore):
    """Prefers nodes with a shared GPU that fits (semantics R3.55).

    A CPU-only task requests no GPU memory, so it fits on any node with a shared device.
    """

    TRAITS: ClassVar = Traits(ranks_by=Ranking.GPU_SHARING)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks
        self._ledger = context.ledger

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """10000 where a shared device fits."""
        shape = self._tasks[task].shape
        if not (shape.gpu.is_shared or shape.is_cpu_only):
            return [0.0] * len(nodes)
        scores = []
        for node in nodes:
            info = self._ledger.node_info(node)
            memory = info.share_memory(shape) if shape.gpu.is_shared else 0
            scores.append(GPU_SHARING if info.fitting_gpus(memory) else 0.0)
        return scores


class NominatedNode(NodeScore, ScoreConcerns):
    """Prefers the nominated node (semantics R3.57)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """10000000 for the nominated node."""
        nominated = self._tasks[task].facts.nominated_node
        return [NOMINATION if node == nominated else 0.0 for node in nodes]

    def concerns(self, task: int) -> bool:
        """Whether the task is nominated."""
        return self._tasks[task].facts.nominated_node >= 0


class GpuPack(GpuScore):
    """Shares of a GPU go to the fullest device that fits (semantics R3.45)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def gpu_score(self, used: float) -> float:
        """The used part."""
        return used


class GpuSpread(GpuScore):
    """Shares of a GPU go to the emptiest device (semantics R3.45)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def gpu_score(self, used: float) -> float:
        """The free part."""
        return 1.0 - used

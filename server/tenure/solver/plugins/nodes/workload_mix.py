"""The mix of a cluster: what its pods request, and how many of them do (semantics R3.80).

It follows from the snapshot alone. The most frequent requests that cover 95 % of the pods stand for all that
will come. Nodes that the same requests accept, and whose GPUs have the same memory, are of one class.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Constraints, Requirement, Taint, Toleration
from tenure.solver.model.node import Node
from tenure.solver.model.resources import CPU, GPU, WHOLE_GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugins.nodes.predicates import Predicates
from tenure.solver.resolution.slot_map import SlotChange

COVERED_PERCENT: Final = 95
"""Part of the pods that the mix stands for."""
UNCOUNTED: Final = -1


class Request(NamedTuple):
    """What a pod takes of the CPU and the GPUs of a node; memory and other resources only exclude nodes."""

    cpu: int
    devices: int
    """Number of GPUs, whole or shared; 0 for CPU-only pods and slices of GPUs."""
    portion_milli: int
    """Of each device; 1000 for whole devices."""
    memory_mib: int
    """Of each device, instead of a portion; 0: by portion."""

    @property
    def is_shared(self) -> bool:
        """Whether it takes a share of each device."""
        return self.memory_mib > 0 or self.portion_milli < WHOLE_GPU

    def share_on(self, device_memory: int) -> int:
        """MiB of each device, on devices of this memory (semantics R1.17)."""
        if not self.is_shared:
            return device_memory
        return self.memory_mib or max(1, self.portion_milli * device_memory // WHOLE_GPU)


def request_of(shape: TaskShape) -> Request:
    """The request of a shape; whole devices of its own claims count as devices."""
    if shape.gpu.is_shared:
        return Request(shape.request[CPU], shape.gpu.devices, shape.gpu.portion_milli, shape.gpu.memory_mib)
    return Request(shape.request[CPU], shape.request[GPU] // WHOLE_GPU, WHOLE_GPU, 0)


_Selection = tuple[tuple[tuple[str, str], ...], tuple[tuple[Requirement, ...], ...], tuple[Toleration, ...]]


def _selection(constraints: Constraints) -> _Selection:
    """What of the constraints excludes nodes by their labels and taints."""
    return (constraints.node_selector, constraints.node_affinity, constraints.tolerations)


class MixEntry(NamedTuple):
    """One request of the mix, with the nodes that it accepts, and the number of pods that have it."""

    request: Request
    shape: TaskShape
    """One of the shapes with the request."""
    pods: int


def mix_of(
    shapes: Iterable[TaskShape], counts: list[int], covered_percent: int = COVERED_PERCENT
) -> list[MixEntry]:
    """The most frequent requests that cover so much of the pods; `counts` by shape."""
    totals = dict[tuple[Request, _Selection], int]()
    examples = dict[tuple[Request, _Selection], TaskShape]()
    for shape in shapes:
        if counts[shape.index]:
            key = (request_of(shape), _selection(shape.constraints))
            totals[key] = totals.get(key, 0) + counts[shape.index]
            examples.setdefault(key, shape)
    order = sorted(totals, key=lambda key: (-totals[key], _descending(key[0]), examples[key].id))
    entries, covered, wanted = list[MixEntry](), 0, sum(totals.values()) * covered_percent
    for key in order:
        if covered * 100 >= wanted:
            break
        entries.append(MixEntry(key[0], examples[key], totals[key]))
        covered += totals[key]
    return entries


def _descending(request: Request) -> tuple[int, int, int, int]:
    """Among equally frequent requests, larger ones come first."""
    return (-request.cpu, -request.portion_milli, -request.memory_mib, -request.devices)


class ShapeCounts:
    """Number of pods of each shape that run, wait or are gated."""

    def __init__(self, counts: list[int], shapes: list[int]) -> None:
        self.counts: Final = counts
        """By shape."""
        self._shapes: Final = shapes
        """By task: the shape that it was counted for."""

    def count(self, cluster: Cluster, tasks: Iterable[int]) -> None:
        """Count these tasks, or count them again."""
        self._shapes.extend([UNCOUNTED] * (len(cluster.tasks) - len(self._shapes)))
        for index in tasks:
            before, task = self._shapes[index], cluster.tasks[index]
            after = task.shape.index if task.placement.status.is_alive else UNCOUNTED
            if before == after:
                continue
            if before != UNCOUNTED:
                self.counts[before] -= 1
            if after != UNCOUNTED:
                self.counts[after] += 1
            self._shapes[index] = after

    def copy(self) -> "ShapeCounts":
        """Independent copy."""
        return ShapeCounts(self.counts.copy(), self._shapes.copy())


def _build_counts(context: PluginContext) -> ShapeCounts:
    counted = ShapeCounts([0] * len(context.cluster.shapes), [])
    counted.count(context.cluster, range(len(context.cluster.tasks)))
    return counted


def _follow_counts(counted: ShapeCounts, context: PluginContext, change: SlotChange) -> None:
    counted.count(context.cluster, change.tasks)


SHAPE_COUNTS: Final = Derived(_build_counts, _follow_counts, ShapeCounts.copy)

_ClassKey = tuple[tuple[str | None, ...], tuple[Taint, ...], int, bool, int, bool, bool, int]


class NodeClasses:
    """Nodes that accept the same requests and have equal devices."""

    def __init__(self, cluster: Cluster) -> None:
        keys = _referenced_labels(cluster.shapes)
        numbers = dict[_ClassKey, int]()
        self.examples = list[Node]()
        """One node of each class."""
        self.of = list[int]()
        """By node: its class."""
        for node in cluster.nodes:
            key = _class_key(node, keys)
            number = numbers.setdefault(key, len(numbers))
            if number == len(self.examples):
                self.examples.append(node)
            self.of.append(number)

    def accepts(self, number: int, shape: TaskShape) -> bool:
        """Whether pods of the shape may run on ready nodes of a class, regardless of amounts."""
        return _PREDICATES.accepts(shape, self.examples[number])


_PREDICATES: Final = Predicates()


def _referenced_labels(shapes: Iterable[TaskShape]) -> tuple[str, ...]:
    """Keys of all labels by which shapes select nodes."""
    found = set[str]()
    for shape in shapes:
        found.update([key for key, _ in shape.constraints.node_selector])
        found.update([one.key for term in shape.constraints.node_affinity for one in term])
    return tuple(sorted(found))


def _class_key(node: Node, keys: tuple[str, ...]) -> _ClassKey:
    labels = node.facts.labels
    return (
        tuple([labels.get(key) for key in keys]),
        node.taints,
        node.gpu_memory_mib,
        node.gpu_memory_known,
        int(node.mig_strategy),
        node.has_only_claimable_gpus,
        node.is_cpu_only,
        node.allocatable[GPU] // WHOLE_GPU,
    )


def _build_classes(context: PluginContext) -> NodeClasses:
    return NodeClasses(context.cluster)


NODE_CLASSES: Final = Derived(_build_classes)

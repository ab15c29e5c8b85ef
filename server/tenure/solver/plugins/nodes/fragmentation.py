"""Places pods where most of the free GPUs stay usable for the mix of the cluster (semantics R3.79-R3.86).

The rank of a node follows from its state alone: its class, its free CPU, and the free parts of its devices.
So the node index keeps ranks, and computes them again for nodes whose state changed.
"""

from collections.abc import Mapping, Sequence
from math import gcd
from typing import ClassVar, Final

from tenure.solver.model.node import Node
from tenure.solver.model.resources import CPU, GPU, WHOLE_GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.ledger_view import FreeDevice
from tenure.solver.plugin_api.points import DeviceScore, NodeScore
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import NodeState, Ranking, StateRank, Traits
from tenure.solver.plugins.nodes.node_value import NodeValue
from tenure.solver.plugins.nodes.workload_mix import (
    COVERED_PERCENT,
    NODE_CLASSES,
    SHAPE_COUNTS,
    MixEntry,
    Request,
    mix_of,
    request_of,
)

NAME: Final = "fragmentation"
MOST_GPUS: Final = 63
"""Nodes with more GPUs are equal to those with so many, where the level is equal."""
POINTS_PER_LEVEL: Final = 8
"""So that all levels together are below the points for nodes where a pod starts now."""
LEVEL: Final = MOST_GPUS + 1
LACKING: Final = -1
"""Rank of a node that lacks CPU or GPUs."""
MOST_KEPT: Final = 1 << 16
"""Values of states that are kept; beyond it they are computed again."""


TIES: Final = ("fewest", "most", "name")


def percent(text: str) -> int:
    """A whole number of percent. Raises ValueError."""
    if not text.isdecimal() or int(text) > 100:
        raise ValueError(f"{text!r} is not a whole number of percent from 0 to 100")
    return int(text)


def part_of_pods(text: str) -> int:
    """A whole number of percent, at least 1. Raises ValueError."""
    if not percent(text):
        raise ValueError("0 percent of the pods are no mix: write 1 to 100")
    return int(text)


def tie_order(text: str) -> str:
    """`fewest`, `most` or `name`. Raises ValueError."""
    if text not in TIES:
        raise ValueError(f"{text!r} is no order of equal nodes; use {', '.join(TIES)}")
    return text


class Fragmentation(NodeScore, DeviceScore, StateRank):
    """Places pods where they leave most of the free GPUs usable for what runs and waits."""

    TRAITS: ClassVar = Traits(ranks_by=Ranking.STATE)
    ARGUMENTS: ClassVar[Parsers] = {"copies": percent, "mix": part_of_pods, "ties": tie_order}
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "copies": "10",
        "mix": str(COVERED_PERCENT),
        "ties": "fewest",
    }

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context
        self._cluster = context.cluster
        self._ledger = context.ledger
        settings = {**Fragmentation.DEFAULTS, **arguments}
        copies = percent(settings["copies"])
        shared = gcd(copies, 100)
        self._weights = (100 - copies) // shared, copies // shared
        self._covered = part_of_pods(settings["mix"])
        self._mix: list[MixEntry] | None = None
        self._pods = 1
        self._classes = context.derived(NODE_CLASSES)
        ties = settings["ties"]
        self._ties = [_tie_rank(ties, _gpus(node)) for node in self._classes.examples]
        """By class of nodes, for nodes of equal level: the higher one precedes."""
        self._values: dict[int, NodeValue] = {}
        """By class of nodes."""
        self._usable: dict[NodeState, int] = {}
        self._numbers: dict[Request, int] = {}
        self._requests: list[Request] = []
        self._number_of: list[int] = [LACKING] * len(context.cluster.shapes)
        """By shape: the number of its request."""

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """8 points for each level, and an eighth of a point for each GPU that the node has less than 63."""
        request = self.request_index(self._cluster.tasks[task].shape)
        return [self.rank(request, self.node_state(node)) * POINTS_PER_LEVEL / LEVEL for node in nodes]

    def device_score(self, task: int, node_index: int, device: FreeDevice) -> int:
        """The level of a share that is taken from this device."""
        request, state = request_of(self._cluster.tasks[task].shape), self.node_state(node_index)
        value, (number, cpu, whole, parts) = self._value(state[0]), state
        size = request.share_on(value.device_memory)
        after = _shared((number, max(0, cpu - request.cpu), whole, parts), size, device.free, device.size)
        usable = self._usable_of(value, state)
        return value.level(value.weight * size - usable + self._usable_of(value, after))

    def node_state(self, node_index: int) -> NodeState:
        """Class of the node, free CPU, whole free devices, and free parts of others, smallest first."""
        info = self._ledger.node_info(node_index)
        whole = max(0, info.free_amount(GPU)) // WHOLE_GPU
        return (self._classes.of[node_index], max(0, info.free_amount(CPU)), whole, info.free_parts())

    def request_index(self, shape: TaskShape) -> int:
        """Index of what a shape takes of CPU and GPUs."""
        number = self._number_of[shape.index]
        if number < 0:
            request = request_of(shape)
            number = self._numbers.setdefault(request, len(self._numbers))
            if number == len(self._requests):
                self._requests.append(request)
            self._number_of[shape.index] = number
        return number

    def least(self, request_index: int) -> tuple[int, int]:
        """CPU, and GPUs unless it takes shares of them."""
        wanted = self._requests[request_index]
        return wanted.cpu, 0 if wanted.is_shared else wanted.devices

    def rank(self, request_index: int, state: NodeState) -> int:
        """Level and number of GPUs in one integer, at least 0; -1: CPU or GPUs do not suffice."""
        wanted, (number, cpu, whole, parts) = self._requests[request_index], state
        if wanted.cpu > cpu:
            return LACKING
        value, left = self._value(number), cpu - wanted.cpu
        if not wanted.is_shared:
            if wanted.devices > whole:
                return LACKING
            size = value.device_memory
            usable = self._usable_of(value, (number, left, whole - wanted.devices, parts))
        else:
            size = wanted.share_on(value.device_memory)
            fitting = [part for part in parts if part >= size]
            if len(fitting) + whole < wanted.devices:
                return LACKING
            before = (number, left, whole, parts)
            if wanted.devices > 1:
                usable = self._usable_of(value, _fullest(wanted.devices, size, before, value.device_memory))
            else:
                usable = self._most_usable(value, before, size, fitting)
        decrease = value.weight * size * wanted.devices - self._usable_of(value, state) + usable
        return value.level(decrease) * LEVEL + self._ties[number]

    def _most_usable(self, value: NodeValue, before: NodeState, size: int, fitting: list[int]) -> int:
        """What is usable after the best device gave a share; `fitting`: parts that suffice, ascending."""
        most = 0
        if before[2]:
            most = self._usable_of(value, _shared(before, size, value.device_memory, value.device_memory))
        last = 0
        for free in fitting:
            if free != last:
                last = free
                after = _shared(before, size, free, value.device_memory)
                most = max(most, self._usable_of(value, after))
        return most

    def _usable_of(self, value: NodeValue, state: NodeState) -> int:
        usable = self._usable.get(state)
        if usable is None:
            if len(self._usable) >= MOST_KEPT:
                self._usable.clear()
            _, cpu, whole, parts = state
            usable = self._usable[state] = value.usable(cpu, whole, parts) if whole or parts else 0
        return usable

    def _value(self, number: int) -> NodeValue:
        value = self._values.get(number)
        if value is None:
            mix = self._mix
            if mix is None:
                counts = self._context.derived(SHAPE_COUNTS).counts
                mix = self._mix = mix_of(self._cluster.shapes, counts, self._covered)
                self._pods = max(1, sum([entry.pods for entry in mix]))
            accepted = [entry for entry in mix if self._classes.accepts(number, entry.shape)]
            memory = self._classes.examples[number].gpu_memory_mib
            value = self._values[number] = NodeValue(memory, accepted, self._pods, self._weights)
        return value


def _gpus(node: Node) -> int:
    """GPUs of a node, at most 63; 0 only without GPUs in any form."""
    return 0 if node.is_cpu_only else min(MOST_GPUS, max(1, node.allocatable[GPU] // WHOLE_GPU))


def _tie_rank(ties: str, gpus: int) -> int:
    """0 to 63; nodes without GPUs precede all others."""
    if not gpus:
        return MOST_GPUS
    if ties == "most":
        return min(gpus, MOST_GPUS - 1)
    return MOST_GPUS - gpus if ties == "fewest" else 0


def _shared(state: NodeState, size: int, free: int, device_memory: int) -> NodeState:
    """The state after a device with so much free memory gave a share; a whole one if all of it is free."""
    number, cpu, whole, parts = state
    left = list(parts)
    if free in left:
        left.remove(free)
    else:
        whole, free = whole - 1, device_memory
    if free > size:
        left.append(free - size)
        left.sort()
    return (number, cpu, whole, tuple(left))


def _fullest(devices: int, size: int, state: NodeState, device_memory: int) -> NodeState:
    """The state after the fullest devices that fit gave a share each, each of them once."""
    number, cpu, whole, parts = state
    fitting = [part for part in parts if part >= size][:devices]
    left = list(parts)
    for part in fitting:
        left.remove(part)
    opened = devices - len(fitting)
    left.extend([part - size for part in (*fitting, *[device_memory] * opened) if part > size])
    return (number, cpu, whole - opened, tuple(sorted(left)))

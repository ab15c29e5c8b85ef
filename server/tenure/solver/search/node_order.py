"""Nodes for a task: where a shape may ever run, and the best nodes first (semantics R3.40-R3.57).

A set of nodes is a plain integer: bit i stands for the node of index i. Node indices follow names.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from tenure.solver.framework.ledger import NO, NOW, Ledger
from tenure.solver.framework.session import Session
from tenure.solver.model.constraints import Constraints
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.node_sizes import NODE_SIZES

WORD_BITS: Final = 60
WORD: Final = (1 << WORD_BITS) - 1
SPARSE_LIMIT: Final = 8

NodeFit = tuple[int, bool]
"""A node, and whether the task fits its idle capacity."""
AllowedByKind = dict[tuple[Constraints, tuple[int, ...]], int]
"""Nodes on which shapes with these constraints and this kind of GPU could ever run."""


def bits(nodes: int) -> Iterator[int]:
    """Node indices of a bit set, lowest first.

    Continues with a word behind each bit: every operation on a wide integer costs its width.
    """
    start = 0
    while nodes:
        gap = (nodes & -nodes).bit_length()
        start += gap
        yield start - 1
        nodes >>= gap
        word = nodes & WORD
        while word:
            low = word & -word
            yield start + low.bit_length() - 1
            word ^= low
        start, nodes = start + WORD_BITS, nodes >> WORD_BITS


def bit_set(nodes: Collection[int]) -> int:
    """Bit set of node indices. Collects many bits in bytes: each step on a wide integer costs its width."""
    if len(nodes) <= SPARSE_LIMIT:
        found = 0
        for node in nodes:
            found |= 1 << node
        return found
    marks = bytearray((max(nodes) >> 3) + 1)
    for node in nodes:
        marks[node >> 3] |= 1 << (node & 7)
    return int.from_bytes(marks, "little")


class AllowedNodes:
    """Nodes on which the tasks of a shape could ever run, regardless of amounts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_shape: list[int | None] = [None] * len(session.cluster.shapes)
        self._by_kind = _known_kinds(session)
        self._sizes = session.derived(NODE_SIZES)
        self._possible: dict[int, bool] = {}

    def of(self, shape: TaskShape) -> int:
        """Evaluate the node filters; once per session for shapes that differ in amounts only."""
        nodes = self._by_shape[shape.index]
        if nodes is None:
            gpu_kind = (shape.is_cpu_only, shape.mig_gpu_milli > 0, shape.gpu.is_shared, shape.gpu.memory_mib)
            key = (shape.constraints, gpu_kind)
            nodes = self._by_kind.get(key)
            if nodes is None:
                nodes = self._by_kind[key] = self._filter(shape)
            self._by_shape[shape.index] = nodes
        return nodes

    def are_possible(self, tasks: Iterable[int]) -> bool:
        """Whether some node might run each of these tasks if it were empty (semantics R3.64, R5.90)."""
        facts = self._session.cluster.tasks
        return all(self.is_possible(facts[task].shape) for task in tasks)

    def is_possible(self, shape: TaskShape) -> bool:
        """Whether some node might run a task of the shape if it were empty (semantics R3.64)."""
        return self.could_hold(shape) and self.of(shape) != 0

    def could_hold(self, shape: TaskShape) -> bool:
        """Whether some node could, even if it takes none at present."""
        possible = self._possible.get(shape.index)
        if possible is None:
            possible = self._possible[shape.index] = self._sizes.could_hold(shape)
        return possible

    def _filter(self, shape: TaskShape) -> int:
        chains, nodes = self._session.chains, 0
        for node in self._session.cluster.nodes:
            self._session.stop.check()
            if chains.fits(shape, node) is None:
                nodes |= 1 << node.index
        return nodes


def _known_kinds(session: Session) -> AllowedByKind:
    """Shared by all sessions of a state if all node filters are declared constant."""
    return session.derived(_ALLOWED_NODES) if session.chains.has_lasting_fits else AllowedByKind()


_ALLOWED_NODES: Final[Derived[Session, AllowedByKind]] = Derived(lambda _: AllowedByKind())


class NodeOrder(ABC):
    """What a placement needs to know of free capacity."""

    def __init__(self, nodes: int) -> None:
        self.all_nodes: Final = (1 << nodes) - 1

    @abstractmethod
    def in_order(self, task: Task, nodes: int) -> Iterator[NodeFit]:
        """Nodes of the set on which the task fits, now or later: the best score first, then by name."""

    @abstractmethod
    def has_capacity(self, shape: TaskShape, nodes: int) -> bool:
        """Whether any node of the set may have capacity for a task of this shape, now or later."""

    @abstractmethod
    def nodes_with_free_gpus(self) -> int:
        """Nodes with idle or releasing GPUs, parts of devices included (semantics R5.60)."""

    @abstractmethod
    def free_gpu_milli(self) -> Sequence[int]:
        """Idle and releasing GPUs by node, parts of devices included, in thousandths; valid until a move."""

    @abstractmethod
    def free_gpu_milli_on(self, node: int) -> int:
        """Idle and releasing GPUs of one node, parts of devices included, in thousandths."""

    @abstractmethod
    def note_full(self, shape: TaskShape, nodes: int) -> None:
        """Note that no task of the shape can be placed on any of these nodes until capacity is freed."""


class ScoredNodes(NodeOrder):
    """Scores every node for every task."""

    def __init__(self, session: Session) -> None:
        super().__init__(len(session.cluster.nodes))
        self._chains = session.chains
        self._ledger = session.ledger

    def in_order(self, task: Task, nodes: int) -> Iterator[NodeFit]:
        """By the sum of all scores."""
        candidates = list(bits(nodes))
        totals = self._chains.scores(task.index, candidates)
        ranked = sorted(zip(candidates, totals, strict=True), key=lambda pair: (-pair[1], pair[0]))
        found = ((node, self._ledger.fit(task.shape, node)) for node, _ in ranked)
        return ((node, fit == NOW) for node, fit in found if fit != NO)

    def has_capacity(self, shape: TaskShape, nodes: int) -> bool:
        """Looks at every node."""
        return any(self._ledger.fit(shape, node) != NO for node in bits(nodes))

    def nodes_with_free_gpus(self) -> int:
        """Looks at every node."""
        infos, found = self._ledger.node_infos, 0
        for node in bits(self.all_nodes):
            if infos[node].idle_gpu_milli() > 0 or infos[node].releasing_gpu_milli() > 0:
                found |= 1 << node
        return found

    def free_gpu_milli(self) -> Sequence[int]:
        """Looks at every node."""
        return [free_gpu_milli(self._ledger, node) for node in bits(self.all_nodes)]

    def free_gpu_milli_on(self, node: int) -> int:
        """Looks at the node."""
        return free_gpu_milli(self._ledger, node)

    def note_full(self, shape: TaskShape, nodes: int) -> None:
        """Nothing is noted."""


def free_gpu_milli(ledger: Ledger, node: int) -> int:
    """Idle and releasing GPUs of a node, parts of devices included, in thousandths."""
    info = ledger.node_infos[node]
    return info.idle_gpu_milli() + info.releasing_gpu_milli()

"""Skipping simulations that cannot succeed, by a necessary condition that is cheap to check.

Evicting a scenario's victims frees at most what they hold. If the pending tasks would not even find slots
when nobody else competed for that room, the simulation would fail. Placing victims again only takes room,
so the first scenario that works is the same with and without pruning; `tests/properties` checks that.
"""

from collections.abc import Callable, Iterable, Sequence

from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU, WHOLE_GPU
from tenure.solver.model.workload import TaskShape, TaskStatus
from tenure.solver.search.nodeindex import bits
from tenure.solver.search.place import Placer


class Pruner:
    """Slots that the feasible nodes have as they are; one per preemptor, shared by its probes.

    `victims` gives every task that might be evicted for the preemptor.
    """

    def __init__(
        self,
        session: Session,
        placer: Placer,
        feasible: int,
        pending: Sequence[int],
        victims: Callable[[], Iterable[int]],
    ) -> None:
        self._pending = pending
        self._victims = victims
        self._is_possible: bool | None = None
        self.stop = session.stop
        self.ledger = session.ledger
        self.tasks = session.cluster.tasks
        self._placer = placer
        self._feasible = feasible
        self._free: dict[int, tuple[int, dict[int, int]]] = {}

    def is_possible(self) -> bool:
        """Whether there would be slots for all tasks if every possible victim left; counted once."""
        if self._is_possible is None:
            count = SlotCount(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.suffice()
        return self._is_possible

    def allowed(self, shape: TaskShape) -> int:
        """Nodes on which tasks of the shape may run."""
        return self._placer.allowed(shape)

    def free_slots(self, shape: TaskShape) -> tuple[int, dict[int, int]]:
        """Slots without any eviction: in sum, and by node; counted once per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self.allowed(shape)
            by_node = {node: slots(self.ledger, shape, node, ()) for node in bits(nodes)}
            known = self._free[shape.index] = (sum(by_node.values()), by_node)
        return known


class SlotCount:
    """Slots for the pending tasks of one probe, followed as victims are added."""

    def __init__(self, pruner: Pruner, pending: Sequence[int]) -> None:
        self._pruner = pruner
        self._victims_on: dict[int, list[int]] = {}
        wanted: dict[int, int] = {}
        shapes: dict[int, TaskShape] = {}
        for task in pending:
            shape = pruner.tasks[task].shape
            shapes[shape.index] = shape
            wanted[shape.index] = wanted.get(shape.index, 0) + 1
        self._short = []
        for index, count in wanted.items():
            total, by_node = pruner.free_slots(shapes[index])
            if total < count:
                self._short.append(
                    _Short(shapes[index], pruner.allowed(shapes[index]), count - total, by_node)
                )

    def add(self, tasks: Iterable[int]) -> None:
        """These tasks are victims from now on."""
        placements = self._pruner.ledger.placements
        nodes = set()
        for task in tasks:
            node = placements[task].node
            self._victims_on.setdefault(node, []).append(task)
            nodes.add(node)
        for short in self._short:
            for node in nodes:
                self._pruner.stop.check()
                short.recount(self._pruner.ledger, node, self._victims_on[node])

    def suffice(self) -> bool:
        """Whether every shape has enough slots if all victims added so far left."""
        return all(short.gained >= short.missing for short in self._short)

    def is_hopeless(self, scenario: Scenario) -> bool:
        """Whether the victims of this scenario leave too few slots, at the very best."""
        if not self._short:
            return False
        placements = self._pruner.ledger.placements
        batches = (*scenario.recorded, *scenario.potential)
        nodes = {placements[task].node for batch in batches for task in batch.tasks}
        return any(sum(s.gain.get(node, 0) for node in nodes) < s.missing for s in self._short)


class _Short:
    """A shape that lacks slots: how many, and what each node's victims add."""

    __slots__ = ("allowed", "before", "gain", "gained", "missing", "shape")

    def __init__(self, shape: TaskShape, allowed: int, missing: int, before: dict[int, int]) -> None:
        self.shape = shape
        self.allowed = allowed
        self.missing = missing
        self.before = before
        self.gain: dict[int, int] = {}
        self.gained = 0

    def recount(self, ledger: Ledger, node: int, victims: list[int]) -> None:
        if self.allowed >> node & 1:
            gain = slots(ledger, self.shape, node, victims) - self.before.get(node, 0)
            self.gained += gain - self.gain.get(node, 0)
            self.gain[node] = gain


def slots(ledger: Ledger, shape: TaskShape, node: int, victims: Iterable[int]) -> int:
    """How many tasks of the shape a node could take at most if the victims left."""
    room = ledger.rooms[node]
    free = [idle + releasing for idle, releasing in zip(room.idle, room.releasing, strict=True)]
    leaving: dict[str, int] = {}
    promised: dict[str, int] = {}
    for index in victims:
        task = ledger.tasks[index]
        for slot, amount in (*enumerate(task.shape.request), *ledger.claims.amounts(task.shape)):
            free[slot] += amount
        if task.shape.gpu.is_shared:
            for group in ledger.placements[index].gpu_groups:
                leaving[group] = leaving.get(group, 0) + room.share_memory(task.shape)
                if ledger.placements[index].status is TaskStatus.PIPELINED:
                    promised[group] = promised.get(group, 0) + room.share_memory(task.shape)
    for group, memory in leaving.items():
        gpu = room.gpus[group]
        if gpu.used <= gpu.releasing + memory + promised.get(group, 0) and not gpu.is_releasing:
            free[GPU] += WHOLE_GPU
    fitting = min(free[slot] // amount for slot, amount in enumerate(shape.request) if amount)
    if not shape.gpu.is_shared or fitting <= 0:
        return max(0, fitting)
    memory = room.share_memory(shape)
    devices = free[GPU] // WHOLE_GPU * max(1, room.memory // max(1, memory))
    for group, gpu in room.gpus.items():
        released = gpu.releasing + leaving.get(group, 0)
        if gpu.allocated != released:
            devices += max(0, (room.memory - gpu.allocated + released) // max(1, memory))
    return min(fitting, devices // shape.gpu.devices) if devices >= shape.gpu.devices else 0

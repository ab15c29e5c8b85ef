"""Skipping simulations that cannot succeed, by a necessary condition that is cheap to check.

Evicting a scenario's victims frees at most what they hold. If the pending tasks would not even find slots
when nobody else competed for that room, the simulation would fail. Placing victims again only takes room,
so the first scenario that works is the same with and without pruning; `tests/properties` checks that.
"""

from collections.abc import Callable, Iterable, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import TaskShape
from tenure.solver.search.place import Placer
from tenure.solver.search.slots import slots
from tenure.solver.search.takebound import NO_BOUND


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
        self._wanted: dict[int, list[tuple[TaskShape, int]]] = {}

    def is_possible(self) -> bool:
        """Whether there would be slots for all tasks if every possible victim left; counted once."""
        if self._is_possible is None:
            count = SlotCount(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.suffice()
        return self._is_possible

    def wanted(self, pending: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes that lack slots for these tasks as it is, and how many slots each lacks.

        To be asked about all the tasks of the search, or the first of them.
        """
        wanted = self._wanted.get(len(pending))
        if wanted is None:
            counts: dict[int, int] = {}
            shapes: dict[int, TaskShape] = {}
            for task in pending:
                shape = self.tasks[task].shape
                shapes[shape.index] = shape
                counts[shape.index] = counts.get(shape.index, 0) + 1
            missing = [(shapes[i], count - self.free_slots(shapes[i])[0]) for i, count in counts.items()]
            wanted = self._wanted[len(pending)] = [(shape, count) for shape, count in missing if count > 0]
        return wanted

    def allowed(self, shape: TaskShape) -> int:
        """Nodes on which tasks of the shape may run."""
        return self._placer.allowed(shape)

    def free_slots(self, shape: TaskShape) -> tuple[int, dict[int, int]]:
        """Slots without any eviction: in sum, and by node; looked up once per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self.allowed(shape)
            by_node = self._placer.free_slots.on(shape, nodes)
            known = self._free[shape.index] = (sum(by_node.values()), by_node)
        return known


class SlotCount:
    """Slots for the pending tasks of one probe, followed as victims are added."""

    def __init__(self, pruner: Pruner, pending: Sequence[int]) -> None:
        self._short = [(Slots(pruner, shape), missing) for shape, missing in pruner.wanted(pending)]

    def add(self, tasks: Iterable[int]) -> None:
        """These tasks are victims from now on."""
        victims = list(tasks)
        for slots_of, _ in self._short:
            slots_of.add(victims)

    def suffice(self) -> bool:
        """Whether every shape has enough slots if all victims added so far left."""
        return all(slots_of.gained >= missing for slots_of, missing in self._short)


class Slots:
    """Slots that one shape gains from victims.

    What victims free is added up node by node. Only where devices are shared it matters who leaves
    together: there all is counted anew.
    """

    __slots__ = (
        "_allowed",
        "_amounts",
        "_before",
        "_free",
        "_gain",
        "_pruner",
        "_shared",
        "_victims",
        "gained",
        "shape",
    )

    def __init__(self, pruner: Pruner, shape: TaskShape) -> None:
        self._pruner = pruner
        self.shape = shape
        self._allowed = pruner.allowed(shape)
        self._before = pruner.free_slots(shape)[1]
        self._amounts = [(slot, amount) for slot, amount in enumerate(shape.request) if amount]
        self._free: dict[int, list[int]] = {}
        """By node, the amounts of each resource of the shape that are free without the victims."""
        self._victims: dict[int, list[int]] = {}
        self._shared: set[int] = set()
        self._gain: dict[int, int] = {}
        self.gained = 0

    def add(self, tasks: Iterable[int]) -> None:
        """These tasks are victims from now on."""
        ledger, allowed = self._pruner.ledger, self._allowed
        for task in tasks:
            self._pruner.stop.check()
            node = ledger.placements[task].node
            if allowed >> node & 1:
                self._victims.setdefault(node, []).append(task)
                gain = self._gain_of(task, node)
                self.gained += gain - self._gain.get(node, 0)
                self._gain[node] = gain

    def gained_with(self, tasks: Iterable[int]) -> int:
        """What is gained if these tasks were victims too."""
        more: dict[int, list[int]] = {}
        for task in tasks:
            more.setdefault(self._pruner.ledger.placements[task].node, []).append(task)
        gained = self.gained
        for node, victims in more.items():
            if self._allowed >> node & 1:
                together = (*self._victims.get(node, ()), *victims)
                fitting = slots(self._pruner.ledger, self.shape, node, together)
                gained += fitting - self._before.get(node, 0) - self._gain.get(node, 0)
        return gained

    def on(self, node: int) -> int:
        """What is gained on one node."""
        return self._gain.get(node, 0)

    def _gain_of(self, task: int, node: int) -> int:
        """What the node gains from its victims, of whom this is the latest."""
        ledger, shape = self._pruner.ledger, self._pruner.tasks[task].shape
        if shape.shares_devices or self.shape.shares_devices or node in self._shared:
            self._shared.add(node)
            return slots(ledger, self.shape, node, self._victims[node]) - self._before.get(node, 0)
        free, request = self._free.get(node), shape.request
        if free is None:
            room = ledger.rooms[node]
            free = self._free[node] = [room.idle[slot] + room.releasing[slot] for slot, _ in self._amounts]
        fitting = NO_BOUND
        for i, (slot, amount) in enumerate(self._amounts):
            free[i] += request[slot]
            fitting = min(fitting, free[i] // amount)
        return max(0, fitting) - self._before.get(node, 0)


def asks_for_whole_gpus(shape: TaskShape) -> bool:
    """Whether it asks for GPUs as whole devices, or not at all."""
    return not (shape.shares_devices or shape.mig_gpu_milli or shape.claimed_gpu_milli)

"""Other nodes for pods that this cycle binds, so that one more pod group starts (semantics R3.36).

What a cycle binds is not applied before its end, so its pods can still change their node without harm. Only
pods whose nodes are a matter of amounts do: whole GPUs or none, in pod groups without topology constraints,
without relations to other pods, preferences or a nominated node.
"""

from collections.abc import Sequence
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.model.resources import GPU, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.node_order import AllowedNodes, NodeOrder, bits
from tenure.solver.search.placer import Placer, has_topology
from tenure.solver.search.preferred_order import preferences_of
from tenure.solver.search.repacking import Packing

LOOKS_PART: Final = 4
"""Each pod group may use this part of the looks that are left, so that later ones have some, too."""


@final
class PlannedPlaces:
    """The pods that the cycle bound so far, and what is known to fit beside them."""

    def __init__(self, session: Session, allowed: AllowedNodes, nodes: NodeOrder, placer: Placer) -> None:
        self._session = session
        self._ledger = session.ledger
        self._allowed = allowed
        self._nodes = nodes
        self._placer = placer
        self._looks = session.options.max_repacking_looks
        self._failed: set[tuple[int, ...]] = set()
        """Shapes of tasks that did not fit: later they have to fit beside more."""
        self._commits = 0
        """Commits whose tasks are known."""
        self._movable: dict[int, None] = {}
        self._related = {task: None for task in sorted(session.reserved_tasks) if self._is_related(task)}
        """Placed tasks with relations to other pods."""

    def place(self, moves: Statement, statement: Statement, pod_group: int, tasks: Sequence[int]) -> bool:
        """Bind tasks of a pod group, and others elsewhere by `moves`; if False, the caller undoes both."""
        shapes = {task: self._session.cluster.tasks[task].shape for task in tasks}
        kind = tuple(sorted([shape.index for shape in shapes.values()]))
        if self._looks <= 0 or kind in self._failed or not all(map(self._may_move, tasks)):
            return False
        if self._placer.capacity(pod_group, tasks) is not None:
            return False
        places = self._packed(shapes)
        if places is not None and self._carry_out(moves, statement, pod_group, places, tasks):
            return True
        self._failed.add(kind)
        return False

    def _packed(self, shapes: dict[int, TaskShape]) -> dict[int, int] | None:
        """Nodes of these tasks and of all that may move; None: none were found."""
        wanted = sum([shape.request[GPU] for shape in shapes.values()])
        if sum(self._nodes.free_gpu_milli()) < wanted:
            return None
        tasks, placements = list(shapes), self._ledger.placements
        self._look_at_commits()
        if not self._movable and len(tasks) == 1:
            return None
        nodes = self._nodes.all_nodes
        if all(shape.request[GPU] for shape in shapes.values()):
            nodes = self._nodes.nodes_with_free_gpus()
        places: dict[int, int] = {}
        for task in self._movable:
            if placements[task].status is TaskStatus.BINDING:
                places[task] = placements[task].node
                nodes |= 1 << places[task]
                shapes[task] = self._session.cluster.tasks[task].shape
        free = {node: self._free_now(node) for node in bits(nodes)}
        most = self._looks // LOOKS_PART
        packing = Packing(shapes, self._allowed, free, places, most - len(free))
        is_packed = packing.could_hold(tasks) and packing.add(tasks)
        self._looks -= most - packing.looks
        return packing.places if is_packed else None

    def _carry_out(
        self,
        moves: Statement,
        statement: Statement,
        pod_group: int,
        places: dict[int, int],
        tasks: Sequence[int],
    ) -> bool:
        """Make the moves; whether all tasks are bound, and pods with relations are permitted as before."""
        facts, placements = self._session.cluster.tasks, self._ledger.placements
        own = set(tasks)
        before = {task: self._placer.violation(task) for task in self._related}
        moved = [task for task in sorted(places) if task not in own and placements[task].node != places[task]]
        for task in moved:
            moves.withdraw(task, facts[task].placement)
        for task in (*moved, *tasks):
            self._session.stop.check()
            by = statement if task in own else moves
            if self._placer.place_reserved(by, task, places[task], (), simulation=False) is not None:
                return False
            if placements[task].status is not TaskStatus.BINDING:
                return False
        if self._placer.cannot_start(pod_group):
            return False
        return not any(_is_worse(known, self._placer.violation(task)) for task, known in before.items())

    def _look_at_commits(self) -> None:
        """Sort the tasks that were placed since the last time."""
        commits, reserved = self._session.commits, self._session.reserved_tasks
        for commit in commits[self._commits :]:
            for move in commit.moves:
                task = move.task
                if move.after.status is TaskStatus.BINDING and task not in reserved and self._may_move(task):
                    self._movable[task] = None
                elif self._is_related(task):
                    self._related[task] = None
        self._commits = len(commits)

    def _may_move(self, index: int) -> bool:
        """Whether any node with enough free is as good for the task as any other."""
        task, chains = self._session.cluster.tasks[index], self._session.chains
        if task.shape.shares_devices or task.facts.nominated_node != NOWHERE:
            return False
        if task.placement.status is not TaskStatus.PENDING or self._is_related(index):
            return False
        group = self._session.cluster.pod_groups[task.pod_group]
        return not (has_topology(group.root) or preferences_of(chains, index))

    def _is_related(self, task: int) -> bool:
        chains = self._session.chains
        return bool(chains.placement_filters) and bool(chains.placement_checks(task))

    def _free_now(self, node: int) -> MutableVector:
        """What tasks may take at once: what is idle, less what reservations beyond releasing amounts need."""
        info = self._ledger.node_infos[node]
        free = info.idle.copy()
        soon = info.soon()
        free.cpu, free.memory = min(free.cpu, soon.cpu), min(free.memory, soon.memory)
        free.gpu, free.pods = min(free.gpu, soon.gpu), min(free.pods, soon.pods)
        for place, amount in enumerate(soon.others):
            free.others[place] = min(free.others[place], amount)
        return free


def _is_worse(before: Rejection | None, after: Rejection | None) -> bool:
    """Whether a placed pod is not permitted any more where it is, or only later."""
    return after is not None and (before is None or (before is NOT_YET and after is not NOT_YET))

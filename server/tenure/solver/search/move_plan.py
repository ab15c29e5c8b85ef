"""Which pods move where, so that others get their places: as few as possible (semantics R6.39).

The free slots are given to waiting pods first. Each other one takes the place of pods that go elsewhere, and
these may take the place of others in turn.
"""

from bisect import bisect_left, insort
from itertools import islice
from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import UNLIMITED, MutableVector, Vector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import NO_BOUND
from tenure.solver.search.node_order import bits
from tenure.solver.search.search import Budget
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState

MAX_LOOKS: Final = 320_000
"""At batches, nodes and sets of pods, of one action."""
MAX_BATCHES: Final = 256
"""Batches whose pods may move, in victim order."""
MAX_NODES: Final = 128
"""Nodes that are looked at beside those of these pods."""
MAX_TOGETHER: Final = 8
"""Pods that leave a node for one other."""
MAX_KINDS: Final = 8
"""Sizes of pods of a node that are combined: the smallest ones."""
MAX_MOVES: Final = 12
"""For one place."""
MAX_DISPLACED: Final = 3
"""Pods that give up a place of the plan for one other, beside those that move."""


class _Way(NamedTuple):
    """Pods that leave a node, so that another one fits; none of them leaves in vain."""

    moves: int
    """Number of those that did not move before."""
    gpu_milli: int
    """That these hold, in thousandths."""
    node: int
    pods: tuple[int, ...]


@final
class MovePlan:
    """Places of pods while some are said to move. A waiting pod is a number below 0."""

    def __init__(
        self,
        session: Session,
        components: SearchComponents,
        state: SearchState,
        shape: TaskShape,
        budget: Budget,
    ) -> None:
        """`shape` is that of all waiting pods; it needs whole devices, if any."""
        self._session = session
        self._allowed = components.allowed_nodes
        self._shape = shape
        self._budget = budget
        self._most_groups = state.search.max_victims
        self._at: dict[int, int] = {}
        """Where pods are."""
        self._home: dict[int, int] = {}
        """Where those that may move are before that."""
        self._stay: dict[int, list[int]] = {}
        """Pods that may move and did not, by node."""
        self._guests: dict[int, list[int]] = {}
        """Pods that the plan placed, by node."""
        self._left: dict[int, int] = {}
        """Pods that left a node for the place that is looked for, with the node."""
        self._free: dict[int, MutableVector] = {}
        infos, sequence, count = session.ledger.node_infos, state.victims.whole_sequence(), 0
        while count < MAX_BATCHES and sequence.reaches(count) and budget.check():
            count += 1
        tasks, placements = session.cluster.tasks, session.ledger.placements
        for batch in sequence.batches[:count]:
            for task in batch.tasks:
                if not tasks[task].shape.shares_devices:
                    node = self._home[task] = self._at[task] = placements[task].node
                    self._stay.setdefault(node, []).append(task)
        for node in dict.fromkeys((*self._stay, *islice(bits(state.feasible), MAX_NODES))):
            session.stop.check()
            if not budget.check():
                break
            self._free[node] = infos[node].soon()
            self._guests[node] = []
        self._by_free: Final = sorted([(free.gpu, node) for node, free in self._free.items()])
        """Nodes, those with the fewest free GPUs first."""

    def moves(self, waiting: int) -> dict[int, int]:
        """New nodes of tasks that move so that as many pods are placed; nothing: no such moves were found."""
        request, free = self._shape.request_vector, sum([max(gpu, 0) for gpu, _ in self._by_free])
        if not self._budget.has_checks or free < request.gpu * waiting:
            return {}
        placed, hosts = 0, self._allowed.of(self._shape)
        for node, amounts in self._free.items():
            if hosts >> node & 1 and placed < waiting:
                for _ in range(min(max(amounts.times(request, NO_BOUND), 0), waiting - placed)):
                    placed += 1
                    self._put(-placed, node)
        for number in range(placed + 1, waiting + 1):
            if not self._make_place(-number):
                return {}
        tasks = self._session.cluster.tasks
        found = {task: self._at[task] for task, home in self._home.items() if self._at[task] != home}
        groups = {tasks[task].pod_group for task in found}
        return {} if self._most_groups != UNLIMITED and len(groups) > self._most_groups else found

    def _make_place(self, pod: int) -> bool:
        """Whether a waiting pod gets a place, with the fewest further moves that suffice."""
        for most in range(MAX_MOVES + 1):
            self._left.clear()
            if self._settle([pod], most):
                return True
            if not self._budget.has_checks:
                return False
        return False

    def _settle(self, pods: list[int], most: int) -> bool:
        """Whether all these pods, the largest last, get places with at most so many further moves."""
        if not pods:
            return True
        self._session.stop.check()
        pod, others = pods[-1], pods[:-1]
        request, left = self._request(pod), self._left.get(pod, NOWHERE)
        allowed = self._allowed.of(self._shape if pod < 0 else self._session.cluster.tasks[pod].shape)
        tried, full = set[Vector](), list[int]()
        for _, node in self._by_free[bisect_left(self._by_free, (request.gpu, NOWHERE)) :]:
            if not allowed >> node & 1 or node == left:
                continue
            if not self._budget.check():
                return False
            amounts = self._free[node].vector()
            if amounts in tried:
                continue
            tried.add(amounts)
            if self._free[node].cover(request):
                self._put(pod, node)
                if self._settle(others, most):
                    return True
                self._take(pod)
        for node in self._stay if most else self._guests:
            if allowed >> node & 1 and node != left and not self._free[node].cover(request):
                full.append(node)
        ways = [way for node in full for way in self._ways(node, request, most)]
        for way in sorted(ways):
            for each in way.pods:
                self._left[each] = self._take(each)
            self._put(pod, way.node)
            if self._settle(sorted([*others, *way.pods], key=self._size), most - way.moves):
                return True
            self._take(pod)
            for each in way.pods:
                self._put(each, self._left.pop(each))
            if not self._budget.has_checks:
                break
        return False

    def _ways(self, node: int, request: MutableVector, most: int) -> list[_Way]:
        """Pods whose place on a node another one may take, with at most so many moves."""
        displaced = most + MAX_DISPLACED - len(self._left)
        kinds: dict[tuple[int, Vector], list[int]] = {}
        pods = [*self._guests[node], *(self._stay.get(node, ()) if most else ())]
        for pod in sorted(pods, key=self._size):
            if pod not in self._left:
                kinds.setdefault((int(self._is_home(pod)), self._request(pod).vector()), []).append(pod)
        found = list[_Way]()
        if displaced > 0 and kinds:
            members = list(kinds.values())[:MAX_KINDS]
            self._combine(_Way(0, 0, node, ()), members, request, (most, min(displaced, MAX_TOGETHER)), found)
        return found

    def _combine(
        self,
        way: _Way,
        kinds: list[list[int]],
        request: MutableVector,
        most: tuple[int, int],
        found: list[_Way],
    ) -> None:
        """Add pods of these kinds to those that leave until the other one fits: so many moves and pods."""
        if not self._budget.check():
            return
        if way.pods and self._suffice(way.node, way.pods, request):
            if not any(
                self._suffice(way.node, (*way.pods[:i], *way.pods[i + 1 :]), request)
                for i in range(len(way.pods))
            ):
                found.append(way)
            return
        for number, kind in enumerate(kinds):
            is_move = self._is_home(kind[0])
            if len(way.pods) == most[1] or (is_move and way.moves == most[0]):
                continue
            gpus = self._request(kind[0]).gpu if is_move else 0
            more = _Way(way.moves + is_move, way.gpu_milli + gpus, way.node, (*way.pods, kind[0]))
            rest = [kind[1:], *kinds[number + 1 :]] if len(kind) > 1 else kinds[number + 1 :]
            self._combine(more, rest, request, most, found)

    def _suffice(self, node: int, leaving: tuple[int, ...], request: MutableVector) -> bool:
        free = self._free[node].copy()
        for pod in leaving:
            free.add(self._request(pod))
        return free.cover(request)

    def _put(self, pod: int, node: int) -> None:
        self._at[pod] = node
        (self._stay if self._is_home(pod) else self._guests)[node].append(pod)
        self._change(node, pod, -1)

    def _take(self, pod: int) -> int:
        """Let a pod leave its node, which is returned."""
        node = self._at[pod]
        (self._stay if self._is_home(pod) else self._guests)[node].remove(pod)
        del self._at[pod]
        self._change(node, pod, 1)
        return node

    def _change(self, node: int, pod: int, sign: int) -> None:
        free = self._free[node]
        del self._by_free[bisect_left(self._by_free, (free.gpu, node))]
        if sign > 0:
            free.add(self._request(pod))
        else:
            free.subtract(self._request(pod))
        insort(self._by_free, (free.gpu, node))

    def _is_home(self, pod: int) -> bool:
        return pod >= 0 and self._at[pod] == self._home[pod]

    def _request(self, pod: int) -> MutableVector:
        return (self._shape if pod < 0 else self._session.cluster.tasks[pod].shape).request_vector

    def _size(self, pod: int) -> tuple[int, int]:
        request = self._request(pod)
        return request.gpu, request.cpu

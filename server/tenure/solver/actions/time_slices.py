"""Time slices: no action uses up the time of the others, and no queue that of the others in an action.

Only the caller's deadline tells how much time is left, so slices are for cycles with a deadline. Each action
may use an equal share of what is left. If it is not done then, it goes on when all others have had theirs
(semantics R2.23). When half of a slice is over, a leaf queue may use an equal share of the other half for pod
groups that fail. If it used that up, those of all other queues go first, then the rest, the smallest pod
groups first (R2.24). Where actions take less than half of their shares, decisions do not depend on the time.
What a cycle does not evaluate goes first in the second half of the next one (`postponed`, R2.25).
"""

from collections.abc import Callable, Sequence, Set
from typing import Protocol, final

from tenure.solver.actions.postponed import PostponedFirst, postponed_in, postponed_rows
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import PostponedPodGroup
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.terms.cancellation import never


class Work(Protocol):
    """The work of an action, which can be done in several slices."""

    def go_on(self, end: int | None) -> bool:
        """Work until this time is left; None: until it is done. Returns whether it is done."""


@final
class ActionSlices:
    """Shares of a cycle's time."""

    def __init__(self, session: Session, *, are_shared: bool) -> None:
        """`are_shared`: whether actions may be interrupted at all."""
        self._stop, self._cluster = session.stop, session.cluster
        self._are_shared = are_shared and session.stop.has_time
        self.postponed = postponed_in(session.cluster) if are_shared else {}
        """Pod groups that earlier cycles did not evaluate, with the times since when."""
        self._all: list[QueueSlices] | None = [] if are_shared else None
        """Pod groups of all actions. None: those that were not evaluated are not asked for."""
        self.waiting = 1
        """Actions that have not had their slice, with the one that has it now."""
        self._unfinished: list[tuple[str, Work]] = []
        self._groups, self._pending = session.cluster.pod_groups, session.phases.pending
        self._queues = 0

    @property
    def queues(self) -> int:
        """Number of leaf queues with pending pod groups, when an action asked first."""
        if not self._queues:
            self._queues = max(len({self._groups[each].queue for each in self._pending}), 1)
        return self._queues

    def run(self, name: str, work: Work) -> None:
        """Let an action work for its share of the time that is left; the last one has all of it."""
        end = None
        if self._are_shared:
            left = self._stop.time_left()
            end = left - left // self.waiting if self.waiting > 1 else 0
        is_done = work.go_on(end)
        self._stop.begin_slice(None)
        if not is_done:
            self._unfinished.append((name, work))

    def finish(self, observer: Observer = NULL_OBSERVER) -> None:
        """Let actions go on that were interrupted, in their order, until all are done."""
        while self._unfinished:
            waiting, self._unfinished = self._unfinished, []
            for place, (name, work) in enumerate(waiting):
                self.waiting = len(waiting) - place
                with ObservedPhase(observer, Phase.ACTION, name):
                    self.run(name, work)

    def is_unfinished(self, name: str) -> bool:
        """Whether an action of this name was interrupted, and goes on later."""
        return any(other == name for other, _ in self._unfinished)

    def add(self, pod_groups: "QueueSlices") -> None:
        """Note the pod groups of an action."""
        if self._all is not None:
            self._all.append(pod_groups)

    def postponed_rows(self) -> Sequence[PostponedPodGroup] | None:
        """What the caller is to store: pod groups that an action did not evaluate. None: it is not known."""
        if not self._all:
            return None
        left, tried = set[int](), set[int]()
        for each in self._all:
            rest = each.take_rest()
            left |= rest
            tried |= each.tried
        if self._stop.is_set:  # actions that did not begin evaluated nothing
            left |= (self.postponed.keys() & self._pending) - tried
        heads = {each.head for each in self._all if each.head in left}
        return postponed_rows(self._cluster, self.postponed, left, heads) if left else ()

    def close(self) -> None:
        """Release actions that could not go on."""
        self._unfinished, self._all = [], None


@final
class QueueSlices:
    """The pod groups of an action in queue order, each once, unless it is pushed again.

    Failures of one queue do not use up the time of all.
    """

    def __init__(
        self,
        session: Session,
        gangs: GangPlanner,
        max_failures: int | None = None,
        is_half_used: Callable[[], bool] = never,
    ) -> None:
        """`max_failures` are the failures of a leaf queue after which all other queues go first, whatever the
        time; None: any number. `is_half_used` says whether half of what limits the action is used, whatever
        the time.
        """
        self._session = session
        self._stop = session.stop
        self._gangs = gangs
        self._groups = session.cluster.pod_groups
        self._max_failures = max_failures
        self._failures = [0] * len(session.cluster.queues)
        """Failures by queue."""
        self._is_half_used = is_half_used
        self._postponed: dict[int, int] | None = None
        """Pod groups that were postponed, and were not tried yet; None: the action did not begin."""
        self._rest: set[int] = set()
        self._current: int | None = None
        """The pod group that has its turn."""
        self.head = -1
        """The first postponed pod group that preceded others."""
        self.tried: set[int] = set()
        """Pod groups that had their turn, whether or not it was interrupted."""
        self._tree = self._later = PostponedFirst(session, QueueTree(session), {})
        self._done: set[int] = set()
        """Pod groups that are not tried in a later slice."""
        self._end: int | None = None
        self._free = 0
        """Time that is left when the first half of the slice is over."""
        self._share = 0
        """Time of a queue in the second half."""
        self._used: dict[int, int] = {}
        """Time that failures took in this slice, by queue."""
        self._began = 0
        """Time that was left when the latest pod group was popped."""
        self._is_later = False
        """Whether the latest pod group is of a queue that all others precede."""

    def begin(self, tree: QueueTree, end: int | None, slices: ActionSlices) -> None:
        """Begin a slice: until this time is left. The tree has all pod groups that take part."""
        if self._postponed is None:
            self._postponed = dict(slices.postponed)
            slices.add(self)
        self._tree, self._later = self._first(tree), self._first(QueueTree(self._session))
        self._end = end
        if end is not None:
            half = max(self._stop.time_left() - end, 0) // 2
            self._free, self._share = end + half, half // slices.queues
            self._used.clear()

    @property
    def is_over(self) -> bool:
        """Whether the slice of the action is over, and not only that of a queue."""
        return self._end is not None and self._stop.time_left() <= self._end

    def pop(self) -> int | None:
        """The next pod group; None: there are no more."""
        self._current = None
        while True:
            self._stop.check()
            if (entry := self._pop(self._tree)) is None:
                break
            if entry.pod_group in self._done:
                continue
            queue = self._groups[entry.pod_group].queue
            if queue is None or not self._is_behind(queue):
                return self._begin_attempt(entry.pod_group, is_later=False)
            self._push_later(queue, entry)
        last = self._pop(self._later)
        return None if last is None else self._begin_attempt(last.pod_group, is_later=True)

    def push(self, entry: QueueTreeEntry) -> None:
        """Let a pod group compete again, with its next tasks."""
        self._done.discard(entry.pod_group)
        queue = self._groups[entry.pod_group].queue
        assert queue is not None
        if self._is_later:
            self._push_later(queue, entry)
        else:
            self._tree.push(queue, entry)

    def add_failure(self, pod_group: int) -> None:
        """Count a failure of the latest pod group."""
        queue = self._groups[pod_group].queue
        if queue is None:
            return
        self._failures[queue] += 1
        if self._end is not None:
            spent = self._began - self._stop.time_left()
            self._used[queue] = self._used.get(queue, 0) + max(spent, 0)

    def put_back(self, entry: QueueTreeEntry) -> None:
        """Try a pod group later, because the slice of its queue was over before it was evaluated."""
        self.add_failure(entry.pod_group)
        queue = self._groups[entry.pod_group].queue
        assert queue is not None
        self._done.discard(entry.pod_group)
        self._used[queue] = max(self._used.get(queue, 0), self._share)
        self._push_later(queue, entry)

    def _pop(self, line: PostponedFirst) -> QueueTreeEntry | None:
        entry, is_late = line.pop(self._is_second_half), self._end is not None and not self._is_half_used()
        self._stop.has_mattered = self._stop.has_mattered or (line.is_divided and is_late)
        return entry

    def add_interrupted(self, pod_group: int) -> None:
        """Note that the latest pod group was not evaluated to the end."""
        self._rest.add(pod_group)

    def take_rest(self) -> Set[int]:
        """Pod groups that still wait and were not evaluated, or not to the end. None is left."""
        if self._current is not None and self._stop.is_set and self._gangs.has_pending(self._current):
            self._rest.add(self._current)
        for line in (self._tree, self._later):
            while (entry := line.pop(never)) is not None:
                if entry.pod_group not in self._done and self._gangs.has_pending(entry.pod_group):
                    self._rest.add(entry.pod_group)
        return self._rest

    def _first(self, tree: QueueTree) -> PostponedFirst:
        return PostponedFirst(self._session, tree, self._postponed or {})

    def _is_second_half(self) -> bool:
        """Whether the postponed pod groups precede the others."""
        return self._is_half_used() or (self._end is not None and self._stop.time_left() <= self._free)

    def _begin_attempt(self, pod_group: int, *, is_later: bool) -> int:
        self._is_later, self._current = is_later, pod_group
        self.tried.add(pod_group)
        line = self._later if is_later else self._tree
        if self._postponed and self._postponed.pop(pod_group, None) is not None and line.is_divided:
            self.head = pod_group if self.head < 0 else self.head
        if self._end is not None:
            self._done.add(pod_group)
            self._began = self._stop.time_left()
            end, queue = self._end, self._groups[pod_group].queue
            if not is_later and queue is not None:
                left = max(self._share - self._used.get(queue, 0), 0)
                end = max(end, min(self._began, self._free) - left)
            self._stop.begin_slice(end)
        return pod_group

    def _is_behind(self, queue: int) -> bool:
        """Whether all other queues precede it."""
        if self._max_failures is not None and self._failures[queue] >= self._max_failures:
            return True
        return self._is_late(queue)

    def _is_late(self, queue: int) -> bool:
        if self._end is None or self._used.get(queue, -1) < self._share:
            return False
        is_late = self._stop.time_left() <= self._free
        self._stop.has_mattered = self._stop.has_mattered or is_late
        return is_late

    def _push_later(self, queue: int, entry: QueueTreeEntry) -> None:
        """Behind all other queues: in queue order, or beyond its share of time, the smallest first."""
        size = 0
        if self._is_late(queue):
            size = len(self._gangs.tasks_to_allocate(entry.pod_group))
        later = QueueTreeEntry((size, *entry.key), entry.pod_group, entry.share)
        self._later.push(queue, later)

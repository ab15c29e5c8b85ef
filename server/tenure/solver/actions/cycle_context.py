"""The session of a cycle and the search built on it: what actions work with."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, final

from tenure.solver.actions.known_failures import KnownFailures
from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.oracle import SearchParts
from tenure.solver.search.placer import Placer
from tenure.solver.search.pod_group_lists import KeyedPodGroup
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.search.solver import Solver
from tenure.solver.search.victim_sets.alternatives import Alternatives
from tenure.solver.search.victim_sets.fill_back import FillBack
from tenure.terms.reasons import ReasonCode

NEVER_EVICTS: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "it needs capacity of other pods, and never evicts any"
)
"""Of a pod group with Kubernetes' preemption policy Never."""
_MAX_FAILURES: Final = 64
"""Failed searches of a queue after which all other queues go first (semantics R5.75)."""


class Delay(NamedTuple):
    """A pod group that waits for a protection to end, as far as one action found."""

    until: int
    """Nanoseconds since the Unix epoch."""
    pod_group: int
    reason: Rejection
    kind: Hashable
    """Pod groups of an action and of equal kind have equal reasons."""
    source: str
    """Name of the action."""
    check: "ReasonCheck"


class ReasonCheck(Protocol):
    """What an action checks after all actions: why pod groups wait. It changes no decision."""

    def delays(self) -> Sequence[Delay]:
        """Reject every noted pod group that does not wait for a protection alone, and return the others."""

    def recheck(self, pod_group: int) -> Rejection:
        """Why it waits beside what was placed since."""

    def place(self, pod_group: int, time: int) -> bool:
        """Commit what is found for it once the protections that end by a time have ended, if anything."""


@final
class CycleContext:
    """The session of a cycle with its search."""

    def __init__(
        self, session: Session, parts: SearchParts, placer: Placer, solver: Solver, with_reasons: bool = True
    ) -> None:
        self.session: Final = session
        self.parts: Final = parts
        self.gangs: Final = parts.gangs
        self.pod_groups: Final = parts.pod_groups
        self.placer: Final = placer
        self.solver: Final = solver
        fill_back = FillBack(session, parts, placer, solver.simulator)
        self.victim_sets: Final = Alternatives(session, parts, solver, fill_back)
        self.reason_checks: Final[list[ReasonCheck]] = []
        """In the order of the actions."""
        self.with_reasons: Final = with_reasons
        """Whether the cycle reports why pod groups wait."""

    @classmethod
    def open(cls, session: Session, parts: SearchParts, with_reasons: bool = True) -> "CycleContext":
        """Build the search for a session from its parts."""
        placer = Placer(session, parts.allowed_nodes, parts.node_order)
        return cls(session, parts, placer, Solver(session, parts, placer), with_reasons)

    def close(self) -> None:
        """Release the cycle: its parts refer to each other and would wait for the garbage collector."""
        self.reason_checks.clear()
        self.parts.close()
        self.session.close()

    def failures(self, is_by_request: bool = True) -> KnownFailures:
        """For an action, which may or may not treat pod groups with equal requests alike."""
        is_used = is_by_request and not self.with_reasons and self.session.options.skip_similar_pod_groups
        return KnownFailures(self.session, self.pod_groups, is_used)

    def pending(
        self, admits: Callable[[PodGroup], Rejection | None], failures: KnownFailures | None = None
    ) -> QueueTree:
        """Ready pod groups with pending tasks, in queue order; the others are rejected (semantics R3.1)."""
        tree = QueueTree(self.session)
        for queue in self.pod_groups.leaf_queues():
            if failures is not None and failures.is_enabled:
                tree.fill(queue, failures.entries(queue, self._entry, partial(self._rejection, admits)))
                continue
            entries = [entry for entry in self._entries(queue) if self._is_ready(entry.pod_group, admits)]
            if entries:
                tree.fill(queue, iter(entries))
        return tree

    def entry(self, pod_group: int) -> QueueTreeEntry:
        """Entry of the pod group in its queue, as of now."""
        key = self.session.pod_group_key(pod_group)
        return QueueTreeEntry(key, pod_group, self.gangs.request(pod_group))

    def may_evict(self, group: PodGroup) -> Rejection | None:
        """Rejection if it never evicts, or while its preemption delay has not elapsed (R6.26, R9.2)."""
        if group.facts.never_evicts:
            return NEVER_EVICTS
        end = max(group.facts.creation, group.facts.last_eviction or 0) + group.facts.preemption_delay
        if group.facts.preemption_delay <= 0 or self.session.cluster.now >= end:
            return None
        self.session.wake_times.append(end)
        detail = "its preemption delay has not elapsed; what it may evict then was not checked"
        return Rejection(ReasonCode.PREEMPTION_DELAY, detail, end)

    def unready_rejection(self, pod_group: int) -> Rejection | None:
        """Rejection if too few tasks can be scheduled for the minimum (semantics R1.54, R5.90)."""
        blocked = self.gangs.blocked_reason(pod_group)
        if self.gangs.is_ready(pod_group):
            return None if self.gangs.tasks_to_allocate(pod_group) else blocked
        detail = "it has fewer schedulable pods than its minimum"
        return blocked or Rejection(ReasonCode.NOT_READY, detail)

    def _entries(self, queue: int) -> Iterator[QueueTreeEntry]:
        for keyed in self.pod_groups.pending(queue):
            self.session.stop.check()
            yield self._entry(keyed)

    def _entry(self, keyed: KeyedPodGroup) -> QueueTreeEntry:
        return QueueTreeEntry(keyed[0], keyed[1], self.gangs.request(keyed[1]))

    def _is_ready(self, pod_group: int, admits: Callable[[PodGroup], Rejection | None]) -> bool:
        return self._rejection(admits, pod_group) is None

    def _rejection(self, admits: Callable[[PodGroup], Rejection | None], pod_group: int) -> Rejection | None:
        """Why a pod group does not take part, which is noted."""
        rejection = self.unready_rejection(pod_group) or admits(self.session.cluster.pod_groups[pod_group])
        if rejection is not None:
            self.session.reject(pod_group, rejection)
        return rejection


class SharedTurns:
    """Pod groups of a queue tree, each once. Failed searches of one queue do not use up the time of all."""

    def __init__(self, session: Session, tree: QueueTree) -> None:
        self._session = session
        self._groups = session.cluster.pod_groups
        self._tree = tree
        self._later: QueueTree | None = None
        """Pod groups of queues with many failures."""
        self._failures = [0] * len(session.cluster.queues)
        """Failed searches by queue."""

    def pop(self) -> int | None:
        """The next pod group; None: there are no more."""
        while (entry := self._tree.pop()) is not None:
            queue = self._groups[entry.pod_group].queue
            if queue is None or self._failures[queue] < _MAX_FAILURES:
                return entry.pod_group
            if self._later is None:
                self._later = QueueTree(self._session)
            self._later.push(queue, entry)
        last = None if self._later is None else self._later.pop()
        return None if last is None else last.pod_group

    def add_failure(self, pod_group: int) -> None:
        """Count a failed search."""
        queue = self._groups[pod_group].queue
        if queue is not None:
            self._failures[queue] += 1

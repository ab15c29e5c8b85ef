"""Pod groups that wait for protections, one after the other (semantics R13.46).

Each of them would be placed if a protection ended and nothing else happened. So all of them, of all actions,
are probed again in the order of these ends, each beside what was found for the earlier ones: who gets nothing
then waits for those, not for a protection. All is undone. What becomes of evicted pods, and of pods that
start, is not foreseen; a reason that may depend on it says so.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Final, final

from tenure.solver.actions.cycle_context import CycleContext, Delay
from tenure.solver.actions.reason_probes import NOT_CHECKED
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.oracle import NO_SOLUTION
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reasons import ReasonCode

_MAX_NAMED: Final = 3


def settle_delays(context: CycleContext) -> None:
    """Reject every pod group that an action noted. A stop leaves the rest as not checked: all is decided."""
    delays = [delay for check in context.reason_checks for delay in check.delays()]
    context.reason_checks.clear()
    if delays:
        with _undone_commits(context.session):
            _Turns(context).take(sorted(delays, key=attrgetter("until")))


def name_pod_groups(session: Session, pod_group: int, others: Sequence[int]) -> str:
    """Other pod groups for the owner of one: those of its queue and namespace by name, the rest by number."""
    groups, mine = session.cluster.pod_groups, session.cluster.pod_groups[pod_group]
    named = [groups[other].facts.name for other in others if mine.may_name(groups[other])][:_MAX_NAMED]
    rest = len(others) - len(named)
    whose = "" if any(groups[other].queue == mine.queue for other in others) else " of other queues"
    more = f"{rest:,} more" if named else f"{format_count(rest, 'pod group')}{whose}"
    return join_words([*named, more] if rest else named)


@final
class _Turns:
    """The pod groups of one cycle."""

    def __init__(self, context: CycleContext) -> None:
        self._session = context.session
        self._newcomers = Newcomers(context)
        self._evicts = any(commit.action.is_guarded for commit in context.session.commits)
        """Whether this cycle evicts pods."""
        self._placed: dict[int, Rejection] = {}
        """Pod groups that were placed, with their protections."""

    def take(self, delays: Sequence[Delay]) -> None:
        """Reject who waits, by the ends of the protections: each beside those that were placed before it."""
        placed, late = self._placed, dict[Hashable, int]()
        """Kinds of pod groups that got nothing, with the number of those that were placed then."""
        for delay in delays:
            pod_group, reason = delay.pod_group, delay.reason
            if pod_group in placed:
                continue
            kind = (delay.source, delay.kind)
            if late.get(kind) == len(placed) > 0:
                reason = NO_SOLUTION
            elif placed:
                reason = delay.check.recheck(pod_group)
            if reason.until is not None:
                self._session.reject(pod_group, self._unless_changed(reason, pod_group))
                if delay is not delays[-1] and delay.check.place(pod_group, reason.until):
                    placed[pod_group] = reason
                continue
            if reason is not NOT_CHECKED:
                late[kind] = len(placed)
            self._session.reject(pod_group, self._behind(delay, reason is not NOT_CHECKED))

    def _unless_changed(self, reason: Rejection, pod_group: int) -> Rejection:
        """The reason; with who may come first, or that other decisions come before the end, if any do."""
        found = self._newcomers.add_to(reason, pod_group)
        if found is reason and (self._placed or self._evicts):
            detail = f"{reason.detail.rstrip('.')}; decisions for others before then may change that"
            return reason._replace(detail=detail)
        return found

    def _behind(self, delay: Delay, is_checked: bool) -> Rejection:
        """Who comes before a pod group that would be placed alone; with its protection if not checked."""
        same = [other for other, theirs in self._placed.items() if theirs == delay.reason]
        if not is_checked:
            if not same:
                return delay.reason
            who, do = self._named(delay.pod_group, same), _verb(len(same), "same and")
            detail = f"{delay.reason.detail.rstrip('.')}; {who} {do}"
            return delay.reason._replace(detail=detail)
        ahead = list(self._placed)
        who = self._named(delay.pod_group, ahead)
        if len(ahead) > 1:
            detail = f"{who} come first and together leave too little for it"
        else:
            detail = f"{who} {_verb(1, 'same capacity and')}"
        return Rejection(ReasonCode.QUEUE_ORDER, detail, source=delay.source)

    def _named(self, pod_group: int, others: Sequence[int]) -> str:
        groups, mine = self._session.cluster.pod_groups, self._session.cluster.pod_groups[pod_group]
        if len(others) == 1:
            other = groups[others[0]]
            return f"pod group {other.facts.name}" if mine.may_name(other) else "another pod group"
        named = name_pod_groups(self._session, pod_group, others)
        return f"pod groups {named}" if any(mine.may_name(groups[each]) for each in others) else named


def _verb(number: int, what: str) -> str:
    return f"waits for the {what} comes first" if number == 1 else f"wait for the {what} come first"


class Newcomers:
    """Pod groups that will wait again or go on waiting after this cycle, and may come first."""

    def __init__(self, context: CycleContext) -> None:
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._first: dict[int | None, tuple[int, str]] = {}
        """By queue, the first of these pod groups in its order, and what becomes of it."""
        for pod_group, what in _find_newcomers(context):
            queue = self._groups[pod_group].queue
            if queue not in self._first or self._precedes(pod_group, self._first[queue][0]):
                self._first[queue] = pod_group, what

    def add_to(self, reason: Rejection, pod_group: int) -> Rejection:
        """The reason of a pod group, with one that may come before it, if any."""
        mine = self._groups[pod_group]
        own = self._first.get(mine.queue)
        if own is not None and self._precedes(own[0], pod_group):
            other, what = self._groups[own[0]], own[1]
            who = f"pod group {other.facts.name}" if mine.may_name(other) else "another pod group"
        else:
            what = next((found[1] for queue, found in self._first.items() if queue != mine.queue), "")
            who = "a pod group of another queue"
        if not what:
            return reason
        return reason._replace(detail=f"{reason.detail.rstrip('.')}; {who} {what} may come first")

    def _precedes(self, other: int, pod_group: int) -> bool:
        key = self._session.pod_group_key
        return other != pod_group and key(other) < key(pod_group)


def _find_newcomers(context: CycleContext) -> Iterator[tuple[int, str]]:
    """Pod groups that lose pods in this cycle, then those that were placed in part."""
    session, placements = context.session, context.session.ledger.placements
    evicted, placed = dict[int, None](), dict[int, None]()
    for commit in session.commits:
        placed[commit.beneficiary] = None
        for move in commit.moves:
            leaves = move.after.status is TaskStatus.RELEASING
            if leaves and placements[move.task].status is TaskStatus.RELEASING:
                evicted[session.cluster.tasks[move.task].pod_group] = None
    yield from ((each, "that this cycle evicts") for each in evicted)
    for each in placed:
        if each >= 0 and context.gangs.tasks_to_allocate(each):
            yield each, "that still needs pods"


@contextmanager
def _undone_commits(session: Session) -> Iterator[None]:
    """Undo the evictions and reservations that are committed in the block."""
    start = len(session.commits)
    try:
        yield
    finally:
        undone = session.commits[start:]
        del session.commits[start:]
        session.commit_count += len(undone)
        for move in [move for commit in reversed(undone) for move in reversed(commit.moves)]:
            session.ledger.apply(move.task, move.after, move.before)
            session.changed_pod_groups.add(session.ledger.tasks[move.task].pod_group)

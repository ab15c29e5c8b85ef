"""Other pod groups in the reason of one: how its owner reads of them, and which may come before it."""

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.terms.formatting import format_count, join_words

_MAX_NAMED: Final = 3


def name_pod_groups(session: Session, pod_group: int, others: Sequence[int]) -> str:
    """Other pod groups for the owner of one: those of its queue and namespace by name, the rest by number."""
    groups, own_group = session.cluster.pod_groups, session.cluster.pod_groups[pod_group]
    named = [groups[other].facts.name for other in others if own_group.may_name(groups[other])][:_MAX_NAMED]
    rest = len(others) - len(named)
    whose = "" if any(groups[other].queue == own_group.queue for other in others) else " of other queues"
    more = f"{rest:,} more" if named else f"{format_count(rest, 'pod group')}{whose}"
    return join_words([*named, more] if rest else named)


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
        own_group = self._groups[pod_group]
        own = self._first.get(own_group.queue)
        if own is not None and self._precedes(own[0], pod_group):
            other, what = self._groups[own[0]], own[1]
            who = f"pod group {other.facts.name}" if own_group.may_name(other) else "another pod group"
        else:
            what = next((found[1] for queue, found in self._first.items() if queue != own_group.queue), "")
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

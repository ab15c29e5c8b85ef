"""Pod groups that wait for protections, one after the other (semantics R13.46).

Each of them would be placed if a protection ended and nothing else happened. So all of them, of all actions,
are probed again in the order of these ends, each beside what was found for the earlier ones: who gets nothing
then waits for those, not for a protection. All is undone. What becomes of evicted pods, and of pods that
start, is not foreseen; a reason that may depend on it says so.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.other_pod_groups import Newcomers, name_pod_groups
from tenure.solver.diagnosis.reason_probes import NOT_CHECKED, Delay, ReasonProbes
from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.search import NO_SOLUTION
from tenure.terms.reasons import ReasonCode


def settle_delays(context: CycleContext) -> None:
    """Reject every pod group that an action noted. A stop leaves the rest as not checked: all is decided."""
    probes = [ReasonProbes(context.session, each) for each in context.obstacles]
    delays = [delay for each in probes for delay in each.delays()]
    if delays:
        with _undone_commits(context.session):
            _DelayOrder(context).take(sorted(delays, key=attrgetter("until")))


@final
class _DelayOrder:
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
                reason = delay.probes.recheck(pod_group)
            if reason.until is not None:
                self._session.reject(pod_group, self._unless_changed(reason, pod_group))
                if delay is not delays[-1] and delay.probes.place(pod_group, reason.until):
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
        same = [other for other, placed_reason in self._placed.items() if placed_reason == delay.reason]
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
        groups, own_group = self._session.cluster.pod_groups, self._session.cluster.pod_groups[pod_group]
        if len(others) == 1:
            other = groups[others[0]]
            return f"pod group {other.facts.name}" if own_group.may_name(other) else "another pod group"
        named = name_pod_groups(self._session, pod_group, others)
        return f"pod groups {named}" if any(own_group.may_name(groups[each]) for each in others) else named


def _verb(number: int, what: str) -> str:
    return f"waits for the {what} comes first" if number == 1 else f"wait for the {what} come first"


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
        for move in [move for commit in reversed(undone) for move in reversed(commit.all_moves())]:
            session.ledger.apply(move.task, move.after, move.before)
            session.changed_pod_groups.add(session.ledger.tasks[move.task].pod_group)

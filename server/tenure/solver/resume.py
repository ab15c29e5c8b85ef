"""Resume: open a session in which the groups in flight count, and find out what becomes of each of them.

take up all that are not expired, and redeem their promises
while one cannot be kept, and others may rest on what it asked for: again, without it
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from tenure.solver.actions.context import Context
from tenure.solver.actions.notes import note_start
from tenure.solver.actions.redeem import Attempt, Redeeming
from tenure.solver.framework.inflight import (
    contradiction,
    in_order,
    open_bindings,
    open_evictions,
    taken_up,
)
from tenure.solver.framework.opening import Opening
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop import Stopped
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Hold, InFlightResult, InFlightStatus
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.slots import Change
from tenure.solver.search.budget import OUT_OF_TIME
from tenure.solver.search.place import binds_any

NAME: Final = "redeem"
"""What groups of the decision that keep promises are listed under."""
MOST_ATTEMPTS: Final = 8
"""After so many, groups that ask for anything are cancelled, so that the rest cannot rest on them."""
TANGLED: Final = Rejection(ReasonCode.NO_ROOM, "it rests on other groups in flight that cannot be kept")
EXPIRED: Final = Rejection(ReasonCode.EXPIRED, "its time is over")
DONE: Final = Rejection(ReasonCode.DONE, "nothing of it is left to do")
UNDER_WAY: Final = Rejection(ReasonCode.UNDER_WAY, "what it asked for is not seen done yet")
VICTIMS: Final = Rejection(ReasonCode.VICTIMS_EVICTED, "the pods that are evicted for it have not left yet")
RELEASE: Final = Rejection(ReasonCode.PIPELINED, "the room that it was promised is not all free yet")
REDEEMED: Final = Rejection(ReasonCode.ALLOCATED, "its pods are bound now")


Open = Callable[[Cluster, Opening | None], Context]


def resume(cluster: Cluster, opening: Opening | None, opened: Open) -> Context:
    """A search on a session of the cluster, in which who was promised room has it; `opened` opens one.

    What became of every group in flight is in the session. When the caller's time is up before that is known,
    the groups are kept as they are.
    """
    return _Resuming(cluster, opening, opened).run() if cluster.in_flight else opened(cluster, opening)


class _Resuming:
    """The groups of one cluster, and what is known of them after each attempt."""

    def __init__(self, cluster: Cluster, opening: Opening | None, opened: Open) -> None:
        self._cluster = cluster
        self._opening = opening
        self._opened = opened
        self._groups = in_order(cluster)
        """Those that stand, the one that ends first first."""
        self._cancelled: dict[int, Rejection] = {}

    def run(self) -> Context:
        """Attempt until nothing that an attempt rested on turns out to be wrong."""
        found = {
            index: contradiction(self._cluster, self._cluster.in_flight[index]) for index in self._groups
        }
        self._cancel({index: why for index, why in found.items() if why is not None})
        attempt = self._attempt()
        for _ in range(MOST_ATTEMPTS):
            if self._is_settled(attempt):
                break
            attempt = self._again(attempt)
        else:
            self._cancel({index: TANGLED for index in self._groups if self._is_asking(index)})
            attempt = self._again(attempt)
        _commit(attempt)
        statuses = [self._status(index, attempt) for index in range(len(self._cluster.in_flight))]
        kept = (status.group for status in statuses if status.result is InFlightResult.KEPT)
        attempt.session.wakes.extend(self._cluster.in_flight[index].expires for index in kept)
        attempt.session.in_flight = tuple(statuses)
        attempt.session.pledged = frozenset(self._pledged(attempt))
        return attempt.context

    def _again(self, attempt: Redeeming) -> Redeeming:
        """Another attempt, on a session of its own."""
        attempt.undo()
        attempt.context.close()
        return self._attempt()

    def _attempt(self) -> Redeeming:
        cluster, tasks = taken_up(self._cluster, self._groups)
        change = Change(frozenset([cluster.tasks[task].pod_group for task in tasks]), tasks)
        opening = None if self._opening is None else self._opening.beside(change)
        attempt = Redeeming(self._opened(cluster, opening), self._cluster, self._groups)
        try:
            attempt.run()
        except Stopped:
            attempt.undo()
        return attempt

    def _is_settled(self, attempt: Redeeming) -> bool:
        """Whether all that was taken up still stands; notes what does not."""
        wrong = {
            index: each.objection
            for index, each in attempt.attempts.items()
            if each.objection is not None and self._is_asking(index)
        }
        self._cancel(wrong)
        return not wrong

    def _cancel(self, found: Mapping[int, Rejection]) -> None:
        self._cancelled.update(found)
        self._groups = [index for index in self._groups if index not in found]

    def _is_asking(self, index: int) -> bool:
        """Whether others may rest on what the group asked for and nobody has seen done."""
        group = self._cluster.in_flight[index]
        return any(open_evictions(self._cluster, group)) or any(open_bindings(self._cluster, group))

    def _status(self, index: int, redeeming: Redeeming) -> InFlightStatus:
        attempt = redeeming.attempts.get(index)
        if attempt is None:
            cancelled = self._cancelled.get(index)
            result = InFlightResult.LAPSED if cancelled is None else InFlightResult.CANCELLED
            return InFlightStatus(index, result, cancelled or EXPIRED)
        if redeeming.session.stop.is_set:
            return InFlightStatus(index, InFlightResult.KEPT, OUT_OF_TIME)
        if attempt.objection is not None:
            return InFlightStatus(index, InFlightResult.CANCELLED, attempt.objection)
        holds = tuple(_holds(redeeming, attempt))
        if holds or attempt.awaits_successor or self._is_asking(index):
            return InFlightStatus(index, InFlightResult.KEPT, _waits_for(redeeming, attempt, holds), holds)
        if attempt.tasks:
            return InFlightStatus(index, InFlightResult.REDEEMED, REDEEMED)
        return InFlightStatus(index, InFlightResult.FINISHED, DONE)

    def _pledged(self, attempt: Redeeming) -> Iterator[int]:
        for index, each in attempt.attempts.items():
            yield from each.tasks
            group = self._cluster.in_flight[index]
            yield from (step.task for step in open_bindings(self._cluster, group))


def _commit(redeeming: Redeeming) -> None:
    """Keep what was redeemed: one commit for each group."""
    session, started = redeeming.session, set[int]()
    for attempt in redeeming.attempts.values():
        if not attempt.tasks:
            continue
        reason = ReasonCode.ALLOCATED if binds_any(attempt.statement, session) else ReasonCode.PIPELINED
        session.commit(attempt.statement, NAME, attempt.group.beneficiary, reason, in_flight=attempt.group.id)
        bound = [t for t in attempt.tasks if session.ledger.placements[t].status is TaskStatus.BINDING]
        for index in sorted({session.cluster.tasks[task].pod_group for task in bound}):
            note_start(session, index, index not in started and not _runs(session, index))
            started.add(index)


def _runs(session: Session, pod_group: int) -> bool:
    """Whether any task of it was bound before."""
    tasks = session.cluster.pod_groups[pod_group].tasks
    return any(session.cluster.tasks[task].placement.status.is_allocated for task in tasks)


def _holds(redeeming: Redeeming, attempt: Attempt) -> Iterator[Hold]:
    placements = redeeming.session.ledger.placements
    for task in sorted(attempt.tasks):
        promised = placements[task]
        if promised.status is TaskStatus.PIPELINED:
            yield Hold(task, promised.node, promised.gpu_groups, promised.zones)


def _waits_for(redeeming: Redeeming, attempt: Attempt, holds: Collection[Hold]) -> Rejection:
    tasks = redeeming.session.cluster.tasks
    victims = [tasks[step.task].placement for step in attempt.group.evictions if step.task != NOWHERE]
    if not (holds or attempt.awaits_successor):
        return UNDER_WAY
    return VICTIMS if any(victim.status is TaskStatus.RELEASING for victim in victims) else RELEASE

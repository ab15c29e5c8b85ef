"""When time alone may change the decisions: the next wake time of a caller."""

from collections.abc import Iterable, Iterator, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import Protection
from tenure.solver.model.workload import PodGroup
from tenure.solver.result.notices import find_evict_times


def next_wake_time(
    session: Session, protections: Sequence[Protection], reason_ends: Iterable[int | None]
) -> int | None:
    """The earliest time at which a guard, delay or grace period ends, or the reason of a pod group."""
    waits = (*session.wake_times, *session.disruptions.wake_times())
    ends = [*waits, *(each.until for each in protections), *reason_ends]
    return min((end for end in ends if end is not None), default=None)


def find_reason_ends(session: Session) -> Iterator[int | None]:
    """Ends of what keeps pod groups waiting, as far as the actions found it."""
    groups, evict_times = session.cluster.pod_groups, find_evict_times(session)
    for index, rejection in session.rejections.items():
        if rejection.until is None:
            continue
        bound, reserved, _ = count_placed(session, groups[index])
        if not (bound or reserved):
            yield rejection.until
        elif reserved:
            yield evict_times.get(index)
    for index in session.phases.held:
        if groups[index].facts.victim.held_by is HoldReason.NOT_BEFORE:
            yield groups[index].facts.victim.not_before


def count_placed(session: Session, group: PodGroup) -> tuple[int, int, int]:
    """Tasks bound and reserved in this cycle, and still pending."""
    bound = held = pending = 0
    tasks, placements = session.cluster.tasks, session.ledger.placements
    for task in group.tasks:
        after = placements[task].status
        if after is TaskStatus.PENDING:
            pending += 1
        elif tasks[task].placement.status is TaskStatus.PENDING:
            bound += after is TaskStatus.BINDING
            held += after is TaskStatus.PIPELINED
            pending += after is TaskStatus.RELEASING
    return bound, held, pending

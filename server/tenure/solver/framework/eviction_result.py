"""What came of an eviction: whether the pod group it was made for got the room.

An eviction and the start that follows from it lie cycles apart, so each cycle looks at what the snapshot
says now:

- The preemptor runs, and started after the eviction or has nobody left who waits: it was of use.
- The preemptor has pods that wait, nobody terminates any more and nobody gave it room in this cycle: it
  came to nothing, be it that the victim was not evicted after all, that others were faster, or that the
  preemptor failed to start.
- Otherwise it is still open, and so it is while a binding of the preemptor is in flight: it may fail.
"""

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.placement import TaskStatus


def settle(session: Session, record: EvictionRecord) -> EvictionRecord:
    """The memory with what is known by now; unchanged while that is nothing new.

    To be asked after allocate: before it, who waits may still be given room. The eviction of a cycle is
    not judged in that cycle, nor one whose time is yet to come.
    """
    if not record.result_pending or record.last_eviction >= session.cluster.now:
        return record
    if _is_being_bound(session, record.preemptor):
        return record
    if _has_started(session, record):
        return record._replace(consecutive_failures=0, last_failure=None, result_pending=False)
    if not _has_failed(session, record):
        return record
    failures = record.consecutive_failures + 1
    return record._replace(
        consecutive_failures=failures, last_failure=session.cluster.now, result_pending=False
    )


def _has_started(session: Session, record: EvictionRecord) -> bool:
    """By the snapshot, not by what an earlier cycle decided: bindings may fail."""
    preemptor = session.cluster.pod_groups[record.preemptor]
    statuses = [session.cluster.tasks[task].placement.status for task in preemptor.tasks]
    if not any(status.is_allocated for status in statuses):
        return False
    start = preemptor.last_start
    return (start is not None and start > record.last_eviction) or TaskStatus.PENDING not in statuses


def _is_being_bound(session: Session, pod_group: int) -> bool:
    """Whether bindings of its tasks were asked for and are not seen yet."""
    tasks = session.reserved_tasks.intersection(session.cluster.pod_groups[pod_group].tasks)
    return any(session.cluster.tasks[task].placement.status is TaskStatus.BINDING for task in tasks)


def _has_failed(session: Session, record: EvictionRecord) -> bool:
    return (
        _has(session, record.preemptor, TaskStatus.PENDING)
        and not _has(session, record.victim, TaskStatus.RELEASING)
        and not _was_placed(session, record.preemptor)
    )


def _has(session: Session, pod_group: int, status: TaskStatus) -> bool:
    tasks = session.cluster.pod_groups[pod_group].tasks
    return any(session.cluster.tasks[task].placement.status is status for task in tasks)


def _was_placed(session: Session, pod_group: int) -> bool:
    """Whether it was given free room in this cycle, or room that is about to be free."""
    return pod_group in session.allocated_this_cycle

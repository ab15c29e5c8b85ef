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
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.placement import TaskStatus


def settled(session: Session, memory: EvictionMemory) -> EvictionMemory:
    """The memory with what is known by now; unchanged while that is nothing new.

    To be asked after allocate: before it, who waits may still be given room. The eviction of a cycle is
    not judged in that cycle, nor one whose time is yet to come.
    """
    if not memory.unsettled or memory.last_eviction >= session.cluster.now:
        return memory
    if _is_being_bound(session, memory.preemptor):
        return memory
    if _has_started(session, memory):
        return memory._replace(failures=0, last_failure=None, unsettled=False)
    if not _has_failed(session, memory):
        return memory
    failures = memory.failures + 1
    return memory._replace(failures=failures, last_failure=session.cluster.now, unsettled=False)


def _has_started(session: Session, memory: EvictionMemory) -> bool:
    """By the snapshot, not by what an earlier cycle decided: bindings may fail."""
    preemptor = session.cluster.pod_groups[memory.preemptor]
    statuses = [session.cluster.tasks[task].placement.status for task in preemptor.tasks]
    if not any(status.is_allocated for status in statuses):
        return False
    start = preemptor.last_start
    return (start is not None and start > memory.last_eviction) or TaskStatus.PENDING not in statuses


def _is_being_bound(session: Session, pod_group: int) -> bool:
    """Whether bindings of its tasks were asked for and are not seen yet."""
    tasks = session.pledged.intersection(session.cluster.pod_groups[pod_group].tasks)
    return any(session.cluster.tasks[task].placement.status is TaskStatus.BINDING for task in tasks)


def _has_failed(session: Session, memory: EvictionMemory) -> bool:
    return (
        _has(session, memory.preemptor, TaskStatus.PENDING)
        and not _has(session, memory.victim, TaskStatus.RELEASING)
        and not _got_room(session, memory.preemptor)
    )


def _has(session: Session, pod_group: int, status: TaskStatus) -> bool:
    tasks = session.cluster.pod_groups[pod_group].tasks
    return any(session.cluster.tasks[task].placement.status is status for task in tasks)


def _got_room(session: Session, pod_group: int) -> bool:
    """Whether it was given free room in this cycle, or room that is about to be free."""
    return pod_group in session.given

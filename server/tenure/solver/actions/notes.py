"""What a commit writes down about the pod groups it starts and evicts, as patches of its group."""

from typing import Final

from tenure.solver.framework.aftermath import settled
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.duration import parse_duration
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup

LONGEST: Final = parse_duration("5200w")
"""Most that is counted: a hundred years, the longest duration a snapshot may hold."""


def note_start(session: Session, pod_group: int, is_start: bool) -> None:
    """The latest commit binds tasks of the pod group; `is_start`: it had none before (semantics R3.31)."""
    group = session.cluster.pod_groups[pod_group]
    if is_start:
        session.patch(Patch(pod_group, PatchKind.LAST_START_TIME, session.cluster.now))
        if (waited := _wait(group, session.cluster.now)) > 0:
            total = min(group.waited_after_evictions + waited, LONGEST)
            session.patch(Patch(pod_group, PatchKind.WAITED_AFTER_EVICTIONS, total))
    if pod_group in session.unsettled and _ran(session, group):
        _note_growth(session, pod_group)


def _ran(session: Session, group: PodGroup) -> bool:
    """Whether any task of it held room when the cycle began."""
    return any(session.cluster.tasks[task].placement.status.is_allocated for task in group.tasks)


def _note_growth(session: Session, pod_group: int) -> None:
    """It runs and gets more: evictions for it were of use.

    When a pod group starts, the next snapshot tells whether it really did. When one grows, no snapshot
    tells which of its pods are new, so the decision has to do.
    """
    for known in session.unsettled[pod_group]:
        memory = session.memory[known.victim, pod_group]
        if memory.unsettled and memory.last_eviction < session.cluster.now:
            _remember(session, memory._replace(failures=0, last_failure=None, unsettled=False))


def _wait(group: PodGroup, now: int) -> int:
    """How long ago it was evicted since it last started; 0 when it was not.

    A pod group that lost only a part, ran on and starts anew is credited with that time too: in doubt a
    guard protects.
    """
    evicted, started = group.last_eviction, group.last_start
    if evicted is None or (started is not None and started > evicted):
        return 0
    return now - evicted


def note_evictions(session: Session) -> None:
    """The latest commit evicts tasks; moved ones count as evicted too (semantics R2.22)."""
    commit, now = session.journal[-1], session.cluster.now
    tasks, placements = session.ledger.tasks, session.ledger.placements
    evicted: set[int] = set()
    for move in commit.moves:
        if move.after.status is TaskStatus.RELEASING and placements[move.task] != move.before:
            evicted.add(tasks[move.task].pod_group)
    evicted.discard(commit.beneficiary)
    for victim in sorted(evicted):
        session.patch(Patch(victim, PatchKind.LAST_EVICTION_TIME, now))
        count = session.cluster.pod_groups[victim].eviction_count + 1
        session.patch(Patch(victim, PatchKind.EVICTION_COUNT, count))
        _remember(session, _evicted_again(session, victim, commit.beneficiary))


def _evicted_again(session: Session, victim: int, preemptor: int) -> EvictionMemory:
    """What is remembered of the victim and the preemptor, with the eviction of this cycle."""
    now, memory = session.cluster.now, session.memory.get((victim, preemptor))
    if memory is None:
        return EvictionMemory(victim, preemptor, now, 0, None, True)
    return settled(session, memory)._replace(last_eviction=now, unsettled=True)


def _remember(session: Session, memory: EvictionMemory) -> None:
    """From now on, in this cycle too, and by a patch of the latest commit."""
    session.memory[memory.victim, memory.preemptor] = memory
    session.remembered.update((memory.victim, memory.preemptor))
    session.guards.events_changed()
    session.patch(Patch(memory.victim, PatchKind.REMEMBER, memory=memory))

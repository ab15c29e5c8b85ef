"""Patches of a commit: fields of the pod groups that it starts and evicts."""

from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.fate import MAX_EVICTIONS
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup, min_pods
from tenure.solver.resolution.grants import requested_grant
from tenure.terms.durations import parse_duration

START_PATCH_KINDS: Final = (PatchKind.LAST_START_TIME, PatchKind.TOTAL_EVICTION_WAIT, PatchKind.GRANT)
"""Patches for tasks that start."""
EVICTION_PATCH_KINDS: Final = (
    PatchKind.LAST_EVICTION_TIME,
    PatchKind.EVICTION_COUNT,
    PatchKind.EVICTIONS_WITHOUT_PROGRESS,
    PatchKind.REQUEUE_NOT_BEFORE,
    PatchKind.SET_EVICTION_RECORD,
)
"""Patches for evicted tasks; an eviction record counts while its result is pending."""
MAX_EVICTION_WAIT: Final = parse_duration("5200w")
"""Maximum of durations: a hundred years, the longest that a snapshot may contain."""


def patch_start(session: Session, pod_group: int, is_start: bool) -> None:
    """The latest commit binds tasks of the pod group; `is_start`: none was allocated before (semantics
    R3.31).
    """
    group = session.cluster.pod_groups[pod_group]
    if is_start:
        session.add_patch(Patch(pod_group, PatchKind.LAST_START_TIME, session.cluster.now))
        if (waited := _total_eviction_wait(group, session.cluster.now)) > 0:
            total = min(group.facts.total_eviction_wait + waited, MAX_EVICTION_WAIT)
            session.add_patch(Patch(pod_group, PatchKind.TOTAL_EVICTION_WAIT, total))
        if group.facts.grant is not None:
            grant = requested_grant(group.facts, min_pods(group.root))
            session.add_patch(Patch(pod_group, PatchKind.GRANT, grant=grant))
    if pod_group in session.pending_results and _ran(session, group):
        _patch_growth(session, pod_group)


def _ran(session: Session, group: PodGroup) -> bool:
    """Whether any task of it was allocated when the cycle began."""
    return any(session.cluster.tasks[task].placement.status.is_allocated for task in group.tasks)


def _patch_growth(session: Session, pod_group: int) -> None:
    """Patch records of a running pod group that grows: evictions for it were effective.

    When a pod group starts, the next snapshot shows whether it did. When it grows, no snapshot shows which of
    its pods are new, so the decision itself counts.
    """
    for known in session.pending_results[pod_group]:
        memory = session.eviction_history[known.victim, pod_group]
        if memory.result_pending and memory.last_eviction < session.cluster.now:
            _patch_eviction_record(
                session, memory._replace(consecutive_failures=0, last_failure=None, result_pending=False)
            )


def _total_eviction_wait(group: PodGroup, now: int) -> int:
    """Time since it was evicted after its last start; 0 if it was not.

    A pod group that lost a part, ran on and starts again is credited with that time too: if unclear, a guard
    protects.
    """
    evicted, started = group.facts.last_eviction, group.facts.last_start
    if evicted is None or (started is not None and started > evicted):
        return 0
    return now - evicted


def patch_evictions(session: Session) -> None:
    """The latest commit evicts tasks; relocated ones count as evicted too (semantics R2.22)."""
    commit, now = session.commits[-1], session.cluster.now
    tasks, placements = session.ledger.tasks, session.ledger.placements
    evicted: set[int] = set()
    for move in commit.moves:
        if move.after.status is TaskStatus.RELEASING and placements[move.task] != move.before:
            evicted.add(tasks[move.task].pod_group)
    evicted.discard(commit.beneficiary)
    counter = next(iter(session.chains.eviction_counters), None)
    for victim in sorted(evicted):
        session.add_patch(Patch(victim, PatchKind.LAST_EVICTION_TIME, now))
        count = session.cluster.pod_groups[victim].facts.eviction_count + 1
        session.add_patch(Patch(victim, PatchKind.EVICTION_COUNT, count))
        if counter is not None:
            without_progress = min(max(counter.evictions_without_progress(victim), 0), MAX_EVICTIONS)
            session.add_patch(Patch(victim, PatchKind.EVICTIONS_WITHOUT_PROGRESS, without_progress))
        _patch_eviction_record(session, _update_eviction_record(session, victim, commit.beneficiary))


def _update_eviction_record(session: Session, victim: int, preemptor: int) -> EvictionRecord:
    """The eviction record of victim and preemptor, including the eviction of this cycle."""
    now, memory = session.cluster.now, session.eviction_history.get((victim, preemptor))
    if memory is None:
        return EvictionRecord(victim, preemptor, now, 0, None, True)
    return session.settled(memory)._replace(last_eviction=now, result_pending=True)


def _patch_eviction_record(session: Session, record: EvictionRecord) -> None:
    """Set the record for the rest of this cycle, and by a patch of the latest commit."""
    session.eviction_history[record.victim, record.preemptor] = record
    session.groups_with_history.update((record.victim, record.preemptor))
    session.guards.invalidate()
    session.add_patch(Patch(record.victim, PatchKind.SET_EVICTION_RECORD, record=record))

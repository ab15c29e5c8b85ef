"""Folds what a session committed into the groups of a decision.

Every task contributes once: where it was before the cycle and where it is after it. What was evicted and
put back, or promised and taken back, vanishes. A step belongs to the last commit that moved its task.
"""

from tenure.solver.framework.session import Commit, Session
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Hold, Patch, PatchKind
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import TaskStatus


def fold(session: Session) -> tuple[DecisionGroup, ...]:
    """One group per commit that has an effect, in the order of the commits."""
    last = {move.task: number for number, commit in enumerate(session.journal) for move in commit.moves}
    tasks_of: dict[int, list[int]] = {}
    for task in sorted(last):
        tasks_of.setdefault(last[task], []).append(task)
    patches_of: dict[int, list[Patch]] = {}
    for number, patch in session.patches:
        if _has_cause(session, patch):
            patches_of.setdefault(number, []).append(patch)
    groups = []
    for number, commit in enumerate(session.journal):
        group = _group(session, commit, tasks_of.get(number, []), patches_of.get(number, []))
        if group.evictions or group.holds or group.bindings or group.patches:
            groups.append(group)
    return (*groups, *_lone_patches(session))


def _has_cause(session: Session, patch: Patch) -> bool:
    """Whether what the patch notes is still so at the end: some task starts, or is evicted."""
    tasks = session.cluster.pod_groups[patch.pod_group].tasks
    changes = [(session.cluster.tasks[t].placement, session.ledger.placements[t]) for t in tasks]
    match patch.kind:
        case PatchKind.LAST_START_TIME | PatchKind.WAITED_AFTER_EVICTIONS:
            return any(after != before and after.status is TaskStatus.BINDING for before, after in changes)
        case PatchKind.LAST_EVICTION_TIME | PatchKind.EVICTION_COUNT | PatchKind.REQUEUE_NOT_BEFORE:
            return any(after != before and before.status.is_allocated for before, after in changes)
        case PatchKind.REMEMBER if patch.memory is not None and patch.memory.unsettled:
            return any(after != before and before.status.is_allocated for before, after in changes)
    return True


def _lone_patches(session: Session) -> tuple[DecisionGroup, ...]:
    """Patches that come with no move: a group for each."""
    return tuple(
        DecisionGroup(action, patch.pod_group, ReasonCode.STATE_CHANGED, (), (), (), (patch,))
        for action, patch in session.lone_patches
    )


def _group(session: Session, commit: Commit, tasks: list[int], patches: list[Patch]) -> DecisionGroup:
    evictions, holds, bindings = [], [], []
    for task in tasks:
        before = session.cluster.tasks[task].placement
        after = session.ledger.placements[task]
        if after == before:
            continue
        if before.status.is_active_allocated and before.status is not TaskStatus.PIPELINED:
            moves = after.status is TaskStatus.PIPELINED
            said = commit.guards.get(session.cluster.tasks[task].pod_group, ())
            evictions.append(Evict(task, before.node, moves, said))
        if after.status is TaskStatus.PIPELINED:
            holds.append(Hold(task, after.node, after.gpu_groups, after.zones))
        elif after.status is TaskStatus.BINDING:
            bindings.append(Bind(task, after.node, after.gpu_groups, after.zones))
    return DecisionGroup(
        commit.action,
        commit.beneficiary,
        commit.reason,
        tuple(evictions),
        tuple(holds),
        tuple(bindings),
        tuple(patches),
        commit.requeue if evictions else None,
    )

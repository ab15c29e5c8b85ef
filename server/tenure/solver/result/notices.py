"""Notices among the decisions of a cycle: victims that get notice first (semantics R16.2, R16.7)."""

from collections.abc import Iterable, Iterator
from typing import Final

from tenure.solver.actions.commit_patches import EVICTION_PATCH_KINDS
from tenure.solver.framework.commit import Commit
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Atomicity, DecisionGroup, Evict, Notices, Patch, PatchKind
from tenure.solver.model.placement import NOWHERE
from tenure.terms.reasons import ReasonCode

_LATER: Final = frozenset((*EVICTION_PATCH_KINDS, PatchKind.EVICTIONS, PatchKind.HELD_BY))
"""Patches that the eviction stores, not its notice."""


def announce(session: Session, commit: Commit, group: DecisionGroup) -> DecisionGroup | None:
    """The group with notices instead of its evictions, if any victim is to be told before it is evicted.

    None: its notices were given in an earlier cycle, and it is not due; or it does nothing but reserve
    capacity that pods with notice may leave beyond the need of their beneficiary (semantics R16.4).
    """
    if commit.in_flight and commit.in_flight in session.notices.kept:
        return None
    if not session.guards.leads:
        return group
    tasks = session.cluster.tasks
    victims = sorted({tasks[eviction.task].pod_group for eviction in group.evictions})
    evict_time = _evict_time(session, commit, victims)
    if evict_time is None:
        return None if _is_beyond_notices(session, commit, group) else group
    session.notices.nodes.update([eviction.node for eviction in group.evictions])
    stored = [patch for patch in group.patches if patch.kind not in _LATER]
    notice_times = [Patch(victim, PatchKind.LAST_NOTICE_TIME, session.cluster.now) for victim in victims]
    return DecisionGroup(
        group.action,
        group.beneficiary,
        group.reason,
        (),
        group.reservations,
        group.bindings,
        (*stored, *notice_times),
        (),
        group.atomicity,
        evict_time + session.options.decision_group_timeout,
        victim_set=group.victim_set,
        notices=Notices(group.evictions, evict_time),
    )


def _is_beyond_notices(session: Session, commit: Commit, group: DecisionGroup) -> bool:
    """Whether a group only reserves, on a node with pods that have notice: they may run on."""
    nodes = session.notices.nodes
    if not nodes or commit.in_flight or group.evictions or group.bindings:
        return False
    return any(hold.node in nodes for hold in group.reservations)


def victims_of(group: DecisionGroup) -> tuple[Evict, ...]:
    """Evictions of a group: those that it carries out, or those that it announces."""
    return group.evictions or group.notices.evictions


def find_evict_times(session: Session) -> dict[int, int]:
    """When announced victims are to be evicted, by beneficiary: of this cycle, and of earlier ones."""
    found = dict(session.notices.evict_times)
    tasks, placements = session.cluster.tasks, session.ledger.placements
    for commit in session.commits if session.guards.leads else ():
        before = {move.task: tasks[move.task].placement for move in commit.moves}
        lost = [task for task, was in before.items() if was.is_allocated and placements[task] != was]
        end = _evict_time(session, commit, {tasks[task].pod_group for task in lost})
        if end is not None:
            found[commit.beneficiary] = max(end, found.get(commit.beneficiary, end))
    return found


def _evict_time(session: Session, commit: Commit, victims: Iterable[int]) -> int | None:
    """When the victims of a commit are to be evicted: after the longest of their notices; None: now.

    Groups that carry out what was announced need no notice, nor do stale gangs, which have nothing to save.
    """
    leads, action = session.guards.leads, commit.action
    if not leads or commit.in_flight or not (action.is_guarded or action.own_end is not None):
        return None
    longest = max([leads[victim].notice for victim in victims if victim in leads], default=0)
    return session.cluster.now + longest if longest else None


def withdrawals(session: Session) -> Iterator[DecisionGroup]:
    """One group for each in-flight group whose notices are withdrawn."""
    tasks = session.cluster.tasks
    for index, withdrawn in session.notices.withdrawn:
        group = session.cluster.in_flight[index]
        beneficiary = tasks[withdrawn[0]].pod_group if group.beneficiary == NOWHERE else group.beneficiary
        yield DecisionGroup(
            group.action,
            beneficiary,
            ReasonCode.NOT_NEEDED,
            (),
            (),
            (),
            (),
            atomicity=Atomicity.BEST_EFFORT,
            expire_time=session.expire_time,
            fulfills_group=group.id,
            notices=Notices(withdrawn=withdrawn),
        )

"""Folding: from the commits of a session to decision groups.

Every task contributes once: with its placement before the cycle and after it. What was evicted and placed
back, or reserved and released, vanishes. A decision belongs to the last commit that moved its task.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from tenure.solver.actions.commit_patches import EVICTION_PATCH_KINDS, START_PATCH_KINDS
from tenure.solver.framework.commit import Commit
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Atomicity, Bind, DecisionGroup, Evict, Patch, Requeue, Reserve
from tenure.solver.model.placement import TaskStatus
from tenure.solver.result.fates import Fates
from tenure.solver.result.notices import announce, withdrawals
from tenure.solver.search.victim_sets.costs import VictimCosts
from tenure.terms.reasons import ReasonCode


def fold_decisions(session: Session) -> tuple[DecisionGroup, ...]:
    """One group per commit that has an effect, in the order of the commits."""
    last = {move.task: number for number, commit in enumerate(session.commits) for move in commit.moves}
    tasks_of: list[list[int]] = [[] for _ in session.commits]
    for task in sorted(last):
        tasks_of[last[task]].append(task)
    patches_of: list[list[Patch]] = [[] for _ in session.commits]
    causes = _Causes(session, last)
    for number, patch in session.patches:
        if causes.has(patch):
            patches_of[number].append(patch)
    fates, costs = Fates(session), VictimCosts(session)
    groups = map(partial(_group, session, fates, costs), session.commits, tasks_of, patches_of)
    kept = (group for group in groups if group is not None)
    return (*withdrawals(session), *kept, *_standalone_patches(session))


class _Causes:
    """Pod groups with tasks whose placement changed in the cycle, and how."""

    __slots__ = ("_evicted", "_starting")

    def __init__(self, session: Session, moved: Iterable[int]) -> None:
        self._starting: set[int] = set()
        self._evicted: set[int] = set()
        for task in moved:
            facts, after = session.cluster.tasks[task], session.ledger.placements[task]
            if after == facts.placement:
                continue
            if after.status is TaskStatus.BINDING:
                self._starting.add(facts.pod_group)
            if facts.placement.is_allocated:
                self._evicted.add(facts.pod_group)

    def has(self, patch: Patch) -> bool:
        """Whether the patch still applies at the end: some task starts, or is evicted."""
        if patch.kind in START_PATCH_KINDS:
            return patch.pod_group in self._starting
        if patch.kind in EVICTION_PATCH_KINDS and (patch.record is None or patch.record.result_pending):
            return patch.pod_group in self._evicted
        return True


def _standalone_patches(session: Session) -> tuple[DecisionGroup, ...]:
    """Patches without a move: one group each."""
    return tuple(
        DecisionGroup(
            action,
            patch.pod_group,
            ReasonCode.FIELD_UPDATED,
            (),
            (),
            (),
            (patch,),
            atomicity=Atomicity.BEST_EFFORT,
            expire_time=session.expire_time,
        )
        for action, patch in session.standalone_patches
    )


def _group(
    session: Session, fates: Fates, costs: VictimCosts, commit: Commit, tasks: list[int], patches: list[Patch]
) -> DecisionGroup | None:
    """The decision group of a commit; None if nothing is left of it."""
    evictions: list[Evict] = []
    holds: list[Reserve] = []
    bindings: list[Bind] = []
    for task in tasks:
        before = session.cluster.tasks[task].placement
        after = session.ledger.placements[task]
        if after == before:
            continue
        if before.is_allocated:
            moves = after.status is TaskStatus.PIPELINED
            verdicts = commit.guards.get(session.cluster.tasks[task].pod_group, ())
            spent = session.disruptions.spends(task)
            overridden = tuple([name for name in spent if name in commit.overridden_budgets])
            evictions.append(
                Evict(task, before.node, moves, verdicts, fates.fate(commit, task, moves), overridden)
            )
        if after.status is TaskStatus.PIPELINED and task not in session.reserved_tasks:
            holds.append(Reserve(task, after.node, after.gpu_groups, after.zones))
        elif after.status is TaskStatus.BINDING:
            bindings.append(Bind(task, after.node, after.gpu_groups, after.zones))
    if not (evictions or holds or bindings or patches):
        return None
    is_optional = commit.action.atomicity is Atomicity.BEST_EFFORT or not (
        evictions or _completes(session, holds, bindings)
    )
    group = DecisionGroup(
        commit.action.name,
        commit.beneficiary,
        commit.reason,
        tuple(evictions),
        tuple(holds),
        tuple(bindings),
        tuple(fates.patches(evictions, patches)),
        _requeues(session, commit, evictions),
        Atomicity.BEST_EFFORT if is_optional else Atomicity.ALL,
        session.expire_time,
        commit.in_flight,
        costs.known(commit, evictions, tasks),
    )
    return announce(session, commit, group)


def _requeues(session: Session, commit: Commit, evictions: Sequence[Evict]) -> tuple[Requeue, ...]:
    """Requeues of the pod groups that lose pods by the commit."""
    if not commit.requeues:
        return ()
    losing = {session.cluster.tasks[eviction.task].pod_group for eviction in evictions}
    return tuple([requeue for requeue in commit.requeues if requeue.pod_group in losing])


def _completes(session: Session, reservations: Sequence[Reserve], bindings: Sequence[Bind]) -> bool:
    """Whether any pod group reaches its minimum only by these tasks, all of which are placed now."""
    tasks, groups = session.cluster.tasks, session.cluster.pod_groups
    given = [*[hold.task for hold in reservations], *[binding.task for binding in bindings]]
    gained = dict.fromkeys([tasks[task].pod_set for task in given], 0)
    for task in given:
        gained[tasks[task].pod_set] += 1
    active = session.ledger.active_allocated
    for index in sorted({tasks[task].pod_group for task in given}):
        pod_sets = groups[index].pod_sets
        others = {each.index: active[each.index] - gained.get(each.index, 0) for each in pod_sets}
        if not groups[index].root.is_met(others):
            return True
    return False

"""Commits are folded into decision groups, with one contribution per task."""

from collections.abc import Mapping
from typing import Final

import pytest
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.stale_gang_eviction import STALE_GANG_EVICTION
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Patch, PatchKind, Requeue, Reserve
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.solver.result.folding import fold_decisions
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.reasons import ReasonCode

ONE, TWO = 0, 1
PASSED: Final = (
    GuardVerdict(ProtectionScope.NOTHING, "preempt of one for two", NOW, guard="first"),
    GuardVerdict(ProtectionScope.NOTHING, "preempt of one for two", NOW, guard="second"),
)
"""Verdicts of the two guards of the profile about `one`; see `guard`."""


class AllowingGuard:
    """A guard that permits all evictions and returns its arguments as text."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._names = [group.facts.name for group in context.cluster.pod_groups]

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        if action is STALE_GANG_EVICTION:
            return None
        source = f"{action} of {self._names[victim]} for {self._names[preemptor]}"
        return GuardVerdict(ProtectionScope.NOTHING, source, NOW)


@pytest.fixture
def session() -> Session:
    """Two nodes. Task 0 runs on the first; task 1 is pending. Two guards."""
    builder = ClusterBuilder().node("a", gpus=1).node("b", gpus=1).queue("q")
    builder.running("one", queue="q", gpus=1, node="a").pending("two", queue="q", gpus=1)
    settings = tuple(PluginConfig(name, {"name": name}) for name in ("first", "second"))
    return Session.open(
        builder.build(),
        Profile((), settings),
        Registry(actions=BUILT_IN.actions, plugins={"first": AllowingGuard, "second": AllowingGuard}),
    )


def commit(
    session: Session,
    *steps: tuple[object, ...],
    beneficiary: int = TWO,
    action: Action = PREEMPT,
    requeues: tuple[Requeue, ...] = (),
) -> None:
    """Commit one statement with these calls (method, arguments)."""
    with session.statement() as statement:
        for name, *arguments in steps:
            getattr(statement, str(name))(*arguments)
        session.commit(statement, action, beneficiary, ReasonCode.PREEMPTED, requeues)


def fold_commits(session: Session) -> list[tuple[tuple[object, ...], ...]]:
    """Evictions, reservations and bindings of every group."""
    return [(g.evictions, g.reservations, g.bindings) for g in fold_decisions(session)]


ROWS = {
    "a binding": ([("allocate", 1, 1)], [((), (), (Bind(1, 1, ()),))]),
    "an eviction and a promise": (
        [("evict", 0), ("pipeline", 1, 0)],
        [((Evict(0, 0, False, PASSED),), (Reserve(1, 0, ()),), ())],
    ),
    "a move is an eviction and a promise": (
        [("evict", 0), ("pipeline", 0, 1), ("pipeline", 1, 0)],
        [((Evict(0, 0, True, PASSED),), (Reserve(0, 1, ()), Reserve(1, 0, ())), ())],
    ),
    "evicted and put back vanishes": ([("evict", 0), ("pipeline", 0, 0)], []),
    "a promise instead of a binding": (
        [("allocate", 1, 1), ("replace_by_pipelined", 1, 0)],
        [((), (Reserve(1, 1, ()),), ())],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), ROWS.values(), ids=ROWS)
def test_commit_is_one_group_of_its_effective_decisions(
    session: Session, steps: list[tuple[object, ...]], expected: list[tuple[tuple[object, ...], ...]]
) -> None:
    commit(session, *steps)
    assert fold_commits(session) == expected


def test_groups_are_in_the_order_of_the_commits(session: Session) -> None:
    commit(session, ("evict", 0))
    commit(session, ("allocate", 1, 1))
    assert fold_commits(session) == [((Evict(0, 0, False, PASSED),), (), ()), ((), (), (Bind(1, 1, ()),))]


def test_eviction_without_effective_guards_names_none(session: Session) -> None:
    commit(session, ("evict", 0), beneficiary=ONE, action=STALE_GANG_EVICTION)
    assert fold_commits(session) == [((Evict(0, 0, False),), (), ())]


def test_requeue_is_reported_only_with_its_evictions(session: Session) -> None:
    note = Requeue(ONE, NOW, TWO, ("expectedruntime",))
    commit(session, ("evict", 0), ("pipeline", 0, 0), ("allocate", 1, 1), requeues=(note,))
    assert [group.requeues for group in fold_decisions(session)] == [()]
    commit(session, ("evict", 0), requeues=(note,))
    assert [group.requeues for group in fold_decisions(session)] == [(), (note,)]


EVICTED = EvictionRecord(ONE, TWO, NOW, result_pending=True)
LOSS = {
    "the eviction": Patch(ONE, PatchKind.LAST_EVICTION_TIME, NOW),
    "one more": Patch(ONE, PatchKind.EVICTION_COUNT, 1),
    "one more without progress": Patch(ONE, PatchKind.EVICTIONS_WITHOUT_PROGRESS, 1),
    "the requeue": Patch(ONE, PatchKind.REQUEUE_NOT_BEFORE, NOW),
    "whom it was for": Patch(ONE, PatchKind.SET_EVICTION_RECORD, record=EVICTED),
}
START = {
    "the start": Patch(TWO, PatchKind.LAST_START_TIME, NOW),
    "the wait before it": Patch(TWO, PatchKind.TOTAL_EVICTION_WAIT, 1),
}
ALWAYS = {
    "what came of an eviction": Patch(
        ONE, PatchKind.SET_EVICTION_RECORD, record=EVICTED._replace(result_pending=False)
    ),
    "nothing left to remember": Patch(ONE, PatchKind.DELETE_EVICTION_RECORD, TWO),
}
ALL = [*LOSS.values(), *START.values(), *ALWAYS.values()]


def fold_patches(session: Session) -> list[Patch]:
    return [patch for group in fold_decisions(session) for patch in group.patches]


def test_patch_is_in_its_group_if_its_cause_remains(session: Session) -> None:
    commit(session, ("evict", 0))
    for patch in ALL:
        session.add_patch(patch)
    commit(session, ("allocate", 1, 1))
    assert [len(group.patches) for group in fold_decisions(session)] == [len(ALL), 0]


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        ([("allocate", 1, 1)], LOSS),
        ([("evict", 0)], START),
        ([("evict", 0), ("pipeline", 1, 0)], START),
        ([("evict", 0), ("pipeline", 0, 0), ("allocate", 1, 1)], LOSS),
    ],
    ids=["nobody is evicted", "nobody starts", "a promise is no start", "who is put back is not evicted"],
)
def test_patch_without_its_cause_is_dropped(
    session: Session, steps: list[tuple[object, ...]], missing: Mapping[str, Patch]
) -> None:
    commit(session, *steps)
    for patch in ALL:
        session.add_patch(patch)
    assert fold_patches(session) == [patch for patch in ALL if patch not in missing.values()]


def test_standalone_patch_is_its_own_group_at_the_end(session: Session) -> None:
    alone = Patch(ONE, PatchKind.STALE_SINCE, NOW)
    session.add_standalone_patch("stalegangeviction", alone)
    commit(session, ("allocate", 1, 1))
    first, second = fold_decisions(session)
    assert (first.action, first.patches) == ("preempt", ())
    assert (second.action, second.beneficiary, second.patches) == ("stalegangeviction", ONE, (alone,))
    assert (second.evictions, second.reservations, second.bindings) == ((), (), ())


def test_uncommitted_moves_are_dropped(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
    assert fold_decisions(session) == ()


def test_group_has_action_beneficiary_and_reason(session: Session) -> None:
    commit(session, ("allocate", 1, 1))
    (group,) = fold_decisions(session)
    assert isinstance(group, DecisionGroup)
    assert (group.action, group.beneficiary, group.reason) == ("preempt", TWO, ReasonCode.PREEMPTED)

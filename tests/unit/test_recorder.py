"""Folding a journal into groups: every task contributes once."""

from collections.abc import Mapping
from typing import Final

import pytest
from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Hold, Patch, PatchKind, Requeue
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.reason import ReasonCode
from tenure.solver.recorder import fold
from tenure.solver.testing import NOW, ClusterBuilder

ONE, TWO = 0, 1
PASSED: Final = (
    GuardVerdict("first", Scope.NOTHING, "preempt of one for two", NOW),
    GuardVerdict("second", Scope.NOTHING, "preempt of one for two", NOW),
)
"""What the two guards of the profile say of `one`; see `guard`."""


class Passing:
    """A guard that lets everybody pass, and says what it was asked."""

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._names = [group.name for group in session.cluster.pod_groups]
        self._name = arguments["name"]

    def guard(self, action: str, preemptor: int, victim: int) -> GuardVerdict | None:
        if action == "stalegangeviction":
            return None
        source = f"{action} of {self._names[victim]} for {self._names[preemptor]}"
        return GuardVerdict(self._name, Scope.NOTHING, source, NOW)


@pytest.fixture
def session() -> Session:
    """Two nodes; task 0 runs on the first, task 1 waits; two guards."""
    builder = ClusterBuilder().node("a", gpus=1).node("b", gpus=1).queue("q")
    builder.running("one", queue="q", gpus=1, node="a").pending("two", queue="q", gpus=1)
    settings = tuple(PluginSetting(name, {"name": name}) for name in ("first", "second"))
    return Session.open(builder.build(), Profile((), settings), {"first": Passing, "second": Passing})


def commit(
    session: Session,
    *steps: tuple[object, ...],
    beneficiary: int = TWO,
    action: str = "preempt",
    requeue: Requeue | None = None,
) -> None:
    """Commit one statement with these (method, arguments) steps."""
    with session.statement() as statement:
        for name, *arguments in steps:
            getattr(statement, str(name))(*arguments)
        session.commit(statement, action, beneficiary, ReasonCode.PREEMPTED, requeue)


def folded(session: Session) -> list[tuple[tuple[object, ...], ...]]:
    """Evictions, holds and bindings of every group."""
    return [(g.evictions, g.holds, g.bindings) for g in fold(session)]


ROWS = {
    "a binding": ([("allocate", 1, 1)], [((), (), (Bind(1, 1, ()),))]),
    "an eviction and a promise": (
        [("evict", 0), ("pipeline", 1, 0)],
        [((Evict(0, 0, False, PASSED),), (Hold(1, 0, ()),), ())],
    ),
    "a move is an eviction and a promise": (
        [("evict", 0), ("pipeline", 0, 1), ("pipeline", 1, 0)],
        [((Evict(0, 0, True, PASSED),), (Hold(0, 1, ()), Hold(1, 0, ())), ())],
    ),
    "evicted and put back vanishes": ([("evict", 0), ("pipeline", 0, 0)], []),
    "a promise instead of a binding": (
        [("allocate", 1, 1), ("pipeline_instead", 1, 0)],
        [((), (Hold(1, 1, ()),), ())],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), ROWS.values(), ids=ROWS)
def test_a_commit_is_one_group_with_what_is_left_of_it(
    session: Session, steps: list[tuple[object, ...]], expected: list[tuple[tuple[object, ...], ...]]
) -> None:
    commit(session, *steps)
    assert folded(session) == expected


def test_groups_come_in_the_order_of_the_commits(session: Session) -> None:
    commit(session, ("evict", 0))
    commit(session, ("allocate", 1, 1))
    assert folded(session) == [((Evict(0, 0, False, PASSED),), (), ()), ((), (), (Bind(1, 1, ()),))]


def test_an_eviction_that_no_guard_has_a_say_in_names_none(session: Session) -> None:
    commit(session, ("evict", 0), beneficiary=ONE, action="stalegangeviction")
    assert folded(session) == [((Evict(0, 0, False),), (), ())]


def test_a_requeue_is_told_with_its_evictions_and_not_without(session: Session) -> None:
    note = Requeue(ONE, NOW, TWO, ("expectedruntime",))
    commit(session, ("evict", 0), ("pipeline", 0, 0), ("allocate", 1, 1), requeue=note)
    assert [group.requeue for group in fold(session)] == [None]
    commit(session, ("evict", 0), requeue=note)
    assert [group.requeue for group in fold(session)] == [None, note]


EVICTED = EvictionMemory(ONE, TWO, NOW, unsettled=True)
LOSS = {
    "the eviction": Patch(ONE, PatchKind.LAST_EVICTION_TIME, NOW),
    "one more": Patch(ONE, PatchKind.EVICTION_COUNT, 1),
    "the requeue": Patch(ONE, PatchKind.REQUEUE_NOT_BEFORE, NOW),
    "whom it was for": Patch(ONE, PatchKind.REMEMBER, memory=EVICTED),
}
START = {
    "the start": Patch(TWO, PatchKind.LAST_START_TIME, NOW),
    "the wait before it": Patch(TWO, PatchKind.WAITED_AFTER_EVICTIONS, 1),
}
ALWAYS = {
    "what came of an eviction": Patch(ONE, PatchKind.REMEMBER, memory=EVICTED._replace(unsettled=False)),
    "nothing left to remember": Patch(ONE, PatchKind.FORGET_PREEMPTOR, TWO),
}
ALL = [*LOSS.values(), *START.values(), *ALWAYS.values()]


def patched(session: Session) -> list[Patch]:
    return [patch for group in fold(session) for patch in group.patches]


def test_a_patch_goes_with_its_commit_if_its_cause_is_still_there(session: Session) -> None:
    commit(session, ("evict", 0))
    for patch in ALL:
        session.patch(patch)
    commit(session, ("allocate", 1, 1))
    assert [len(group.patches) for group in fold(session)] == [len(ALL), 0]


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
def test_a_patch_without_its_cause_is_left_out(
    session: Session, steps: list[tuple[object, ...]], missing: Mapping[str, Patch]
) -> None:
    commit(session, *steps)
    for patch in ALL:
        session.patch(patch)
    assert patched(session) == [patch for patch in ALL if patch not in missing.values()]


def test_a_patch_without_any_move_is_a_group_of_its_own_after_the_others(session: Session) -> None:
    alone = Patch(ONE, PatchKind.STALE_SINCE, NOW)
    session.patch_alone("stalegangeviction", alone)
    commit(session, ("allocate", 1, 1))
    first, second = fold(session)
    assert (first.action, first.patches) == ("preempt", ())
    assert (second.action, second.beneficiary, second.patches) == ("stalegangeviction", ONE, (alone,))
    assert (second.evictions, second.holds, second.bindings) == ((), (), ())


def test_what_is_not_committed_is_not_there(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
    assert fold(session) == ()


def test_a_group_says_what_was_done_and_for_whom(session: Session) -> None:
    commit(session, ("allocate", 1, 1))
    (group,) = fold(session)
    assert isinstance(group, DecisionGroup)
    assert (group.action, group.beneficiary, group.reason) == ("preempt", TWO, ReasonCode.PREEMPTED)

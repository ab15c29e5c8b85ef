"""Folding a journal into groups: every task contributes once."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Hold, Patch, PatchKind
from tenure.solver.model.reason import ReasonCode
from tenure.solver.recorder import fold
from tenure.solver.testing import ClusterBuilder

from tests.sessions import open_session


@pytest.fixture
def session() -> Session:
    """Two nodes; task 0 runs on the first, task 1 waits."""
    return open_session(
        ClusterBuilder()
        .node("a", gpus=1)
        .node("b", gpus=1)
        .queue("q")
        .running("one", queue="q", gpus=1, node="a")
        .pending("two", queue="q", gpus=1)
        .build()
    )


def commit(session: Session, *steps: tuple[object, ...], beneficiary: int = 1) -> None:
    """Commit one statement with these (method, arguments) steps."""
    with session.statement() as statement:
        for name, *arguments in steps:
            getattr(statement, str(name))(*arguments)
        session.commit(statement, "preempt", beneficiary, ReasonCode.PREEMPTED)


def folded(session: Session) -> list[tuple[tuple[object, ...], ...]]:
    """Evictions, holds and bindings of every group."""
    return [(g.evictions, g.holds, g.bindings) for g in fold(session)]


ROWS = {
    "a binding": ([("allocate", 1, 1)], [((), (), (Bind(1, 1, ()),))]),
    "an eviction and a promise": (
        [("evict", 0), ("pipeline", 1, 0)],
        [((Evict(0, 0, False),), (Hold(1, 0, ()),), ())],
    ),
    "a move is an eviction and a promise": (
        [("evict", 0), ("pipeline", 0, 1), ("pipeline", 1, 0)],
        [((Evict(0, 0, True),), (Hold(0, 1, ()), Hold(1, 0, ())), ())],
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
    assert folded(session) == [((Evict(0, 0, False),), (), ()), ((), (), (Bind(1, 1, ()),))]


def test_a_patch_goes_with_its_commit_if_its_cause_is_still_there(session: Session) -> None:
    commit(session, ("evict", 0))
    session.patch(0, PatchKind.LAST_EVICTION_TIME)
    session.patch(1, PatchKind.LAST_START_TIME)
    assert [group.patches for group in fold(session)] == [(Patch(0, PatchKind.LAST_EVICTION_TIME),)]


def test_what_is_not_committed_is_not_there(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
    assert fold(session) == ()


def test_a_group_says_what_was_done_and_for_whom(session: Session) -> None:
    commit(session, ("allocate", 1, 1))
    (group,) = fold(session)
    assert isinstance(group, DecisionGroup)
    assert (group.action, group.beneficiary, group.reason) == ("preempt", 1, ReasonCode.PREEMPTED)

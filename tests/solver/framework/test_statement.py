"""A statement: moves that are committed together or undone."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session, session_state

RUNNING, RELEASING = TaskStatus.RUNNING, TaskStatus.RELEASING
PIPELINED, BINDING = TaskStatus.PIPELINED, TaskStatus.BINDING


@pytest.fixture
def session() -> Session:
    """Two nodes. Task 0 runs on the first with a share of gpu-0; task 1 is pending."""
    return open_session(
        ClusterBuilder()
        .node("a", gpus=2)
        .node("b", gpus=2)
        .queue("q")
        .running("one", queue="q", gpus=0.5, node="a", gpu_groups=["a/gpu-0"])
        .pending("two", queue="q", gpus=1)
        .build()
    )


def test_leaving_without_commit_undoes_everything_r2_11(session: Session) -> None:
    before = session_state(session)
    with session.statement() as statement:
        statement.evict(0)
        statement.allocate(1, 1)
        assert session_state(session) != before
    assert session_state(session) == before


def test_an_exception_undoes_everything_r2_11(session: Session) -> None:
    def fail() -> None:
        with session.statement() as statement:
            statement.evict(0)
            raise RuntimeError

    before = session_state(session)
    with pytest.raises(RuntimeError):
        fail()
    assert session_state(session) == before


def test_committed_statement_is_permanent_r2_12(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
        statement.commit()
    assert session.ledger.placements[0].status is RELEASING


def test_rollback_to_a_checkpoint_retains_earlier_moves_r2_11(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
        mark = statement.checkpoint()
        statement.allocate(1, 1)
        statement.rollback(mark)
        assert session.ledger.placements[0].status is RELEASING
        assert session.ledger.placements[1].status is TaskStatus.PENDING
        assert list(statement.evicted) == [0]


def test_task_restored_to_its_placement_is_not_evicted_r2_14(session: Session) -> None:
    before = session_state(session)
    with session.statement() as statement:
        statement.evict(0)
        statement.pipeline(0, 0, ("a/gpu-0",))
        assert session_state(session) == before


MOVES = {
    "R2.14 to another node": (1, ("b/gpu-0",)),
    "R2.16 to another device of its node": (0, ("a/gpu-1",)),
}


@pytest.mark.parametrize(("node", "groups"), MOVES.values(), ids=MOVES)
def test_task_placed_elsewhere_is_relocated_and_releases_its_old_capacity(
    session: Session, node: int, groups: tuple[str, ...]
) -> None:
    with session.statement() as statement:
        statement.evict(0)
        statement.pipeline(0, node, groups)
        leaving = Placement(RELEASING, 0, ("a/gpu-0",))
        assert session.ledger.placements[0] == Placement(PIPELINED, node, groups, leaving)
        assert session.ledger.node_infos[0].gpus["a/gpu-0"].releasing == 50


def test_reservation_can_replace_a_binding_r2_17(session: Session) -> None:
    with session.statement() as statement:
        statement.allocate(1, 1)
        statement.replace_by_pipelined(session.cluster.tasks[1].pod_group, 0)
        assert session.ledger.placements[1] == Placement(PIPELINED, 1)


def test_reservations_replace_only_bindings_of_the_pod_group_since_the_checkpoint_r2_17(
    session: Session,
) -> None:
    with session.statement() as statement:
        statement.allocate(1, 1)
        statement.replace_by_pipelined(session.cluster.tasks[1].pod_group, statement.checkpoint())
        statement.replace_by_pipelined(session.cluster.tasks[0].pod_group, 0)
        assert session.ledger.placements[1].status is BINDING


def used_gpus(session: Session) -> float:
    return next(iter(session.chains.queue_status())).allocated_after[2] / 1000


def test_queues_count_bound_and_reserved_tasks_r2_19(session: Session) -> None:
    assert used_gpus(session) == 0.5
    with session.statement() as statement:
        statement.evict(0)
        assert used_gpus(session) == 0
        statement.pipeline(0, 1, ("b/gpu-0",))
        assert used_gpus(session) == 0.5
        statement.allocate(1, 1)
        assert used_gpus(session) == 1.5
    assert used_gpus(session) == 0.5


def test_undo_of_a_second_eviction_retains_the_first_r2_15(session: Session) -> None:
    with session.statement() as statement:
        statement.evict(0)
        statement.pipeline(0, 0, ("a/gpu-0",))
        mark = statement.checkpoint()
        statement.evict(0)
        statement.rollback(mark)
        assert list(statement.evicted) == [0]

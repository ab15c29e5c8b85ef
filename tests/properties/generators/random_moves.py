"""Random moves of tasks, also useless ones."""

from collections.abc import Callable

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import TaskStatus

from tests.properties.generators.draw import Draw

Step = Callable[[Statement], None]


def random_move(draw: Draw, session: Session, statement: Statement) -> Step | None:
    """Draw a move of a task for a statement, or None if there is none. Evict no task twice."""
    steps: list[Callable[[], Step]] = []
    for task, place in enumerate(session.ledger.placements):
        if place.status.is_active_allocated and task not in statement.evicted:
            steps.append(lambda task=task: lambda statement: statement.evict(task))
        elif place.status is TaskStatus.PENDING:
            steps.append(lambda task=task: _place(draw, session, task, "allocate"))
            steps.append(lambda task=task: _place(draw, session, task, "pipeline"))
        elif place.status is TaskStatus.RELEASING and task in statement.evicted:
            steps.append(lambda task=task: lambda statement: _put_back(statement, task))
            steps.append(lambda task=task: _place(draw, session, task, "pipeline"))
    return steps[draw.integer(0, len(steps) - 1)]() if steps else None


def _put_back(statement: Statement, task: int) -> None:
    origin = statement.evicted[task][-1]
    statement.pipeline(task, origin.node, origin.gpu_groups)


def _place(draw: Draw, session: Session, task: int, how: str) -> Step:
    node = session.cluster.nodes[draw.integer(0, len(session.cluster.nodes) - 1)]
    is_shared = session.cluster.tasks[task].shape.gpu.is_shared
    groups = (f"{node.facts.name}/gpu-{draw.integer(0, 2)}",) if is_shared else ()
    return lambda statement: getattr(statement, how)(task, node.index, groups)

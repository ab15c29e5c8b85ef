"""The one reversible primitive: a task changes its placement."""

from typing import Final, NamedTuple

from tenure.solver.model.workload import Placement, TaskStatus


class Move(NamedTuple):
    """Evict, allocate, pipeline and un-evict are all moves."""

    task: int
    before: Placement
    after: Placement

    @property
    def reversed(self) -> "Move":
        """The move that undoes this one."""
        return Move(self.task, self.after, self.before)


def _table(name: str) -> tuple[bool, ...]:
    return (False, *(bool(getattr(status, name)) for status in TaskStatus))


ACTIVE_ALLOCATED: Final = _table("is_active_allocated")
"""The status sets as tables: `ACTIVE_ALLOCATED[status]` costs a tenth of the property."""
ALLOCATED: Final = _table("is_allocated")

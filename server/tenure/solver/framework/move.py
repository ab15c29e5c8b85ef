"""The one reversible primitive: a task changes its placement."""

from tenure.solver.model.placement import Placement


class Move:
    """Evict, allocate, pipeline and un-evict are all moves."""

    __slots__ = ("after", "before", "task")

    def __init__(self, task: int, before: Placement, after: Placement) -> None:
        self.task = task
        self.before = before
        self.after = after

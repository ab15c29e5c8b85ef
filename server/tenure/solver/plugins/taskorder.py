"""Task order within a pod set: task priorities, and leaders first (semantics R3.11)."""

from collections.abc import Mapping
from typing import ClassVar

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session


class TaskPriority:
    """Labelled tasks first, higher numbers first."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._tasks = session.cluster.tasks

    def task_key(self, task: int) -> tuple[bool, int]:
        """Smaller goes first."""
        priority = self._tasks[task].priority
        return (priority is None, -(priority or 0))


class LeaderFirst:
    """The launcher or head of a distributed job first (Kubeflow and Ray)."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._tasks = session.cluster.tasks

    def task_key(self, task: int) -> bool:
        """False, for leaders, goes first."""
        return not self._tasks[task].leader

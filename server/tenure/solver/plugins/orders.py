"""Task order within a pod set: task priorities, and leaders first (semantics R3.11).

Higher priority first within a queue (semantics R3.9).

Pod groups below their minimum first, those above it last (semantics R3.9, R3.10).

Order of the members of a sub group (semantics R3.12).
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.profile import Parsers


class Priority:
    """Orders pod groups by priority."""

    ARGUMENTS: ClassVar[Parsers] = {}
    HAS_STABLE_KEYS: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """Smaller for higher priority."""
        return -self._groups[pod_group].priority


BELOW: Final = 0
AT: Final = 1
ABOVE: Final = 2


class Elastic:
    """Orders pod groups by how far their minimum is met."""

    ARGUMENTS: ClassVar[Parsers] = {}
    HAS_STABLE_KEYS: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """BELOW when any pod set is below its minimum, else ABOVE when any is above, else AT."""
        state = AT
        for pod_set in self._groups[pod_group].pod_sets:
            count = active[pod_set.index]
            if count < pod_set.min_available:
                return BELOW
            if count > pod_set.min_available:
                state = ABOVE
        return state


class MinimumFirstSubGroups:
    """Members below their threshold first, then those with the smallest part of it."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def sub_group_key(self, name: str, count: int, threshold: int) -> tuple[bool, bool, float]:
        """Smaller goes first."""
        if count < threshold:
            return (False, False, 0.0)
        if threshold == 0:
            return (True, True, float(count))
        return (True, False, count / threshold)


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

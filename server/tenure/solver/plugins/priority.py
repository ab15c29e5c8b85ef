"""Higher priority first within a queue (semantics R3.9)."""

from collections.abc import Mapping
from typing import ClassVar

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.workload import Counts


class Priority:
    """Orders pod groups by priority."""

    ARGUMENTS: ClassVar[Parsers] = {}
    HAS_LASTING_KEYS: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """Smaller for higher priority."""
        return -self._groups[pod_group].priority

"""Pod groups below their minimum first, those above it last (semantics R3.9, R3.10)."""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.workload import Counts

BELOW: Final = 0
AT: Final = 1
ABOVE: Final = 2


class Elastic:
    """Orders pod groups by how far their minimum is met."""

    ARGUMENTS: ClassVar[Parsers] = {}
    HAS_LASTING_KEYS: ClassVar = True

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

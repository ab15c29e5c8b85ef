"""Non-preemptible pod groups run to completion (semantics R1.80, section 8)."""

from collections.abc import Iterable, Mapping

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.reason import ReasonCode, Rejection


class Preemptibility:
    """Keeps non-preemptible pod groups from being victims."""

    ARGUMENTS: Mapping[str, type] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups

    def allows_victim(self, action: str, preemptor: int, victim: int) -> Rejection | None:
        """Preemptible ones only."""
        if self._groups[victim].is_preemptible:
            return None
        return Rejection(ReasonCode.NON_PREEMPTIBLE, "it is not preemptible")

    def protections(self, pod_group: int) -> Iterable[Protection]:
        """For as long as it runs."""
        group = self._groups[pod_group]
        if not group.is_preemptible:
            source = "its own preemptibility" if group.preemptibility else f"its priority {group.priority}"
            for action in ("reclaim", "preempt"):
                yield Protection(pod_group, "preemptibility", action, None, source)

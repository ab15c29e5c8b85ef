"""Device claims for GPUs: who may use them (semantics R9.41). What they take is in the ledger."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from tenure.solver.framework.session import Session
from tenure.solver.model.claims import MAX_CONSUMERS, ResourceClaim
from tenure.solver.plugin_api.profile import Parsers


class DynamicResources:
    """Keeps pods from claims that are for another queue, or used by as many pods as may."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._cluster = session.cluster

    def blocked_tasks(self) -> Iterator[tuple[int, str]]:
        """Tasks that name a claim they cannot use."""
        claims, groups = self._cluster.claims, self._cluster.pod_groups
        for task in self._cluster.tasks if claims else ():
            for claim in task.claims:
                problem = _problem(claims[claim], groups[task.pod_group].queue_name)
                if problem:
                    yield task.index, f"device claim {claims[claim].id} {problem}"


def _problem(claim: ResourceClaim, queue: str) -> str:
    """Why pods of this queue cannot use the claim; empty when they can."""
    if claim.other_consumers >= MAX_CONSUMERS:
        return f"is used by {claim.other_consumers} pods already, of {MAX_CONSUMERS} at most"
    if claim.from_template or not claim.gpu_milli or claim.queue_name == queue:
        return ""
    if not claim.queue_name:
        return "is for GPUs that pods share, but carries no queue label"
    return f"is for queue {claim.queue_name}"

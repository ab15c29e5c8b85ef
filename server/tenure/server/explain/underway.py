"""Who is to leave already, because an earlier answer said so and the caller accepted it."""

from collections.abc import Iterator

from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.model.decision import InFlightResult
from tenure.solver.model.placement import NOWHERE


def leaving(inquiry: Inquiry) -> Iterator[tuple[int, int]]:
    """Beneficiaries of groups in flight that are kept, and tasks that have not left yet for them."""
    cluster = inquiry.cluster
    for status in inquiry.decision.in_flight:
        group = cluster.in_flight[status.group]
        if status.result is not InFlightResult.KEPT or group.beneficiary == NOWHERE:
            continue
        for step in group.evictions:
            if step.task != NOWHERE and cluster.tasks[step.task].placement.node == step.node:
                yield group.beneficiary, step.task

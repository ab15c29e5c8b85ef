"""Limits for all pod groups and quotas for non-preemptible ones, from the leaf queue up to the top."""

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import Share
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugins.proportion.plugin import over_limit, over_quota
from tenure.solver.resolution.reference_resolution import resolve_queues
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import open_session

NO_BOUND = (-1, -1, -1)
ROWS = {
    "R4.60 up to the bound": ((-1, -1, 4), NO_BOUND, (0, 0, 3), (0, 0, 1), ""),
    "R4.60 beyond the bound": ((-1, -1, 4), NO_BOUND, (0, 0, 3), (0, 0, 2), "GPU limit"),
    "R4.60 no bound": (NO_BOUND, NO_BOUND, (9, 9, 9), (9, 9, 9), ""),
    "R4.60 a resource that is not asked for does not count": ((1, 1, 4), NO_BOUND, (5, 5, 0), (0, 0, 4), ""),
    "R4.60 CPU": ((4, -1, -1), NO_BOUND, (4, 0, 0), (1, 0, 0), "CPU limit"),
    "R4.60 memory": ((-1, 4, -1), NO_BOUND, (0, 4, 0), (0, 1, 0), "memory limit"),
    "R4.60 an ancestor": (NO_BOUND, (-1, -1, 4), (0, 0, 4), (0, 0, 1), "GPU limit"),
    "R4.60 a bound of nothing": ((-1, -1, 0), NO_BOUND, (0, 0, 0), (0, 0, 1), "GPU limit"),
}


@pytest.mark.parametrize(("leaf", "parent", "used", "demand", "expected"), ROWS.values(), ids=ROWS)
def test_limits_and_quotas_apply_to_leaf_and_ancestors(
    leaf: Share, parent: Share, used: Share, demand: Share, expected: str
) -> None:
    limits = resolve_queues(
        [QueueFacts(name="dept", limit=parent), QueueFacts(name="leaf", parent_name="dept", limit=leaf)]
    )
    found = over_limit(reversed(limits), [used, used], demand)
    assert (found.detail if found else "").endswith(expected)
    assert (found is None) is (not expected)
    quotas = resolve_queues(
        [QueueFacts(name="dept", quota=parent), QueueFacts(name="leaf", parent_name="dept", quota=leaf)]
    )
    assert (over_quota(reversed(quotas), [used, used], demand) is None) is (not expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Preemptibility.PREEMPTIBLE, None),
        (Preemptibility.NON_PREEMPTIBLE, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA),
    ],
)
def test_quotas_limit_non_preemptible_pod_groups_r4_61(
    kind: Preemptibility, expected: ReasonCode | None
) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q", quota=1)
    session = open_session(builder.pending("job", queue="q", gpus=2, preemptibility=kind).build())
    found = session.chains.has_capacity(0, [0], (0, 0, 2000))
    assert (found.code if found else None) is expected


def test_limits_are_checked_before_quotas_r4_62() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("dept", limit=1).queue("q", parent="dept", quota=1)
    kind = Preemptibility.NON_PREEMPTIBLE
    session = open_session(builder.pending("job", queue="q", gpus=2, preemptibility=kind).build())
    found = session.chains.has_capacity(0, [0], (0, 0, 2000))
    assert found is not None
    assert (found.code, found.source) == (ReasonCode.OVER_LIMIT, "proportion")


def test_a_quota_that_is_met_exactly_is_not_exceeded_by_rounding_r4_62() -> None:
    """Amounts are whole thousandths, so 0.1 + 0.2 is 0.3."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=0.3)
    kind = Preemptibility.NON_PREEMPTIBLE
    builder.running("here", queue="q", gpus=0.1, node="n", preemptibility=kind)
    session = open_session(builder.pending("job", queue="q", gpus=0.2, preemptibility=kind).build())
    job = session.cluster.pod_groups[1]
    assert job.facts.name == "job"
    demand = session.ledger.demand(job.tasks)
    assert session.chains.has_capacity(1, job.tasks, demand) is None

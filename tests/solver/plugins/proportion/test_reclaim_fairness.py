"""Fairness of the result of a reclaim, by the usage of the queues: (CPU, memory, GPU)."""

from collections.abc import Mapping, Sequence

import pytest
from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.resources import Share
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.node_sizes import NodeSizes
from tenure.solver.plugins.proportion.initial_usage import InitialUsage
from tenure.solver.plugins.proportion.reclaim_fairness import ReclaimFairness
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

AMPLE = 1 << 60


def cluster(used: Mapping[str, int], quotas: Mapping[str, int], *, firm: bool = False) -> Cluster:
    """Departments `a` with leaves a1 and a2, and `b` with b1. `used` GPUs are in use in the leaves."""
    builder = ClusterBuilder().node("n", gpus=64)
    for name, parent in (("a", ""), ("b", ""), ("a1", "a"), ("a2", "a"), ("b1", "b")):
        builder.queue(name, parent=parent, quota=quotas.get(name, -1))
    kind = Preemptibility.NON_PREEMPTIBLE if firm else Preemptibility.PREEMPTIBLE
    for queue, gpus in used.items():
        builder.running(
            f"in-{queue}",
            queue=queue,
            gpus=1,
            count=gpus,
            cpus=0,
            memory_gib=0,
            node="n",
            preemptibility=kind,
        )
    return builder.build()


def find_unfairness(
    given: Cluster,
    reclaimer: str,
    gpus: int,
    taken: Sequence[tuple[str, int]],
    fair: Mapping[str, int],
    *,
    preemptible: bool = True,
) -> ReasonCode | None:
    """Rejection of a reclaim of `gpus` with these victim chunks. Fair shares are ample by default."""
    index = {queue.facts.name: queue.index for queue in given.queues}
    fair_shares: list[Share] = [(AMPLE, AMPLE, fair.get(q.facts.name, AMPLE) * 1000) for q in given.queues]
    allocatable = [(-1, -1, share[2]) for share in fair_shares]
    ledger = Ledger(given)
    usage = Usage(
        given, ledger, InitialUsage.of(given, ledger, NodeSizes(given), BUILT_IN.guarded.fair_share_names)
    )
    usage.start_search()
    reclaiming = given.queues[index[reclaimer]]
    request = (0, 0, gpus * 1000)
    verdict = ReclaimFairness(given.queues, usage, fair_shares, allocatable, reclaiming, request, 1.0)
    pieces = [(index[name], (0, 0, amount * 1000)) for name, amount in taken]
    rejection = verdict.find_rejection(None if preemptible else request, pieces)
    return None if rejection is None else rejection.code


VERDICTS = {
    "R4.52 above its share": ("b1", 1, [("a1", 1)], {"a": 3}, None),
    "R4.52 at its share": ("b1", 1, [("a1", 1)], {"a": 4}, ReasonCode.WITHIN_FAIR_SHARE),
    "R4.52 only the level where paths part counts": ("b1", 1, [("a1", 1)], {"a": 3, "a1": 9}, None),
    "R4.52 siblings are judged themselves": (
        "a2",
        1,
        [("a1", 1)],
        {"a": 9, "a1": 4},
        ReasonCode.WITHIN_FAIR_SHARE,
    ),
    "R4.53 the second piece finds what the first left": (
        "b1",
        2,
        [("a1", 1), ("a1", 1)],
        {"a": 3},
        ReasonCode.WITHIN_FAIR_SHARE,
    ),
    "R4.53 pieces of one department add up": (
        "b1",
        2,
        [("a1", 1), ("a2", 1)],
        {"a": 5},
        ReasonCode.WITHIN_FAIR_SHARE,
    ),
    "R4.53 above its share to the last piece": ("b1", 2, [("a1", 1), ("a2", 1)], {"a": 4}, None),
    "R4.54 the last piece may push it below its share": ("b1", 4, [("a1", 4)], {"a": 3}, None),
}


@pytest.mark.parametrize(
    ("reclaimer", "gpus", "taken", "fair", "expected"),
    VERDICTS.values(),
    ids=VERDICTS,
)
def test_victims_are_reclaimed_only_above_the_fair_share(
    reclaimer: str, gpus: int, taken: list[tuple[str, int]], fair: dict[str, int], expected: ReasonCode | None
) -> None:
    """No queue has a quota, so only fair shares count. a1 uses 4 GPUs; a2 uses 2 if it is a victim."""
    used = {"a1": 4, "a2": 2} if "a2" in dict(taken) else {"a1": 4}
    given = cluster(used, dict.fromkeys(("a", "a1", "a2", "b", "b1"), 0))
    assert find_unfairness(given, reclaimer, gpus, taken, fair) is expected


@pytest.mark.parametrize(
    ("quota", "expected"),
    [(1, None), (0, ReasonCode.WITHIN_FAIR_SHARE)],
    ids=["within its own", "beyond its own"],
)
def test_reclaimer_within_its_quota_can_reclaim_up_to_its_quota_r4_52(
    quota: int, expected: ReasonCode | None
) -> None:
    """The victim queue is above its quota of 3, and at its fair share of 4."""
    given = cluster({"a1": 4}, {"a": 3, "b": quota})
    assert find_unfairness(given, "b1", 1, [("a1", 1)], {"a": 4}) is expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(2, None), (1, ReasonCode.OVER_FAIR_SHARE)],
    ids=["up to its share", "beyond its share, fuller than the victim"],
)
def test_reclaimer_does_not_exceed_its_victim_in_fair_share_utilization_r4_55(
    share: int, expected: ReasonCode | None
) -> None:
    """After the reclaim a2 has 2 GPUs, and a1 has 3 of a fair share of 3."""
    given = cluster({"a1": 4, "a2": 1}, {"a1": 0})
    assert find_unfairness(given, "a2", 1, [("a1", 1)], {"a1": 3, "a2": share}) is expected


@pytest.mark.parametrize(
    ("quota", "expected"),
    [(2, None), (1, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA)],
    ids=["within the department's quota", "beyond the department's quota"],
)
def test_non_preemptible_pods_stay_within_quota_at_every_level_r4_56(
    quota: int, expected: ReasonCode | None
) -> None:
    given = cluster({"b1": 1}, {"b": quota}, firm=True)
    assert find_unfairness(given, "b1", 1, [], {}, preemptible=False) is expected
    assert find_unfairness(given, "b1", 1, [], {}) is None
